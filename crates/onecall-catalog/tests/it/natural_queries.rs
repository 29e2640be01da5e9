//! What people and models type when they look for a tool, over the tools that published
//! servers list (`published/tools.json`: what each answered to `tools/list`, and its
//! version; of the largest only the names of parameters).

use onecall_catalog::{Catalog, ToolDefinition};
use onecall_core::{ServerName, ToolAnnotations, ToolName};
use serde_json::Value;

/// How far down the wanted tool may stand.
const TOP: usize = 3;

/// A query, and the tools of which one must be among the first.
const QUERIES: &[(&str, &[&str])] = &[
    ("read a file", &["files__read_text_file", "files__read_file"]),
    ("write text to a file on disk", &["files__write_file"]),
    ("rename a file", &["files__move_file"]),
    ("show the folder structure", &["files__directory_tree"]),
    ("make a new folder", &["files__create_directory"]),
    ("how large is a file", &["files__get_file_info", "files__list_directory_with_sizes"]),
    ("find files by name", &["files__search_files"]),
    ("what time is it in Tokyo", &["time__get_current_time"]),
    ("convert time zones", &["time__convert_time"]),
    ("commit my changes", &["git__git_commit"]),
    ("switch to another branch", &["git__git_checkout"]),
    ("see the commit history", &["git__git_log", "github__list_commits", "git__git_show"]),
    ("unstage files", &["git__git_reset", "git__git_diff_unstaged"]),
    ("download a web page", &["fetch__fetch"]),
    ("get the contents of a URL", &["fetch__fetch"]),
    ("run an SQL query", &["sqlite__read_query", "sqlite__write_query"]),
    ("database tables", &["sqlite__list_tables"]),
    ("schema of a table", &["sqlite__describe_table"]),
    ("open a pull request", &["github__create_pull_request"]),
    ("merge a PR", &["github__merge_pull_request", "gitlab__create_merge_request"]),
    ("comment on an issue", &["github__add_issue_comment"]),
    ("report a bug in a repository", &["github__create_issue"]),
    ("search code on github", &["github__search_code"]),
    ("list open issues", &["github__list_issues"]),
    ("gitlab merge request", &["gitlab__create_merge_request"]),
    ("fork a repo", &["github__fork_repository", "gitlab__fork_repository"]),
    ("send a slack message", &["slack__slack_post_message"]),
    ("post to a channel", &["slack__slack_post_message"]),
    ("recent messages in a channel", &["slack__slack_get_channel_history"]),
    ("who is in the workspace", &["slack__slack_get_users"]),
    ("react with an emoji", &["slack__slack_add_reaction"]),
    ("search the web", &["brave__brave_web_search"]),
    ("restaurants nearby", &["brave__brave_local_search"]),
    ("address to coordinates", &["maps__maps_geocode"]),
    ("driving directions", &["maps__maps_directions"]),
    ("distance between cities", &["maps__maps_distance_matrix", "maps__maps_directions"]),
    ("take a screenshot", &["playwright__browser_take_screenshot"]),
    ("click a button on a page", &["playwright__browser_click"]),
    ("fill in a form", &["playwright__browser_fill_form"]),
    (
        "open a website in the browser",
        &["playwright__browser_navigate", "playwright__browser_tabs"],
    ),
    ("add two numbers", &["everything__get_sum"]),
    ("environment variables", &["everything__get_env"]),
    ("remember a fact about a person", &["memory__add_observations", "memory__create_entities"]),
    ("knowledge graph search", &["memory__search_nodes"]),
    ("think step by step", &["thinking__sequentialthinking"]),
    ("create a notion page", &["notion__API_post_page"]),
    ("append content to a block", &["notion__API_patch_block_children"]),
    // Spelling mistakes.
    ("screnshot", &["playwright__browser_take_screenshot"]),
    ("pull reqest reviews", &["github__get_pull_request_reviews"]),
    ("geocod", &["maps__maps_geocode", "maps__maps_reverse_geocode"]),
    ("curent time", &["time__get_current_time"]),
    // Names as code has them.
    ("listDirectory", &["files__list_directory"]),
    ("slack.post_message", &["slack__slack_post_message"]),
    ("github create_issue", &["github__create_issue"]),
];

fn published() -> Catalog {
    let servers: Value = serde_json::from_str(include_str!("../published/tools.json")).unwrap();
    let servers = servers.as_object().unwrap();
    Catalog::build(servers.iter().map(|(server, listed)| {
        let tools = listed["tools"].as_array().unwrap().iter().map(|tool| ToolDefinition {
            tool: ToolName::new(tool["name"].as_str().unwrap()),
            description: tool["description"].as_str().map(Into::into),
            input_schema: tool["inputSchema"].clone().into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        });
        (ServerName::new(server.as_str()), tools.collect())
    }))
}

#[test]
fn the_tool_that_is_meant_is_among_the_first() {
    let catalog = published();
    let mut missed = Vec::new();
    for (query, wanted) in QUERIES {
        let found = catalog.search_relevant(query, |_| true);
        let names: Vec<&str> =
            found.iter().map(|spec| spec.callable.as_str().trim_start_matches("mcp__")).collect();
        if !names.iter().take(TOP).any(|name| wanted.contains(name)) {
            let shown: Vec<_> = names.iter().take(TOP + 2).collect();
            missed.push(format!("{query}: {shown:?}"));
        }
    }
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), QUERIES.len(), missed.join("\n"));
}

#[test]
fn what_is_hardly_alike_is_left_out() {
    let catalog = published();
    let found = |query: &str| catalog.search_relevant(query, |_| true).len();
    assert_eq!(found(""), catalog.len());
    assert_eq!(found("xylophone"), 0);
    for query in ["take a screenshot", "send a slack message", "convert time zones"] {
        assert!(found(query) < 20, "{query}: {}", found(query));
    }
    let of_git = catalog.search_relevant("create a branch", |spec| spec.server.as_str() == "git");
    assert_eq!(of_git[0].callable.as_str(), "mcp__git__git_create_branch");
    assert!(of_git.iter().all(|spec| spec.server.as_str() == "git"));
}
