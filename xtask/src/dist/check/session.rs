//! Checks an installed onecall: it must print its version, run programs over MCP, and end when
//! asked to.

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use testkit::mcp::Session;
use testkit::process::{descendants, is_alive, wait_until};

use super::install_folder::finish;

/// How long onecall and all its processes may take to end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Programs that need the interpreters and their libraries, and their expected output.
const PROGRAMS: [(&str, &str, &str); 2] = [
    (
        "python",
        "import hashlib, zoneinfo\nprint(9**20, hashlib.sha256(b'').hexdigest()[:4])",
        "12157665459056928801 e3b0",
    ),
    ("typescript", "const xs: number[] = [1, 2];\nconsole.log(xs.map((x) => x * 2))", "[ 2, 4 ]"),
];

/// Which process a signal to the started process reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signals {
    /// The signal reaches onecall: it ends, though its input stays open.
    ReachOnecall,
    /// npx passes the signal to a shell of its own, and onecall ends with its input.
    EndAtNpx,
}

/// Checks an installed onecall; `start` creates the command that starts it.
pub fn check(
    what: &str,
    version: &str,
    signals: Signals,
    start: impl Fn(&[&str]) -> Command,
) -> Result<(), String> {
    eprintln!("trying {what}");
    let failed = |why: String| format!("{what}: {why}");
    let printed = finish(start(&["--version"])).map_err(failed)?;
    if !printed.starts_with(&format!("onecall {version} ")) {
        return Err(failed(format!("--version prints {printed:?}")));
    }
    if finish(start(&["run", "-e", "raise SystemExit(3)"])).is_ok() {
        return Err(failed("the exit code of a failed program is lost".to_owned()));
    }
    ends_with_its_input(start(&["serve"])).map_err(failed)?;
    ends_by_signal(start(&["serve"]), signals).map_err(failed)
}

/// Runs programs, and closes the input.
fn ends_with_its_input(serve: Command) -> Result<(), String> {
    let mut session = Session::open(serve);
    for (language, code, expected) in PROGRAMS {
        let arguments = json!({ "code": code, "language": language });
        let answer = session.call_tool("execute_program", arguments);
        let expected = format!("[Script executed successfully]\n{expected}");
        if answer.text.trim_end() != expected {
            return Err(format!("a program in {language} is answered with {:?}", answer.text));
        }
    }
    let pids = process_ids(&mut session);
    session.client().close_stdin();
    match session.client().wait(EXIT_TIMEOUT) {
        Some(status) if status.success() => all_end(&pids),
        Some(status) => Err(format!("at the end of its input it ends with {status}")),
        None => Err("it does not end at the end of its input".to_owned()),
    }
}

/// Ends the process by a signal, as an impatient client does.
fn ends_by_signal(serve: Command, signals: Signals) -> Result<(), String> {
    let mut session = Session::open(serve);
    let pids = process_ids(&mut session);
    // A shell built-in, because not every system has a program for it.
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -TERM \"$0\""]).arg(session.client().pid().to_string());
    finish(kill)?;
    if signals == Signals::EndAtNpx {
        session.client().close_stdin();
    }
    match session.client().wait(EXIT_TIMEOUT) {
        Some(_) => all_end(&pids),
        None => Err("it does not end when it gets SIGTERM".to_owned()),
    }
}

/// The processes of a session.
fn process_ids(session: &mut Session) -> Vec<u32> {
    descendants(session.client().pid()).iter().map(|process| process.pid).collect()
}

fn all_end(pids: &[u32]) -> Result<(), String> {
    if wait_until(EXIT_TIMEOUT, || !pids.iter().any(|pid| is_alive(*pid))) {
        return Ok(());
    }
    Err("it leaves processes behind".to_owned())
}
