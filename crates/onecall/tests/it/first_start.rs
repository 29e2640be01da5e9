//! The first start of a server whose command downloads what it runs: it has more time, only two such
//! servers start at once, and others work meanwhile.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::Session;
use testkit::process::wait_until;

use crate::support::{Gateway, Home, TIMEOUT, finish, fixture};

const INSTALLING: &str = "installing for the first time";

/// A home whose `npx NAME` notes that it was started, and becomes the fixture server when
/// [`release`] has been called for the name.
fn home_with_npx(servers: &[Value]) -> Home {
    let home = Home::with_config(&json!({ "servers": servers }));
    let (folder, server) =
        (home.text_path("npx-state"), bins::fixture_server().display().to_string());
    std::fs::create_dir(&folder).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != --version ] || exec echo 10.0.0\necho \"$1\" >> '{folder}/started'\n\
         until [ -e '{folder}/release-'\"$1\" ]; do sleep 0.05; done\nexec '{server}'\n"
    );
    let npx = home.write("bin/npx", script);
    std::fs::set_permissions(npx, std::fs::Permissions::from_mode(0o755)).unwrap();
    home
}

fn npx(name: &str) -> Value {
    json!({ "name": name, "command": "npx", "args": [name] })
}

fn release(home: &Home, name: &str) {
    home.write(&format!("npx-state/release-{name}"), "");
}

/// The names with which `npx` was started, in alphabetical order.
fn started(home: &Home) -> Vec<String> {
    let text = std::fs::read_to_string(home.path("npx-state/started")).unwrap_or_default();
    let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
    names.sort();
    names
}

fn wait_until_started(home: &Home, names: &[&str]) {
    assert!(wait_until(TIMEOUT, || started(home) == names), "{:?}", started(home));
}

fn onecall(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.onecall_with_config(arguments);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", home.text_path("bin")));
    command
}

fn serve(home: Home) -> Gateway {
    Gateway { session: Session::open(onecall(&home, &["serve", "--log", "info"])), home }
}

fn remembered(home: &Home) -> Value {
    let text = std::fs::read(home.path("home/state/onecall/downloads.json")).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

#[test]
fn a_gateway_works_while_a_server_is_installed() {
    let mut gateway = serve(home_with_npx(&[npx("cold"), fixture("other", &[])]));
    gateway.wait_for_log(&["server=cold", INSTALLING]);
    wait_until_started(&gateway.home, &["cold"]);
    assert_eq!(gateway.prints("print(await mcp__other__add(1, 2))"), "3\n");
    // What a server that is up does not have is known without the other one.
    let failure = gateway.fails("await mcp__other__ad(1, 2)");
    assert!(failure.contains("mcp__other__add"), "{failure}");
    let search = json!({ "query": "add", "server": "cold" });
    let found = gateway.session.call_tool("search_tools", search);
    assert!(found.text.ends_with(&format!("[Servers {INSTALLING}: cold]")), "{found:?}");

    release(&gateway.home, "cold");
    gateway.wait_for_log(&["server=cold", "connected to"]);
    assert_eq!(gateway.prints("print(await mcp__cold__add(1, 2))"), "3\n");
    assert_eq!(started(&gateway.home), ["cold"]);
}

#[test]
fn only_two_servers_are_installed_at_once() {
    let mut third = npx("third");
    third["connect_timeout_seconds"] = json!(1);
    let mut gateway = serve(home_with_npx(&[npx("first"), npx("second"), third]));
    wait_until_started(&gateway.home, &["first", "second"]);
    // The wait for its turn is none of the time in which it has to start.
    let failure = gateway.fails("await mcp__third__add(1, 2)");
    let reason = "ToolError: 'mcp__third__add' failed: server 'third' is installing for the first \
                  time, which can take minutes; try again later";
    assert!(failure.contains(reason), "{failure}");
    assert_eq!(started(&gateway.home), ["first", "second"]);

    release(&gateway.home, "third");
    release(&gateway.home, "second");
    gateway.wait_for_log(&["server=second", "connected to"]);
    gateway.wait_for_log(&["server=third", "connected to"]);
    assert_eq!(gateway.prints("print(await mcp__third__add(1, 2))"), "3\n");
    assert_eq!(gateway.prints("print(await mcp__second__add(1, 2))"), "3\n");
}

#[test]
fn a_command_that_has_connected_is_not_installed_again() {
    let home = home_with_npx(&[npx("tool")]);
    release(&home, "tool");
    let first = finish(onecall(&home, &["check", "--log", "info"]));
    assert_eq!((first.code, first.stderr.matches(INSTALLING).count()), (Some(0), 1), "{first:?}");
    let commands = remembered(&home)["commands"].clone();
    assert_eq!(commands.as_array().map(Vec::len), Some(1), "{commands}");
    let file = std::fs::metadata(home.path("home/state/onecall/downloads.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);

    let again = finish(onecall(&home, &["check", "--log", "info"]));
    assert_eq!((again.code, again.stderr.matches(INSTALLING).count()), (Some(0), 0), "{again:?}");
    assert_eq!(remembered(&home)["commands"], commands);

    let mut other = npx("tool");
    other["args"] = json!(["tool", "--other"]);
    home.write("config.json", json!({ "servers": [other] }).to_string());
    let other = finish(onecall(&home, &["check", "--log", "info"]));
    assert_eq!((other.code, other.stderr.matches(INSTALLING).count()), (Some(0), 1), "{other:?}");
    assert_eq!(remembered(&home)["commands"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_timeout_in_the_configuration_holds_for_the_first_start() {
    let mut server = npx("cold");
    server["connect_timeout_seconds"] = json!(0.5);
    let home = home_with_npx(&[server]);
    let ended = finish(onecall(&home, &["check"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("failed: did not answer within 0.5s"), "{}", ended.stdout);
    assert_eq!(remembered(&home), Value::Null);
    let advice = "→ it may have to download first: run its command once by hand, which installs it, \
                  or raise 'connect_timeout_seconds'";
    let doctor = finish(onecall(&home, &["doctor"]));
    assert!(doctor.stdout.contains(advice), "{}", doctor.stdout);
}

#[test]
fn a_command_waits_until_the_server_it_uses_is_installed() {
    let home = home_with_npx(&[npx("cold")]);
    home.write("program.py", "print(await mcp__cold__add(1, 2))");
    let mut run = onecall(&home, &["run", &home.text_path("program.py")]);
    run.stdin(Stdio::null()).stdout(Stdio::piped());
    let run = run.spawn().unwrap();
    wait_until_started(&home, &["cold"]);
    release(&home, "cold");
    let ended = run.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(0), b"3\n".as_slice()));
}
