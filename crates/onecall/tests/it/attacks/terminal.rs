//! What a program prints reaches an agent as it is, and cannot steer a person's
//! terminal.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Gateway, Home};

/// Sets a title, clears the screen, reverses text, goes back over what was written.
const PRINTED: &str = "\u{1b}]0;title\u{7}\u{1b}[2J \u{202e}gnp.exe\u{202c} \u{9b}31m a\rb\u{8}c";

fn program() -> String {
    format!("print({})", serde_json::to_string(PRINTED).expect("a text"))
}

#[test]
fn an_agent_gets_escape_sequences_as_they_are() {
    assert_eq!(Gateway::new().prints(&program()), format!("{PRINTED}\n"));
}

#[test]
fn a_terminal_is_not_steered() {
    let home = Home::with_config(&json!({}));
    home.write("program.py", program());
    let run = home.onecall_with_config(&["run", &home.text_path("program.py")]);
    let mut line = run.get_program().to_string_lossy().into_owned();
    for argument in run.get_args() {
        line += &format!(" '{}'", argument.to_string_lossy());
    }
    // A terminal of its own for the command.
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).stdin(Stdio::null());
    let Ok(output) = script.output() else {
        eprintln!("skipped: there is no `script` to make a terminal with");
        return;
    };
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let neutral = r"\u{1b}]0;title\u{7}\u{1b}[2J \u{202e}gnp.exe\u{202c} \u{9b}31m a\u{d}b\u{8}c";
    assert!(shown.contains(neutral), "{shown:?}");
    for mark in ["\u{1b}]0;", "\u{1b}[2J", "\u{202e}", "\u{9b}", "\u{8}"] {
        assert!(!shown.contains(mark), "{mark:?} in {shown:?}");
    }
}
