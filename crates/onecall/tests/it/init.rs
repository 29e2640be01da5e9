//! Servers of other clients become onecall's.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::bins;

use crate::support::{CommandResult, Home, finish};

const CONFIG: &str = "home/config/onecall/config.yaml";

/// A user of three clients, with servers that are in several of them.
fn home() -> Home {
    let home = Home::new();
    let server = bins::fixture_server();
    let claude = json!({
        "numStartups": 7,
        "mcpServers": {
            "sales": { "type": "stdio", "command": server, "args": [], "env": {} },
            "tickets": {
                "command": server, "args": ["--log", home.path("tickets.log")],
                "env": { "TICKETS_TOKEN": "s3cret-value" },
            },
            "onecall": { "command": "onecall", "args": ["serve"] },
        },
    });
    home.write("home/.claude.json", serde_json::to_string_pretty(&claude).unwrap());
    let cursor = json!({ "mcpServers": {
        "shop": { "command": server, "args": [] },
        "tickets": { "url": "http://127.0.0.1:9/mcp", "headers": { "X-Key": "${env:SHOP_KEY}" } },
    } });
    home.write("home/.cursor/mcp.json", cursor.to_string());
    home.write("home/.codex/config.toml", "[mcp_servers.broken\ncommand = 1\n");
    home
}

fn onecall(home: &Home, arguments: &[&str]) -> CommandResult {
    let mut ended = finish(home.onecall(arguments));
    let server = bins::fixture_server().display().to_string();
    let short = |text: &str| {
        let text = text.replace(&server, "[server]").replace(&home.text_path(""), "[home]/");
        text.lines().filter(|line| !line.contains(" WARN ")).map(without_time).collect::<String>()
    };
    // The width of a column depends on where the server is.
    let cells = |line: &str| {
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
            .join(" | ")
            + "\n"
    };
    (ended.stdout, ended.stderr) =
        (short(&ended.stdout).lines().map(cells).collect(), short(&ended.stderr));
    ended
}

fn without_time(line: &str) -> String {
    match (line.split_once("ready in "), line.split_once(" ms: ")) {
        (Some((before, _)), Some((_, after))) => format!("{before}ready in [time]: {after}\n"),
        _ => format!("{line}\n"),
    }
}

fn output_text(ended: &CommandResult) -> String {
    format!("{:?}\n--- stdout\n{}--- stderr\n{}", ended.code, ended.stdout, ended.stderr)
}

fn read(home: &Home, name: &str) -> String {
    let server = bins::fixture_server().display().to_string();
    let text = std::fs::read_to_string(home.path(name)).unwrap();
    text.replace(&server, "[server]").replace(&home.text_path(""), "[home]/")
}

