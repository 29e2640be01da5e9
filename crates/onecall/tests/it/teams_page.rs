//! The page about teams: its commands are run in order, as they are written, and print what the page says.
//! `uvx` is a stand-in that starts the fixture server instead of downloading one.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use testkit::bins;

use crate::support::Home;

const PAGE: &str = include_str!("../../../../docs/teams.md");

/// Commands that the machine of a test does not have, or that would never end.
const NOT_RUN: [&str; 3] = ["caddy ", "claude ", "curl https"];

/// A block of commands, and the block below it if that says what they print.
struct Step {
    commands: String,
    output: Option<String>,
}

/// The commands of the page, in order.
fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut parts = PAGE.split("\n```");
    let _ = parts.next();
    for block in parts.step_by(2) {
        let (kind, text) = block.split_once('\n').expect("a block has lines");
        match kind {
            "sh" => steps.push(Step { commands: format!("{text}\n"), output: None }),
            "text" => steps.last_mut().expect("commands").output = Some(format!("{text}\n")),
            _ => {}
        }
    }
    steps.retain(|step| !NOT_RUN.iter().any(|command| step.commands.contains(command)));
    steps
}

/// Whether a line is as the page shows it, where `…` stands for anything.
fn matches(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|start| line.strip_prefix(start)) else {
        return false;
    };
    let mut is_open = false;
    for part in parts {
        is_open = part.is_empty();
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || is_open
}

/// A home with `onecall` and a `uvx` on its path.
fn home() -> Home {
    let home = Home::new();
    let time = home.write_tools("time.json", &[("get_current_time", "Tells the time.")]);
    let fixture = bins::fixture_server().display().to_string();
    let uvx = format!("#!/bin/sh\nexec '{fixture}' --tools-file '{}'\n", time.display());
    let uvx = home.write("bin/uvx", uvx);
    std::fs::set_permissions(uvx, PermissionsExt::from_mode(0o755)).expect("an executable");
    std::os::unix::fs::symlink(bins::onecall(), home.path("bin/onecall")).expect("a link");
    home
}

#[test]
fn the_commands_print_what_the_page_says() {
    let home = home();
    std::fs::create_dir(home.path("home")).expect("a folder");
    let steps = steps();
    assert!(steps.len() >= 5, "the page has lost its commands");
    for Step { commands, output } in steps {
        // Each block continues where the one before has ended.
        let script = format!("set -e\n[ ! -d ~/gateway ] || cd ~/gateway\nexec 2>&1\n{commands}");
        let onecall = home.onecall(&[]);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).env_clear();
        shell.envs(onecall.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", home.text_path("bin")));
        shell.env("HOME", home.path("home")).current_dir(home.path("home"));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.spawn().expect("a shell");
        // What is asked for, such as a secret.
        let _ = child.stdin.take().expect("a pipe").write_all(b"a secret\n");
        let ended = child.wait_with_output().expect("it ends");
        let printed = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{commands}\n{printed}");
        let Some(output) = output else { continue };
        let printed = printed.replace(&home.text_path("home/gateway"), "/home/gateway");
        let is_same = output.lines().count() == printed.lines().count()
            && output.lines().zip(printed.lines()).all(|(shown, line)| matches(shown, line));
        assert!(is_same, "{commands}\nprints\n{printed}\nand the page says\n{output}");
    }
}
