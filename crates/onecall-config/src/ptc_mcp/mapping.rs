//! Reads a mapping of a ptc-mcp configuration: known keys are kept, null counts as absent, and
//! unknown keys cause a warning.

use std::collections::HashMap;

use crate::document::{Node, Value, duplicate_key_problem};
use crate::error::{Problem, Report};
use crate::reader;

/// The known keys of a mapping.
pub(super) struct KnownKeys<'k> {
    /// The name of the mapping in messages.
    pub(super) what: &'k str,
    pub(super) keys: &'k [&'k str],
    /// The consequence of ignoring an unknown key, for the end of a sentence.
    pub(super) consequence: &'k str,
}

/// The known entries of a mapping that are not null, in the order of the file.
pub(super) fn entries(
    node: Node,
    known: &KnownKeys<'_>,
    warnings: &mut Report,
    report: &mut Report,
) -> Vec<(Node, Node)> {
    let KnownKeys { what, keys, consequence } = known;
    let is_null = node.is_null();
    let pairs = match node.value {
        Value::Mapping(pairs) => pairs,
        _ if is_null => return Vec::new(),
        value => {
            let node = Node { at: node.at, value };
            let message = format!("{what} must be a mapping, not {}", node.describe());
            report.add(Problem::new(node.at, message));
            return Vec::new();
        }
    };
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut kept = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        let Some(text) = key.as_written() else {
            let message = format!("a key in {what} is {}, and is ignored", key.describe());
            warnings.add(Problem::new(key.at, message));
            continue;
        };
        if let Some(line) = lines.insert(text.to_owned(), key.at.line) {
            report.add(duplicate_key_problem(text, line, key.at));
        }
        if !keys.contains(&text) {
            let message = format!("unknown key '{text}' in {what} is ignored{consequence}");
            warnings.add(Problem::new(key.at, message).with_help(reader::suggest_key(text, keys)));
        } else if !value.is_null() {
            kept.push((key, value));
        }
    }
    kept
}