#[test]
fn everything_that_is_found_is_taken_over() {
    let home = home();
    let ended = onecall(&home, &["init", "--yes"]);
    insta::assert_snapshot!(output_text(&ended));
    insta::assert_snapshot!("configuration", read(&home, CONFIG));
    let mode = std::fs::metadata(home.path(CONFIG)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Nothing of it is new the second time.
    let again = onecall(&home, &["init", "--yes"]);
    assert_eq!(again.code, Some(0), "{}", output_text(&again));
    assert!(again.stderr.contains("Already in [home]/"), "{}", again.stderr);
    // And what was written is what runs.
    let mut command = home.onecall(&["tools"]);
    command.env("TICKETS_TOKEN", "x").env("SHOP_KEY", "y");
    let tools = finish(command);
    assert_eq!(tools.code, Some(0), "{}", tools.stderr);
    assert!(tools.stdout.contains("mcp__sales__add"), "{}", tools.stdout);
}

#[test]
fn secrets_are_copied_on_request() {
    let home = home();
    let ended = onecall(
        &home,
        &["init", "--yes", "--copy-secrets", "--no-check", "--client", "claude-code"],
    );
    assert_eq!(ended.code, Some(0), "{}", output_text(&ended));
    assert!(read(&home, CONFIG).contains("TICKETS_TOKEN: s3cret-value"));
    assert!(!output_text(&ended).contains("s3cret"), "{}", output_text(&ended));
}

#[test]
fn nobody_is_asked_where_nobody_is() {
    let home = home();
    let ended = onecall(&home, &["init", "--client", "cursor"]);
    insta::assert_snapshot!(output_text(&ended), @r"
    Some(2)
    --- stdout
    SERVER | HOW | FROM
    shop | [server] | Cursor
    tickets | http://127.0.0.1:9/mcp | Cursor
    --- stderr
    error: cannot ask you, because this is not a terminal: pass --yes to import all of them
    ");
    assert!(!home.path(CONFIG).exists());
}

#[test]
fn an_existing_file_keeps_what_it_says() {
    let home = home();
    let before = "# mine\nsandbox: best-effort # here\nservers:\n  # the first\n  - name: sales\n    command: other\n\nengine: auto\n";
    home.write("work/onecall.yaml", before);
    assert_eq!(finish(home.onecall(&["trust"])).code, Some(0));
    let ended = onecall(
        &home,
        &["init", "--yes", "--no-check", "--client", "cursor", "--client", "claude-code"],
    );
    assert_eq!(ended.code, Some(0), "{}", output_text(&ended));
    insta::assert_snapshot!(read(&home, "work/onecall.yaml"));
    // It was trusted, and is.
    let list = onecall(&home, &["check"]);
    assert!(!list.stderr.contains("not trusted"), "{}", list.stderr);
}

#[test]
fn a_file_that_is_not_trusted_does_not_become_so() {
    let home = home();
    home.write("work/onecall.yaml", "servers: []\n");
    let init = ["init", "--yes", "--no-check", "--client", "cursor", "--output", "onecall.yaml"];
    let ended = onecall(&home, &init);
    assert_eq!(ended.code, Some(0), "{}", output_text(&ended));
    assert!(ended.stderr.contains("is not trusted yet"), "{}", ended.stderr);
    let mut command = home.onecall(&["check"]);
    command.env("SHOP_KEY", "x");
    assert!(finish(command).stderr.contains("is not read"));
}

#[test]
fn a_file_with_a_mistake_is_not_touched() {
    let home = home();
    let broken = "servers:\n  - name: a\n command: b\n";
    home.write("work/onecall.yaml", broken);
    let init = ["init", "--yes", "--client", "cursor", "--output", "onecall.yaml"];
    let ended = onecall(&home, &init);
    assert_eq!(ended.code, Some(2), "{}", output_text(&ended));
    assert!(ended.stderr.contains("[home]/work/onecall.yaml:3:"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(home.path("work/onecall.yaml")).unwrap(), broken);
}

#[test]
fn files_can_be_named() {
    let home = home();
    let ended = onecall(
        &home,
        &["import", "../home/.cursor/mcp.json", "--output", "new.yaml", "--yes", "--no-check"],
    );
    assert_eq!(ended.code, Some(0), "{}", output_text(&ended));
    insta::assert_snapshot!(read(&home, "work/new.yaml"), @r#"
    # The configuration of onecall: the MCP servers that it bridges, and its other settings.
    # ${NAME} is taken from the environment, or from `onecall secrets`. See also `onecall check`,
    # `onecall add`, `onecall remove`.
    servers:
      # from Cursor
      - name: shop
        command: [server]
      # from Cursor
      - name: tickets
        url: "http://127.0.0.1:9/mcp"
        headers:
          X-Key: "${SHOP_KEY}"
    "#);
    for (file, why) in [
        ("../home/.codex/config.toml", "config.toml:1:20: not valid TOML"),
        ("nothing.json", "does not exist"),
        ("empty.json", "has no MCP servers in it"),
    ] {
        home.write("work/empty.json", "{}");
        let ended = onecall(&home, &["import", file, "--yes"]);
        assert_eq!(ended.code, Some(2), "{}", output_text(&ended));
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    }
}

#[test]
fn two_hundred_servers() {
    let home = Home::new();
    let servers: serde_json::Map<_, _> = (0..200)
        .map(|n| (format!("s{n}"), json!({ "command": "x", "args": [n.to_string()] })))
        .collect();
    home.write("home/.claude.json", json!({ "mcpServers": servers }).to_string());
    let ended = onecall(&home, &["init", "--yes", "--no-check"]);
    assert_eq!(ended.code, Some(0), "{}", output_text(&ended));
    let listed = onecall(&home, &["list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["servers"].as_array().unwrap().len(), 200);
}
