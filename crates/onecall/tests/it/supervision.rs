//! A server that dies, or does not start, gets another chance, and another.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::Session;
use testkit::process::{descendants, is_alive, wait_until};
use testkit::remote::HttpFixture;

use crate::support::{Gateway, Home, TIMEOUT};

/// A gateway that logs when servers connect and end.
fn gateway_with_log(home: Home) -> Gateway {
    Gateway { session: Session::open(home.onecall_with_config(&["serve", "--log", "info"])), home }
}

/// The lines of the log about changes of a server's state.
fn changes(gateway: &mut Gateway) -> Vec<String> {
    let is_change = |line: &&str| line.contains("connected to") || line.contains("not available");
    gateway.session.client().stderr().lines().filter(is_change).map(str::to_owned).collect()
}

/// Waits until so many changes are in the log.
fn wait_for_changes(gateway: &mut Gateway, count: usize) -> Vec<String> {
    let mut seen = Vec::new();
    wait_until(TIMEOUT, || {
        seen = changes(gateway);
        seen.len() >= count
    });
    assert_eq!(seen.len(), count, "{seen:#?}");
    seen
}

/// A fixture server that starts only while this file is missing.
fn gated(home: &Home, gate: &str) -> Value {
    let script = "[ -e \"$1\" ] && exit 9; exec \"$0\" --stderr 'for people only'";
    let fixture = bins::fixture_server().display().to_string();
    let arguments = ["-c", script, &fixture, &home.text_path(gate)];
    json!({ "name": "bad", "command": "sh", "args": arguments })
}

/// What a failed call says about the next start.
fn next_start_message(gateway: &mut Gateway) -> String {
    let code = "
        import time
        started = time.monotonic()
        try:
            await mcp__bad__counter()
        except ToolError as error:
            print(error, end='')
        assert time.monotonic() - started < 1
    ";
    let said = gateway.prints(code);
    let known =
        "'mcp__bad__counter' failed: server 'bad' is not running: has exited (exit status: ";
    let how = said.strip_prefix(known).unwrap_or_else(|| panic!("{said}"));
    let (_, message) = how.split_once("; ").unwrap_or_else(|| panic!("{said}"));
    message.to_owned()
}

/// A server on stdio is asked with `server/discover` first once it has answered that. A newer version
/// of it that ends at this request is used with a handshake after one more start.
#[test]
fn a_server_that_answers_discovery_is_asked_with_it_first() {
    const SCRIPT: &str = r#"
        [ -e "$1" ] || exec "$0" --face stateless --log "$2"
        IFS= read -r line
        case $line in
            *server/discover*) printf '%s\n' "$line" >> "$2"; exit 4 ;;
            *) { printf '%s\n' "$line"; cat; } | "$0" --log "$2" ;;
        esac
    "#;
    let home = Home::new();
    let fixture = bins::fixture_server().display().to_string();
    let arguments = ["-c", SCRIPT, &fixture, &home.text_path("newer"), &home.text_path("received")];
    let server = json!({ "name": "bad", "command": "sh", "args": arguments });
    home.write("config.json", json!({ "servers": [server] }).to_string());
    let mut gateway = gateway_with_log(home);
    assert_eq!(gateway.prints("print(await mcp__bad__add(1, 2))"), "3\n");
    gateway.fails("await mcp__bad__crash(exit_code=3)");
    // Connected, ended, connected.
    wait_for_changes(&mut gateway, 3);
    gateway.home.write("newer", "");
    gateway.fails("await mcp__bad__crash(exit_code=3)");
    // Ended, ended at the first request, connected.
    wait_for_changes(&mut gateway, 6);
    let first_requests = |log: &str| {
        let requests = log.lines().map(|it| serde_json::from_str(it).expect("a message"));
        let methods =
            requests.map(|it: Value| it["method"].as_str().unwrap_or_default().to_owned());
        let is_first = |it: &String| it == "initialize" || it == "server/discover";
        methods.filter(is_first).collect::<Vec<_>>()
    };
    let received = fs::read_to_string(gateway.home.path("received")).expect("a log");
    assert_eq!(
        first_requests(&received),
        ["initialize", "server/discover", "server/discover", "server/discover", "initialize"]
    );
}

#[test]
fn a_server_that_dies_is_started_again() {
    let home = Home::new();
    home.write("config.json", json!({ "servers": [gated(&home, "closed")] }).to_string());
    let mut gateway = gateway_with_log(home);
    let code = "print(await mcp__bad__counter(), await mcp__bad__counter())";
    assert_eq!(gateway.prints(code), "1 2\n");
    let gate = gateway.home.write("closed", "");
    let failure = gateway.fails("await mcp__bad__crash(exit_code=3)");
    assert!(failure.contains("failed: server 'bad' has exited (exit status: 3)"), "{failure}");

    // Calls do not wait for it, however long it takes.
    let seconds = |message: String| -> Option<u64> {
        let seconds = message.strip_prefix("onecall starts it again in ")?.strip_suffix(" s")?;
        Some(seconds.parse().unwrap())
    };
    let waits_long =
        || seconds(next_start_message(&mut gateway)).is_some_and(|seconds| seconds >= 3);
    assert!(wait_until(TIMEOUT, waits_long));

    fs::remove_file(gate).unwrap();
    let changes = wait_for_changes(&mut gateway, 4);
    let expected = [
        ("INFO", "connected to"),
        ("WARN", "not available: has exited (exit status: 3); its stderr ends with: for people"),
        ("WARN", "not available: has exited (exit status: 9) during the handshake; onecall starts"),
        ("INFO", "connected to"),
    ];
    for (line, (level, words)) in changes.iter().zip(expected) {
        assert!(line.contains(level) && line.contains(words), "{changes:#?}");
    }
    assert_eq!(gateway.prints("print(await mcp__bad__counter())"), "1\n");
}

