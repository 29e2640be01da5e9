//! Completion of tool names, arguments and commands in the REPL.

use std::collections::BTreeMap;
use std::sync::Arc;

use onecall_core::ToolSpec;

/// Commands of the REPL itself.
pub(super) const COMMANDS: [&str; 5] = [":help", ":quit", ":reset", ":show ", ":tools "];

/// The most candidates that are offered.
const MAX_CANDIDATES: usize = 200;

/// The words that can be completed.
#[derive(Default)]
pub(super) struct Completions {
    tools: BTreeMap<String, Arc<ToolSpec>>,
}

impl Completions {
    pub(super) fn new(tools: Vec<Arc<ToolSpec>>) -> Self {
        Self { tools: tools.into_iter().map(|spec| (spec.callable.to_string(), spec)).collect() }
    }

    /// The position where the last word of `before` begins, and its completions.
    pub(super) fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        if before.starts_with(':') && !before.contains(' ') {
            let commands = COMMANDS.iter().filter(|command| command.starts_with(before));
            return (0, commands.map(|&command| command.to_owned()).collect());
        }
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let word = before.trim_end_matches(is_word).len();
        let prefix = before.get(word..).unwrap_or_default();
        let names = self.tools.range(prefix.to_owned()..);
        let names = names.take_while(|(name, _)| name.starts_with(prefix));
        let is_command = before.starts_with(':');
        let mut found: Vec<String> = match prefix {
            "" => Vec::new(),
            _ if is_command => names.map(|(name, _)| name.clone()).collect(),
            _ => names.map(|(name, _)| format!("{name}(")).collect(),
        };
        if let Some(spec) = self.called(before.get(..word).unwrap_or_default()) {
            let parameters = spec.parameters().into_iter().filter(|name| name.starts_with(prefix));
            found.splice(0..0, parameters.map(|name| format!("{name}=")));
        }
        found.truncate(MAX_CANDIDATES);
        (word, found)
    }

    /// The tool whose call is open at the end of `before`.
    fn called(&self, before: &str) -> Option<&Arc<ToolSpec>> {
        let mut closed = 0_usize;
        let mut begins_argument = false;
        for (at, character) in before.char_indices().rev() {
            match character {
                ')' | ']' | '}' => closed += 1,
                '(' | '[' | '{' if closed > 0 => closed -= 1,
                '(' => {
                    let callee = before.get(..at)?;
                    let is_word = |character: char| character.is_alphanumeric() || character == '_';
                    return self.tools.get(callee.get(callee.trim_end_matches(is_word).len()..)?);
                }
                '[' | '{' => return None,
                ',' if closed == 0 => begins_argument = true,
                // The end is inside a value, not a name of an argument.
                '=' if closed == 0 && !begins_argument => return None,
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName};
    use serde_json::json;

    use super::*;

    fn completions() -> Completions {
        let tool = |name: &str| {
            Arc::new(ToolSpec {
                callable: CallableName::new(name),
                server: ServerName::new("a"),
                tool: ToolName::new(name),
                description: None,
                input_schema: json!({ "properties": { "region": {}, "limit": {} } }).into(),
                output_schema: None,
                annotations: ToolAnnotations::default(),
            })
        };
        Completions::new(vec![tool("mcp__a__get"), tool("mcp__a__list"), tool("mcp__b__get")])
    }

    #[test]
    fn tools_arguments_and_commands() {
        let rows: [(&str, usize, &[&str]); 9] = [
            ("x = await mcp__a__", 10, &["mcp__a__get(", "mcp__a__list("]),
            ("await mcp__b__get(re", 18, &["region="]),
            ("await mcp__b__get(region='EU', ", 31, &["region=", "limit="]),
            ("await mcp__b__get(f(1), [2], l", 29, &["limit="]),
            ("await mcp__b__get(region=mcp__b", 25, &["mcp__b__get("]),
            ("print(re", 6, &[]),
            (":t", 0, &[":tools "]),
            (":show mcp__b", 6, &["mcp__b__get"]),
            ("", 0, &[]),
        ];
        for (before, start, expected) in rows {
            let expected: Vec<String> = expected.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(completions().candidates(before), (start, expected), "{before}");
        }
    }
}
