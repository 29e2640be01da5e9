//! What a person sees while servers connect: progress on a terminal, each failure once, and a
//! terminal that is in order after Ctrl-C.

use serde_json::{Value, json};

use crate::support::screen::Screen;
use crate::support::terminal::Terminal;
use crate::support::{Home, finish, fixture};

const FAILURE: &str = "command '/missing/program' was not found; check that it is installed and \
                       on PATH, or give its full path";

/// A server that works, one whose program is missing, and one that never answers.
fn home() -> Home {
    let broken = json!({ "name": "broken", "command": "/missing/program" });
    let silent = json!({ "name": "silent", "command": "sleep", "args": ["1000"] });
    Home::with_config(&json!({ "servers": [fixture("good", &[]), broken, silent] }))
}

/// A server that works, and one whose program is missing.
fn quick_home() -> Home {
    let broken = json!({ "name": "broken", "command": "/missing/program" });
    Home::with_config(&json!({ "servers": [fixture("good", &[]), broken] }))
}

#[test]
fn failures_are_not_counted_as_connected_and_an_interrupt_leaves_the_terminal_in_order() {
    let home = home();
    let tools = &["tools", "--refresh"];
    for arguments in [&["check"][..], tools, &["repl"], &["generate", "--lang", "python"]] {
        let arguments = match arguments {
            ["generate", ..] => [arguments, &["--out", "generated"]].concat(),
            _ => arguments.to_vec(),
        };
        let mut terminal = Terminal::start(&home.onecall_with_config(&arguments));
        let progress = "1 of 3 servers connected, 1 failed, waiting for silent";
        let before = terminal.read_until(progress);
        assert!(before.ends_with(progress), "{arguments:?}: {before}");
        assert!(!before.contains("broken"), "{arguments:?}: {before}");
        terminal.type_keys("\x03");
        let (after, code) = terminal.finish();
        assert!(after.ends_with("\x1b[?25h"), "{arguments:?}: {after:?}");
        assert_eq!(code, Some(130), "{arguments:?}");
    }
}

#[test]
fn a_program_that_waits_for_servers_says_so() {
    let home = home();
    home.write("work/program.py", "print(await mcp__silent__anything())");
    let mut terminal = Terminal::start(&home.onecall_with_config(&["run", "program.py"]));
    // Only the server that the program names is started.
    let progress = "0 of 1 servers connected, waiting for silent";
    let before = terminal.read_until(progress);
    assert!(before.ends_with(progress), "{before}");
    terminal.type_keys("\x03");
    let (after, code) = terminal.finish();
    assert!(after.ends_with("onecall: interrupted after 0 tool calls\r\n"), "{after:?}");
    assert_eq!(code, Some(130));
}

#[test]
fn each_failure_is_told_once_and_no_restart_is_promised() {
    let home = quick_home();
    home.write("work/hello.py", "print(1)");
    home.write("work/broken.py", "print(await mcp__broken__x())");
    let warning = format!("warning: server 'broken' is not available: {FAILURE}\n");
    let said = |arguments: &[&str]| finish(home.onecall_with_config(arguments));

    let tools = said(&["tools"]);
    assert_eq!((tools.code, &tools.stderr), (Some(0), &warning));
    let call = said(&["call", "mcp__good__echo", "value=hi"]);
    assert_eq!((call.code, call.stderr.as_str()), (Some(0), ""));
    let lost = said(&["call", "mcp__broken__x"]);
    let not_found = "error: there is no tool 'mcp__broken__x'; `onecall tools` lists all tools\n";
    assert_eq!((lost.code, lost.stderr), (Some(1), format!("{warning}{not_found}")));
    let check = said(&["check"]);
    assert_eq!((check.code, check.stderr.as_str()), (Some(1), ""));
    assert_eq!(check.stdout.matches(FAILURE).count(), 1, "{}", check.stdout);
    let generate = said(&["generate", "--lang", "python", "--out", "generated"]);
    assert_eq!(generate.stderr.matches(FAILURE).count(), 1, "{}", generate.stderr);
    let hello = said(&["run", "hello.py"]);
    assert_eq!(hello.stderr.replace(&warning, "").lines().count(), 1, "{}", hello.stderr);
    let run = said(&["run", "broken.py"]);
    assert_eq!(run.stderr.matches(FAILURE).count(), 1, "{}", run.stderr);
    let broken = said(&["call", "mcp__broken__x"]);
    assert_eq!(broken.code, Some(1));
    for ended in [tools, call, check, generate, hello, run, broken] {
        assert!(!ended.stderr.contains("started again"), "{}", ended.stderr);
    }
}

#[test]
fn log_lines_stand_above_the_progress() {
    let home = home();
    let mut terminal = Terminal::start(&home.onecall_with_config(&["check", "--log", "debug"]));
    let shown = Screen::of(&terminal.read_until("waiting for silent")).to_string();
    terminal.type_keys("\x03");
    assert_eq!(terminal.finish().1, Some(130));
    let (above, last) = shown.rsplit_once('\n').unwrap();
    assert!(last.ends_with("waiting for silent"), "{last}");
    // A long line goes on in the next one.
    let above = above.replace('\n', "");
    assert!(!above.contains("servers connected") && above.contains("not available"), "{shown}");
}

#[test]
fn choosing_servers_shows_the_cursor_again_after_an_interrupt() {
    let home = Home::new();
    let entry: Value = json!({ "mcpServers": { "a": fixture("a", &[]) } });
    home.write("home/.cursor/mcp.json", entry.to_string());
    let mut terminal = Terminal::start(&home.onecall(&["init"]));
    let list = terminal.read_until("\x1b[?25l");
    assert!(list.ends_with("\x1b[?25l"), "{list}");
    terminal.read_until("]");
    terminal.type_keys("\x03");
    let (after, code) = terminal.finish();
    assert!(after.ends_with("\x1b[?25h"), "{after:?}");
    assert_eq!(code, Some(130));
}

#[test]
fn serve_on_a_terminal_says_what_it_is() {
    let home = Home::with_config(&json!({ "servers": [fixture("good", &[])] }));
    let mut terminal = Terminal::start(&home.onecall_with_config(&["serve"]));
    insta::assert_snapshot!(Screen::of(&terminal.read_until("onecall repl`.\r\n")), @"
    onecall is an MCP server. It now waits for an MCP client on stdin; clients start it by themselves.
    To add it to a client, press Ctrl-C and run `onecall install CLIENT`, for example
    `onecall install claude-code`. To try a program by hand, run `onecall repl`.
    ");
    terminal.type_keys("\x04");
    assert_eq!(terminal.finish().1, Some(0));

    let ended = finish(home.onecall_with_config(&["serve"]));
    assert_eq!((ended.code, ended.stdout, ended.stderr), (Some(0), String::new(), String::new()));
}
