//! Decides how the cache treats the calls of a tool: which answers are cached, and which calls
//! invalidate others.

use std::time::Duration;

use onecall_catalog::matches_any_name;
use onecall_core::{CacheSettings, ToolPattern, ToolSpec};

use crate::layers::resource_functions::is_resource_function;

/// Verbs in tool names that indicate a change.
const CHANGING_VERBS: [&str; 62] = [
    "accept", "add", "append", "approve", "archive", "assign", "book", "buy", "cancel", "change",
    "clear", "close", "commit", "copy", "create", "delete", "deploy", "destroy", "disable", "drop",
    "edit", "enable", "execute", "import", "insert", "invite", "kill", "lock", "make", "mark",
    "merge", "modify", "move", "new", "order", "patch", "pay", "post", "publish", "push", "put",
    "register", "reject", "remove", "rename", "replace", "reply", "reset", "restart", "restore",
    "run", "save", "send", "set", "start", "stop", "submit", "trigger", "unlock", "update",
    "upload", "write",
];

/// Verbs in tool names that indicate reading. A word after them is their object, as in `get_order`.
const READING_VERBS: [&str; 18] = [
    "check",
    "compare",
    "count",
    "describe",
    "fetch",
    "find",
    "get",
    "has",
    "inspect",
    "is",
    "list",
    "lookup",
    "query",
    "read",
    "search",
    "show",
    "summarize",
    "view",
];

/// How the cache treats the calls of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CachePolicy {
    /// Answers are cached for this long.
    Keep(Duration),
    /// The calls change nothing, but their answers are not cached.
    Bypass,
    /// The calls may change what other tools of the server answer.
    Invalidate,
}

impl CachePolicy {
    /// Decides by the configuration, the annotations of the server and the tool's name.
    pub(super) fn of(spec: &ToolSpec, config: &CacheSettings) -> Self {
        // A resource belongs to a server that the definition of the function does not name, so that calls of
        // the server's tools would not invalidate it.
        if is_resource_function(spec) {
            return Self::Bypass;
        }
        let hints = &spec.annotations;
        let name = spec.callable.as_str();
        let is_destructive = hints.destructive_hint == Some(true);
        let is_read_only = hints.read_only_hint == Some(true) && !is_destructive;
        let is_excluded = config.exclude.iter().any(|pattern| matches_any_name(pattern, spec));
        // A tool that is included by its full name was chosen on purpose; a pattern may match more
        // tools than its author had in mind.
        let is_named = config.include.iter().any(|pattern| pattern.as_str() == name);
        let is_matched = config.include.iter().any(|pattern| pattern.matches(name))
            && hints.read_only_hint != Some(false)
            && !indicates_change(spec.tool.as_str());
        let is_safe = is_read_only || !is_destructive && (is_named || is_matched);
        match (is_safe, is_excluded) {
            (true, false) => Self::Keep(ttl(name, config)),
            (true, true) => Self::Bypass,
            (false, _) => Self::Invalidate,
        }
    }
}

fn ttl(name: &str, config: &CacheSettings) -> Duration {
    let fits = |(pattern, _): &&(ToolPattern, Duration)| pattern.matches(name);
    config.ttls.iter().find(fits).map_or(config.ttl, |(_, ttl)| *ttl)
}

/// Whether the first verb of a tool's name indicates a change: `create_user`, `deleteUser`,
/// `user-update`, `API-patch-page`.
fn indicates_change(tool: &str) -> bool {
    let words = words(tool);
    let mut words = words.iter().map(String::as_str);
    let verb = words.find(|word| CHANGING_VERBS.contains(word) || READING_VERBS.contains(word));
    verb.is_some_and(|verb| CHANGING_VERBS.contains(&verb))
}

