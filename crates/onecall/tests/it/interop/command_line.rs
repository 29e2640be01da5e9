//! Published servers as the command line shows and uses them.

use serde_json::{Value, json};

use super::programs::{code, output};
use super::servers::entry;
use crate::support::{Home, finish};

/// Name, number of tools, and what the server says that it is.
const SERVERS: [(&str, &str, &str); 9] = [
    ("everything", "13", "mcp-servers/everything 2.0.0"),
    ("files", "14", "secure-filesystem-server 0.2.0"),
    ("memory", "9", "memory-server 0.6.3"),
    ("thinking", "1", "sequential-thinking-server 2026.8.31"),
    ("time", "2", "mcp-time 2026.10.19"),
    ("git", "12", "mcp-git 2026.10.19"),
    ("fetch", "1", "mcp-fetch 2026.10.24"),
    ("sqlite", "6", "sqlite 0.1.0"),
    ("kubernetes", "20", "kubernetes-mcp-server v0.0.67"),
];

#[test]
fn check_connects_to_all_of_them_at_once() {
    let home = Home::new();
    let entries: Vec<Value> = SERVERS.iter().filter_map(|(name, ..)| entry(name, &home)).collect();
    if entries.is_empty() {
        return;
    }
    home.write("config.json", json!({ "servers": entries }).to_string());
    let ended = finish(home.onecall_with_config(&["check"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let rows: Vec<_> = ended.stdout.lines().skip(2).filter_map(row).collect();
    let installed = |(name, ..): &&(&str, _, _)| entries.iter().any(|entry| entry["name"] == *name);
    let expected: Vec<_> = SERVERS.iter().filter(installed).copied().collect();
    assert_eq!(rows, expected, "{}", ended.stdout);
}

/// A row of the table, without the time and the revision.
fn row(line: &str) -> Option<(&str, &str, &str)> {
    let mut columns = line.split_ascii_whitespace();
    let (name, tools) = (columns.next()?, columns.nth(1)?);
    let (server, _protocol) = line.split_once(" ms: ")?.1.split_once(", protocol ")?;
    Some((name, tools, server))
}

#[test]
fn run_prints_what_an_agent_would_get() {
    let home = Home::new();
    let Some(entry) = entry("everything", &home) else { return };
    home.write("config.json", json!({ "servers": [entry] }).to_string());
    let ended = home.run(&code("everything"));
    assert_eq!((ended.code, ended.stdout), (Some(0), output("everything")), "{}", ended.stderr);
}
