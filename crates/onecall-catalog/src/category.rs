//! Derives the category of a tool from its annotations and its name.

use onecall_core::{ToolCategory, ToolSpec};

/// Verbs of tools that check, read, and change something.
const VALIDATION: &[&str] =
    &["validate", "check", "verify", "lint", "test", "assert", "audit", "diagnose", "preview"];
const QUERY: &[&str] = &[
    "get",
    "list",
    "read",
    "search",
    "find",
    "query",
    "fetch",
    "describe",
    "show",
    "count",
    "lookup",
    "look",
    "view",
    "select",
    "browse",
    "retrieve",
    "load",
    "download",
    "inspect",
    "status",
    "diff",
    "log",
    "top",
    "summarize",
    "analyze",
    "compare",
    "explain",
    "head",
    "tail",
    "exists",
    "snapshot",
    "directory",
    "resolve",
    "convert",
];
const MUTATION: &[&str] = &[
    "create",
    "add",
    "update",
    "delete",
    "remove",
    "write",
    "set",
    "put",
    "post",
    "patch",
    "send",
    "edit",
    "move",
    "rename",
    "insert",
    "append",
    "upload",
    "push",
    "commit",
    "merge",
    "fork",
    "close",
    "open",
    "start",
    "stop",
    "run",
    "exec",
    "execute",
    "apply",
    "install",
    "uninstall",
    "scale",
    "reset",
    "checkout",
    "reply",
    "assign",
    "enable",
    "disable",
    "cancel",
    "approve",
    "save",
    "store",
    "publish",
    "drop",
    "click",
    "type",
    "fill",
    "drag",
    "press",
    "navigate",
    "upsert",
    "replace",
    "clear",
    "archive",
    "restore",
    "toggle",
    "submit",
];

/// The category of a tool. A verb for checking has priority, then the server's annotations, then
/// any other verb.
#[must_use]
pub fn category_of(spec: &ToolSpec) -> ToolCategory {
    let name = crate::casing::snake_case(spec.tool.as_str());
    let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    let first = words.iter().copied().find_map(category_of_verb);
    let hints = &spec.annotations;
    match (first, hints.read_only_hint, hints.destructive_hint) {
        (Some(ToolCategory::Validation), ..) if hints.destructive_hint != Some(true) => {
            ToolCategory::Validation
        }
        (_, Some(true), _) => ToolCategory::Query,
        (_, Some(false), Some(true)) => ToolCategory::Mutation,
        (Some(category), ..) => category,
        (None, Some(false), _) => ToolCategory::Mutation,
        (None, ..) => ToolCategory::Other,
    }
}

/// The category of a verb. The first verb of a name is used, because servers put their own name or
/// a noun before it.
fn category_of_verb(word: &str) -> Option<ToolCategory> {
    let verbs = [
        (VALIDATION, ToolCategory::Validation),
        (QUERY, ToolCategory::Query),
        (MUTATION, ToolCategory::Mutation),
    ];
    verbs.into_iter().find(|(words, _)| words.contains(&word)).map(|(_, category)| category)
}

#[cfg(test)]
mod tests {
    use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName};
    use serde_json::Value;

    use super::*;

    #[test]
    fn annotations_and_names_tell() {
        let (yes, no) = (Some(true), Some(false));
        for (name, read_only, destructive, expected) in [
            ("list_orders", None, None, ToolCategory::Query),
            ("getUserById", None, None, ToolCategory::Query),
            ("git_commit", None, None, ToolCategory::Mutation),
            ("validate-config", None, None, ToolCategory::Validation),
            ("check_links", yes, None, ToolCategory::Validation),
            ("forecast", yes, None, ToolCategory::Query),
            ("get_and_burn", no, yes, ToolCategory::Mutation),
            ("get_next_id", no, None, ToolCategory::Query),
            ("ledger", no, None, ToolCategory::Mutation),
            ("echo", None, None, ToolCategory::Other),
            ("", None, None, ToolCategory::Other),
        ] {
            let spec = ToolSpec {
                callable: CallableName::new("it"),
                server: ServerName::new("s"),
                tool: ToolName::new(name),
                description: None,
                input_schema: Value::Null.into(),
                output_schema: None,
                annotations: ToolAnnotations {
                    read_only_hint: read_only,
                    destructive_hint: destructive,
                    ..ToolAnnotations::default()
                },
            };
            assert_eq!(category_of(&spec), expected, "{name}");
        }
    }
}