/// The words of a name in lower case: split at every character that is neither letter nor digit,
/// and before an upper-case letter that follows a lower-case one.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for character in name.chars() {
        let begins = after_small && character.is_uppercase();
        if begins || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        after_small = character.is_lowercase() || character.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName};
    use serde_json::json;

    use super::*;

    const TTL: Duration = Duration::from_secs(300);

    fn pattern(text: &str) -> ToolPattern {
        ToolPattern::parse(text).unwrap()
    }

    fn policy(
        tool: &str,
        (read_only_hint, destructive_hint): (Option<bool>, Option<bool>),
        include: &[&str],
        exclude: &[&str],
    ) -> CachePolicy {
        let spec = ToolSpec {
            callable: CallableName::new(format!("mcp__s__{}", tool.replace('-', "_"))),
            server: ServerName::new("s"),
            tool: ToolName::new(tool),
            description: None,
            input_schema: json!({}).into(),
            output_schema: None,
            annotations: ToolAnnotations {
                read_only_hint,
                destructive_hint,
                ..ToolAnnotations::default()
            },
        };
        let patterns = |texts: &[&str]| texts.iter().map(|text| pattern(text)).collect();
        let (include, exclude) = (patterns(include), patterns(exclude));
        let ttls = vec![(pattern("*_brief"), Duration::from_secs(1))];
        let config = CacheSettings { include, exclude, ttls, ..CacheSettings::default() };
        CachePolicy::of(&spec, &config)
    }

    #[test]
    fn the_hints_of_a_server_decide() {
        let of = |hints| policy("get", hints, &[], &[]);
        assert_eq!(of((Some(true), None)), CachePolicy::Keep(TTL));
        assert_eq!(of((Some(true), Some(false))), CachePolicy::Keep(TTL));
        for hints in
            [(None, None), (Some(false), None), (Some(true), Some(true)), (None, Some(false))]
        {
            assert_eq!(of(hints), CachePolicy::Invalidate, "{hints:?}");
        }
    }

    #[test]
    fn a_pattern_never_catches_what_changes_something() {
        let of = |tool, hints| policy(tool, hints, &["*"], &[]);
        for tool in [
            "get_user",
            "listOrders",
            "query",
            "settings",
            "address",
            "additive",
            "newsfeed",
            "get_order",
            "searchPosts",
            "API-get-post",
            "find_new_users",
        ] {
            assert_eq!(of(tool, (None, None)), CachePolicy::Keep(TTL), "{tool}");
        }
        let changing = [
            "create_user",
            "deleteUser",
            "update-page",
            "Send",
            "post_message",
            "API-patch-page",
            "user_update",
            "setValue",
            "HTTP_PUT",
            "execute",
        ];
        for tool in changing {
            assert_eq!(of(tool, (None, None)), CachePolicy::Invalidate, "{tool}");
        }
        for hints in [(Some(false), None), (None, Some(true))] {
            assert_eq!(of("get_user", hints), CachePolicy::Invalidate, "{hints:?}");
        }
    }

    #[test]
    fn a_name_written_out_is_meant() {
        let of = |hints| policy("create_report", hints, &["mcp__s__create_report"], &[]);
        assert_eq!(of((None, None)), CachePolicy::Keep(TTL));
        assert_eq!(of((Some(false), None)), CachePolicy::Keep(TTL));
        assert_eq!(of((None, Some(true))), CachePolicy::Invalidate);
    }

    #[test]
    fn what_is_excluded_is_never_kept() {
        let of = |hints| policy("get", hints, &["mcp__s__get", "*"], &["mcp__s__g*"]);
        // To have been included says that it changes nothing.
        for hints in [(Some(true), None), (None, None)] {
            assert_eq!(of(hints), CachePolicy::Bypass, "{hints:?}");
        }
        assert_eq!(policy("get", (None, None), &[], &["*"]), CachePolicy::Invalidate);
    }

    #[test]
    fn tools_may_have_times_of_their_own() {
        let brief = policy("get_brief", (Some(true), None), &[], &[]);
        assert_eq!(brief, CachePolicy::Keep(Duration::from_secs(1)));
    }
}
