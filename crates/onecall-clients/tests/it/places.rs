//! Where clients keep their files on each operating system.

use std::path::PathBuf;

use onecall_clients::{Client, Os, UserEnvironment};

fn listed(os: Os, home: &str, project: &str, variables: &[(&str, &str)]) -> String {
    let environment = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let user = UserEnvironment {
        os,
        environment: &environment,
        home: home.to_owned(),
        project: project.to_owned(),
    };
    let mut lines = String::new();
    for (id, _, client) in Client::NAMES {
        for location in user.locations(client) {
            lines += &format!(
                "{id} {:?} {} {}\n",
                location.scope,
                location.path.display(),
                location.section.keys.join(" > ")
            );
        }
    }
    lines
}

#[test]
fn on_linux() {
    insta::assert_snapshot!(listed(Os::Linux, "/home/ada", "/home/ada/shop", &[]));
}

#[test]
fn on_macos() {
    insta::assert_snapshot!(listed(Os::Mac, "/Users/ada", "/Users/ada/shop", &[]));
}

#[test]
fn on_windows() {
    let variables = [("APPDATA", r"C:\Users\ada\AppData\Roaming")];
    insta::assert_snapshot!(listed(Os::Windows, r"C:\Users\ada", r"D:\work\shop", &variables));
}

#[test]
fn variables_move_them() {
    let variables = [
        ("XDG_CONFIG_HOME", "/x/config"),
        ("CODEX_HOME", "/x/codex"),
        ("CLAUDE_CONFIG_DIR", "/x/claude"),
    ];
    let environment = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let user = UserEnvironment {
        os: Os::Linux,
        environment: &environment,
        home: "/home/ada".to_owned(),
        project: "/p".to_owned(),
    };
    let first = |client| user.locations(client).into_iter().next().unwrap().path;
    assert_eq!(first(Client::VsCode), PathBuf::from("/x/config/Code/User/mcp.json"));
    assert_eq!(first(Client::Codex), PathBuf::from("/x/codex/config.toml"));
    assert_eq!(first(Client::ClaudeCode), PathBuf::from("/x/claude/.claude.json"));
}
