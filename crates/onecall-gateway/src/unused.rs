//! Finds entries in the lists of allowed and blocked tools that match no tool. A misspelled entry
//! in a list of blocked tools blocks nothing, and there is no other sign of it.

use onecall_bridge::{ServerState, ServerStatus};
use onecall_catalog::{Catalog, is_meant, name_prefix};
use onecall_core::{ToolPattern, ToolPolicy, ToolSpec};

/// One line for each entry of `policy` that matches no tool of these servers, whose tools are in
/// `catalog`. There are no lines while a server is not connected, since its tools are not known.
#[must_use]
pub fn unused_entries(
    policy: &ToolPolicy,
    catalog: &Catalog,
    servers: &[ServerStatus],
) -> Vec<String> {
    let (list, patterns, consequence) = match policy {
        ToolPolicy::AllowAll => return Vec::new(),
        ToolPolicy::Allow(patterns) => ("allow", patterns, "allows nothing"),
        ToolPolicy::Block(patterns) => ("block", patterns, "blocks nothing"),
    };
    let is_there = |server: &ServerStatus| {
        matches!(server.state, ServerState::Ready { .. } | ServerState::Local { .. })
    };
    if !servers.iter().all(is_there) {
        return Vec::new();
    }
    let means = |pattern: &ToolPattern, spec: &ToolSpec| match policy {
        // The list of allowed tools is matched against callable names only.
        ToolPolicy::Allow(_) => pattern.matches(spec.callable.as_str()),
        ToolPolicy::Block(_) | ToolPolicy::AllowAll => is_meant(pattern, spec),
    };
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
        format!("'{}' of '{list}' in tools {consequence}: no tool is called so", pattern.as_str())
    };
    patterns.iter().filter(is_unused).map(line).collect()
}