#[test]
fn a_server_that_dies_at_once_is_given_ever_more_time() {
    let home = Home::new();
    let script = "date +%s%N >> \"$0\"; exit 5";
    let arguments = ["-c", script, &home.text_path("starts")];
    let server = json!({ "name": "bad", "command": "sh", "args": arguments });
    home.write("config.json", json!({ "servers": [server] }).to_string());
    let mut gateway = gateway_with_log(home);
    let path = gateway.home.path("starts");
    let starts = || -> Vec<u128> {
        let text = fs::read_to_string(&path).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    assert!(wait_until(TIMEOUT, || starts().len() == 4));
    let times = starts();
    let pauses: Vec<u128> = times.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000_000).collect();
    for (pause, least) in pauses.iter().zip([400, 800, 1600]) {
        // The server's clock may differ a little from the test's.
        assert!(*pause + 20 >= least, "{pauses:?}");
    }
    // A repeated failure for an equal reason is not logged again.
    assert_eq!(changes(&mut gateway).len(), 1);

    // It would be started again in more than three seconds, which are not waited for.
    let family = descendants(gateway.pid());
    let client = gateway.session.client();
    client.close_stdin();
    assert_eq!(client.wait(TIMEOUT).expect("the gateway ends").code(), Some(0));
    assert!(wait_until(TIMEOUT, || family.iter().all(|process| !is_alive(process.pid))));
    assert_eq!(starts(), times);
}

#[test]
fn a_server_that_appears_later_comes_up() {
    let home = Home::new();
    let server = json!({ "name": "late", "command": home.path("late") });
    home.write("config.json", json!({ "servers": [server] }).to_string());
    let mut gateway = gateway_with_log(home);
    assert_eq!(gateway.callable_tools(), [""; 0]);
    assert!(wait_for_changes(&mut gateway, 1)[0].contains("was not found"));
    symlink(bins::fixture_server(), gateway.home.path("late")).unwrap();
    wait_for_changes(&mut gateway, 2);
    assert!(wait_until(TIMEOUT, || gateway.callable_tools().len() == 35));
    assert_eq!(gateway.prints("print(await mcp__late__add(1, 2))"), "3\n");
}

#[test]
fn the_tools_of_a_server_that_comes_back_are_listed_anew() {
    let home = Home::new();
    let script = "
        if [ -e \"$1\" ]; then more=5; else more=0; fi
        touch \"$1\"
        exec \"$0\" --tools $more
    ";
    let fixture = bins::fixture_server().display().to_string();
    let arguments = ["-c", script, &fixture, &home.text_path("was-here")];
    let server: Value = json!({ "name": "new", "command": "sh", "args": arguments });
    home.write("config.json", json!({ "servers": [server] }).to_string());
    let mut gateway = gateway_with_log(home);
    assert_eq!(gateway.callable_tools().len(), 35);
    gateway.fails("await mcp__new__crash()");
    // Known while it is down, and more when it is back.
    assert!(gateway.callable_tools().len() >= 35);
    assert!(wait_until(TIMEOUT, || gateway.callable_tools().len() == 40));
    let code = "print(await mcp__new__tool_00005(invoice_id='a'))";
    assert_eq!(gateway.prints(code), "{'invoice_id': 'a'}\n");
}

#[test]
fn a_remote_server_that_starts_after_the_gateway_comes_up() {
    for path in ["/mcp", "/sse"] {
        let face = ["--face", if path == "/sse" { "legacy" } else { "events" }];
        let early = HttpFixture::start(&face);
        let (address, url) = (early.address().to_owned(), early.url(path));
        drop(early);
        let servers = [json!({ "name": "far", "url": url })];
        let mut gateway = gateway_with_log(Home::with_config(&json!({ "servers": servers })));
        assert!(wait_for_changes(&mut gateway, 1)[0].contains("Connection refused"));
        let _late = HttpFixture::start_at(&address, &face);
        wait_for_changes(&mut gateway, 2);
        assert!(wait_until(TIMEOUT, || gateway.callable_tools().len() == 35));
        assert_eq!(gateway.prints("print(await mcp__far__add(1, 2))"), "3\n");
    }
}

#[test]
fn a_remote_server_whose_stream_ends_is_reached_again() {
    let face = ["--face", "legacy"];
    let fixture = HttpFixture::start(&face);
    let address = fixture.address().to_owned();
    let servers = [json!({ "name": "far", "url": fixture.url("/sse"), "transport": "sse" })];
    let mut gateway = gateway_with_log(Home::with_config(&json!({ "servers": servers })));
    assert_eq!(gateway.prints("print(await mcp__far__counter())"), "1\n");
    drop(fixture);
    gateway.wait_for_log(&["WARN", "server=far", "not available", "onecall starts it again in"]);
    let _back = HttpFixture::start_at(&address, &face);
    let back = || changes(&mut gateway).last().is_some_and(|line| line.contains("connected to"));
    assert!(wait_until(TIMEOUT, back));
    assert_eq!(gateway.prints("print(await mcp__far__counter())"), "1\n");
}
