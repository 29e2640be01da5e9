//! Signatures and files for the tools of published servers, from what these servers
//! answered to `tools/list`.

use std::fmt::Write;
use std::path::Path;

use insta::assert_snapshot;
use onecall_catalog::{
    GeneratedTool, generate, generated_file, python_signature, typescript_signature,
};
use onecall_core::Language;
use serde_json::Value;

use crate::support::{definitions, listed, problem};

/// File names in `schemas`.
const SERVERS: [&str; 15] = [
    "brave-search",
    "context7",
    "everything",
    "fetch",
    "filesystem",
    "git",
    "github",
    "kubernetes",
    "memory",
    "notion",
    "playwright",
    "slack",
    "sqlite",
    "thinking",
    "time",
];

fn tools(server: &str) -> Vec<GeneratedTool> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas").join(server);
    let text = std::fs::read_to_string(path.with_extension("json")).unwrap_or_default();
    let listing: Value = serde_json::from_str(&text).unwrap_or_default();
    let tools = listed(vec![(server, definitions(&listing["tools"]))]);
    assert!(!tools.is_empty(), "schemas/{server}.json has tools");
    tools
}

#[test]
fn signatures() {
    for server in SERVERS {
        let mut text = String::new();
        for tool in tools(server) {
            let category = tool.category.name();
            let (python, typescript) =
                (python_signature(&tool.spec), typescript_signature(&tool.spec));
            _ = writeln!(text, "{category}\n  {python}\n  {typescript}");
        }
        assert_snapshot!(format!("{server}_signatures"), text);
    }
}

#[test]
fn files() {
    for (server, tool) in [
        ("brave-search", "mcp__brave_search__brave_local_search"),
        ("everything", "mcp__everything__get_structured_content"),
        ("filesystem", "mcp__filesystem__edit_file"),
        ("git", "mcp__git__git_log"),
        ("github", "mcp__github__create_pull_request_review"),
        ("kubernetes", "mcp__kubernetes__pods_log"),
        ("memory", "mcp__memory__create_entities"),
        ("notion", "mcp__notion__API_post_search"),
        ("playwright", "mcp__playwright__browser_fill_form"),
        ("slack", "mcp__slack__slack_get_channel_history"),
        ("sqlite", "mcp__sqlite__read_query"),
        ("time", "mcp__time__convert_time"),
    ] {
        let tools = tools(server);
        let named = tools.iter().find(|it| it.spec.callable.as_str() == tool);
        let Some(named) = named else { panic!("{server} has no {tool}") };
        assert_snapshot!(format!("{tool}_python"), generated_file(named, Language::Python));
        assert_snapshot!(format!("{tool}_typescript"), generated_file(named, Language::TypeScript));
    }
}

#[test]
fn every_file_of_every_server_parses() {
    let all: Vec<GeneratedTool> = SERVERS.into_iter().flat_map(tools).collect();
    for language in [Language::Python, Language::TypeScript] {
        let files = generate(&all, language, "tools");
        assert!(files.len() > all.len());
        assert_eq!(problem(&files), None);
        let mut backwards = all.clone();
        backwards.reverse();
        assert_eq!(generate(&backwards, language, "tools"), files);
    }
}

#[test]
fn what_a_tree_consists_of() {
    let all: Vec<GeneratedTool> = ["git", "time"].into_iter().flat_map(tools).collect();
    for (language, name) in [(Language::Python, "python"), (Language::TypeScript, "typescript")] {
        let files = generate(&all, language, "tools");
        let mut text = files.keys().map(|path| format!("{path}\n")).collect::<String>();
        for (path, content) in &files {
            let is_index = path.ends_with("index.ts") || path.ends_with("__init__.py");
            if is_index || path.starts_with("examples/") || path == "README.md" {
                _ = writeln!(text, "\n=== {path}\n{content}");
            }
        }
        assert_snapshot!(format!("tree_{name}"), text);
    }
}
