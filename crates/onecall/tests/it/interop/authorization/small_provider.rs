//! The page about a small identity provider: its program is run as it stands on the page, and the three
//! people of the page log in with a published client.

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::Team;
use super::clients::play;
use crate::interop::listening_server::ListeningServer;
use crate::support::browser::password_of;
use crate::support::free_port;
use crate::support::installed::{bounded, installed};

const PAGE: &str = include_str!("../../../../../../docs/identity-provider.md");

#[test]
fn the_people_of_the_page_log_in() {
    let Some(node) = installed("ONECALL_INTEROP_RECENT_NODE") else { return };
    let Some(package) = installed("ONECALL_INTEROP_OIDC_PROVIDER") else { return };
    let Some(python) = installed("ONECALL_INTEROP_SDK_1") else { return };
    let folder = TempDir::new().expect("a folder");
    symlink(package.join("node_modules"), folder.path().join("node_modules")).expect("a link");
    std::fs::write(folder.path().join("provider.mjs"), program()).expect("a file");
    let provider = |arguments: &[&str]| {
        let mut command = bounded(&node);
        command.arg("provider.mjs").args(arguments).current_dir(folder.path());
        command
    };
    // The commands of the page print what the page says.
    let printed: String = people().map(|arguments| add(provider(&arguments))).concat();
    assert!(PAGE.contains(&format!("```text\n{printed}```")), "{printed}");

    let port = free_port();
    let start = |port_of_provider: u16| {
        let mut command = provider(&[]);
        command.env("ISSUER", format!("http://127.0.0.1:{port_of_provider}"));
        command.env("PORT", port_of_provider.to_string());
        command.env("RESOURCE", format!("http://127.0.0.1:{port}/mcp"));
        command
    };
    let running = ListeningServer::start(start);
    let port_of_provider = running.port;
    let mut team = Team::with(running, port, &[]);
    let see = |team: &Team, user: &str| -> Vec<String> {
        let mut command = bounded(python.join("bin/python"));
        command.arg("-B");
        let seen: Value = play(team, "sdk_1.py", command, user);
        serde_json::from_str(seen["callable"].as_str().expect("a text")).expect("a list")
    };
    let all = see(&team, "anna");
    assert!(all.len() > 10, "{all:?}");
    assert_eq!(see(&team, "carla"), ["mcp__fixture__echo"]);

    // After a restart, the provider has the same keys and people.
    team.provider.stop();
    team.provider = ListeningServer::start_at(port_of_provider, start(port_of_provider));
    assert_eq!(see(&team, "ben"), all);
    for file in ["users.json", "keys.json", "state.json"] {
        check_private(&folder.path().join(file));
    }
}

/// The program on the page.
fn program() -> String {
    let (_, rest) = PAGE.split_once("cat > provider.mjs <<'JS'\n").expect("the program");
    rest.split_once("\nJS\n").expect("its end").0.to_owned()
}

/// The arguments of the commands on the page that add people.
fn people() -> [Vec<&'static str>; 3] {
    let lines = PAGE.lines().filter_map(|line| line.strip_prefix("node provider.mjs add "));
    let people: Vec<_> = lines.map(|line| format!("add {line}")).collect();
    assert_eq!(people, ["add anna dev", "add ben dev", "add carla intern"]);
    [vec!["add", "anna", "dev"], vec!["add", "ben", "dev"], vec!["add", "carla", "intern"]]
}

/// Runs a command that asks for the password of a person; returns what it prints.
fn add(mut command: Command) -> String {
    let arguments: Vec<_> =
        command.get_args().map(|it| it.to_string_lossy().into_owned()).collect();
    let name = &arguments[arguments.len() - 2];
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let password = format!("{}\n", password_of(name));
    child.stdin.take().expect("a pipe").write_all(password.as_bytes()).expect("it reads");
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.success());
    String::from_utf8(ended.stdout).expect("text")
}

/// Only the owner can read the file.
fn check_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = path.metadata().expect("the file exists").permissions().mode();
    assert_eq!(mode & 0o077, 0, "{}", path.display());
}
