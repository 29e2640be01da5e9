//! Finds entries in the lists of allowed tools, blocked tools and tools that need an approval that
//! match no tool. A misspelled entry in a list of blocked tools blocks nothing, and there is no other
//! sign of it.

use onecall_bridge::{ServerState, ServerStatus};
use onecall_catalog::{Catalog, matches_any_name, name_prefix};
use onecall_core::{ToolPattern, ToolPolicy, ToolSpec};

/// One line for each entry of `policy` and of `ask`, the tools that need an approval, that matches no
/// tool of these servers, whose tools are in `catalog`. There are no lines while a server is not
/// connected, since its tools are not known.
#[must_use]
pub fn unused_entries(
    policy: &ToolPolicy,
    ask: &[ToolPattern],
    catalog: &Catalog,
    servers: &[ServerStatus],
) -> Vec<String> {
    let is_connected = |server: &ServerStatus| {
        matches!(server.state, ServerState::Ready { .. } | ServerState::Local { .. })
    };
    if !servers.iter().all(is_connected) {
        return Vec::new();
    }
    // The list of allowed tools is matched against callable names only.
    let by_callable_name =
        |pattern: &ToolPattern, spec: &ToolSpec| pattern.matches(spec.callable.as_str());
    let mut lines = match policy {
        ToolPolicy::AllowAll => Vec::new(),
        ToolPolicy::Allow(patterns) => {
            let line = "of 'allow' in tools allows nothing";
            unused(patterns, line, by_callable_name, catalog, servers)
        }
        ToolPolicy::Block(patterns) => {
            let line = "of 'block' in tools blocks nothing";
            unused(patterns, line, matches_any_name, catalog, servers)
        }
    };
    let line = "of 'ask' in approvals asks for nothing";
    lines.extend(unused(ask, line, matches_any_name, catalog, servers));
    lines
}

fn unused(
    patterns: &[ToolPattern],
    consequence: &str,
    means: impl Fn(&ToolPattern, &ToolSpec) -> bool,
    catalog: &Catalog,
    servers: &[ServerStatus],
) -> Vec<String> {
    let is_unused = |pattern: &&ToolPattern| {
        let means_tool = catalog.tools().any(|spec| means(pattern, spec));
        let means_other = servers.iter().any(|server| {
            let prefix = name_prefix(&server.name);
            pattern.matches(&format!("{prefix}resources"))
                || pattern.matches(&format!("{prefix}prompts"))
                || server.quarantined.iter().any(|tool| means(pattern, &tool.spec))
        });
        !means_tool && !means_other
    };
    let line = |pattern: &ToolPattern| {
        format!("'{}' {consequence}: no tool has a name like that", pattern.as_str())
    };
    patterns.iter().filter(is_unused).map(line).collect()
}
