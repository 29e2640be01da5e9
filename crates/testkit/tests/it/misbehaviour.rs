//! The flags and tools that make the fixture server misbehave, and the functions that find the
//! processes it leaves behind.

use std::time::Duration;

use serde_json::json;
use testkit::bins::fixture_command;
use testkit::mcp::Session;
use testkit::process;
use testkit::rpc::Client;

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(20);

#[test]
fn it_ends_when_stdin_closes() {
    let mut session = Session::open(fixture_command(&[]));
    session.client().close_stdin();
    assert_eq!(session.client().wait(LONG).and_then(|status| status.code()), Some(0));
}

#[test]
fn it_crashes_and_exits_on_demand() {
    let mut session = Session::open(fixture_command(&[]));
    let _ = session.start_call("crash", json!({ "exit_code": 7 }));
    assert_eq!(session.client().wait(LONG).and_then(|status| status.code()), Some(7));

    let mut client =
        Client::spawn(fixture_command(&["--stderr", "no licence", "--exit-on-start", "3"]));
    assert_eq!(client.receive_line(), None);
    assert_eq!(client.wait(LONG).and_then(|status| status.code()), Some(3));
    assert!(process::wait_until(LONG, || client.stderr() == "no licence\n"));
}

#[test]
fn it_ignores_eof_and_sigterm() {
    let mut session = Session::open(fixture_command(&["--ignore-eof"]));
    let pid = session.client().pid();
    session.client().close_stdin();
    let kill = std::process::Command::new("kill").args(["-TERM", &pid.to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()));
    assert_eq!(session.client().wait(SHORT), None);
    drop(session);
    assert!(!process::is_alive(pid));
}

#[test]
fn its_grandchild_is_found_even_as_an_orphan() {
    let mark = process::unique_mark();
    let mut session = Session::open(fixture_command(&["--spawn-grandchild", "--name", &mark]));
    let children = process::descendants(session.client().pid());
    assert_eq!(
        children.iter().map(|child| child.command.as_str()).collect::<Vec<_>>(),
        ["sleep 1000"]
    );
    session.client().kill();
    let orphans = process::marked(&mark);
    assert_eq!(orphans.iter().map(|orphan| orphan.pid).collect::<Vec<_>>(), [children[0].pid]);
    let kill = std::process::Command::new("kill").arg(children[0].pid.to_string()).status();
    assert!(kill.is_ok_and(|status| status.success()));
    assert!(process::wait_until(LONG, || process::marked(&mark).is_empty()));
}

#[test]
fn garbage_surrounds_its_answers() {
    let mut session = Session::open(fixture_command(&["--garbage"]));
    assert_eq!(session.call_tool("counter", json!({})).text, "1");
    assert_eq!(session.client().unexpected_lines().len(), 7);
}

#[test]
fn it_answers_initialize_late_never_or_with_another_version() {
    let mut client = Client::spawn(fixture_command(&["--hang-on-init"]));
    let id = client.start("initialize", json!({}));
    assert!(client.finish_within(id, SHORT).is_none());

    let mut client = Client::spawn(fixture_command(&["--start-delay-ms", "300"]));
    let id = client.start("initialize", json!({}));
    assert!(client.finish_within(id, SHORT).is_none());
    assert!(client.finish(id).is_ok());

    let version = |flags: &[&str], asked| {
        Session::new(Client::spawn(fixture_command(flags))).initialize(asked)["protocolVersion"]
            .clone()
    };
    assert_eq!(version(&[], "2025-03-26"), "2025-03-26");
    assert_eq!(version(&[], "1999-01-01"), "2025-11-25");
    assert_eq!(version(&["--protocol", "2030-01-01"], "2025-06-18"), "2030-01-01");
}

#[test]
fn it_logs_every_line_it_receives() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("requests.log");
    let mut session = Session::open(fixture_command(&["--log", log.to_str().unwrap()]));
    let call = session.start_call("hang", json!({}));
    session.cancel(call);
    session.call_tool("counter", json!({}));
    let lines = std::fs::read_to_string(&log).unwrap();
    let methods: Vec<String> = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| Some(message["method"].as_str()?.to_owned()))
        .collect();
    assert_eq!(
        methods,
        [
            "initialize",
            "notifications/initialized",
            "tools/call",
            "notifications/cancelled",
            "tools/call"
        ]
    );
}
