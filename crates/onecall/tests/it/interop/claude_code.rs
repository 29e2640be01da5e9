//! Claude Code with onecall in its configuration, added by Claude Code's own command or directly in
//! the file: it connects in both cases.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::installed::{bounded, claude_code};
use crate::support::{Home, finish, fixture};

#[test]
fn it_connects_to_what_was_installed() {
    let Some(claude) = Claude::find() else { return };
    for is_on_path in [true, false] {
        claude.onecall(&["install", "claude-code", "--yes"], is_on_path);
        let listed = claude.run(&["mcp", "list"]);
        assert!(
            listed.lines().any(|line| line.starts_with("onecall: ") && line.ends_with("Connected")),
            "{listed}"
        );
        let got = claude.run(&["mcp", "get", "onecall"]);
        assert!(got.contains("Scope: User config"), "{got}");
        claude.onecall(&["uninstall", "claude-code", "--yes"], is_on_path);
        let listed = claude.run(&["mcp", "list"]);
        assert!(!listed.contains("onecall"), "{listed}");
    }
}

#[test]
fn its_servers_are_taken_over_and_come_back() {
    let Some(claude) = Claude::find() else { return };
    let server = fixture("theirs", &[]);
    let entry = json!({ "type": "stdio", "command": server["command"], "args": [], "env": {} });
    claude.run(&["mcp", "add-json", "--scope", "user", "theirs", &entry.to_string()]);
    claude.onecall(&["init", "--yes", "--client", "claude-code"], true);
    claude.onecall(&["install", "claude-code", "--replace", "--yes"], true);
    let listed = claude.run(&["mcp", "list"]);
    assert!(listed.contains("onecall: ") && !listed.contains("theirs: "), "{listed}");
    claude.onecall(&["uninstall", "claude-code", "--yes"], true);
    let settings: Value = serde_json::from_str(&claude.settings()).expect("its settings");
    assert_eq!(settings["mcpServers"], json!({ "theirs": entry }));
}

/// Claude Code and a home for what it keeps.
struct Claude {
    program: PathBuf,
    home: Home,
}

impl Claude {
    fn find() -> Option<Self> {
        let program = claude_code()?;
        let home = Home::new();
        home.write("home/config/onecall/config.yaml", "servers: []\n");
        Some(Self { program, home })
    }

    fn prepared(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("HOME", self.home.path("home"))
            .env("XDG_CONFIG_HOME", self.home.path("home/config"))
            .env("XDG_STATE_HOME", self.home.path("home/state"))
            // It must connect only to its servers.
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(self.home.path("work"));
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        let mut command = bounded(&self.program);
        command.args(arguments);
        let ended = finish(self.prepared(command));
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        ended.stdout
    }

    fn onecall(&self, arguments: &[&str], is_on_path: bool) {
        let onecall = self.home.onecall(arguments);
        let mut command = bounded(onecall.get_program());
        command.args(onecall.get_args());
        let mut command = self.prepared(command);
        let folder = self.program.parent().filter(|_| is_on_path);
        let folder = folder.map_or(String::new(), |folder| format!("{}:", folder.display()));
        command.env("PATH", format!("{folder}/usr/bin:/bin"));
        let ended = finish(command);
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    }

    fn settings(&self) -> String {
        std::fs::read_to_string(self.home.path("home/.claude.json")).expect("its settings")
    }
}
