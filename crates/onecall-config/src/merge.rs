//! Merge keys of YAML: `<<: *name` adds the entries of another mapping to a mapping, except for
//! keys that the mapping has itself.

use std::collections::HashSet;

use crate::document::{Node, Value};
use crate::error::Problem;

const MERGE_KEY: &str = "<<";

/// Replaces the merge keys in a tree by the entries they stand for.
pub(crate) fn resolve(node: Node) -> Result<Node, Problem> {
    let value = match node.value {
        Value::Scalar(scalar) => Value::Scalar(scalar),
        Value::List(items) => {
            Value::List(items.into_iter().map(resolve).collect::<Result<_, _>>()?)
        }
        Value::Mapping(pairs) => Value::Mapping(resolve_mapping(pairs)?),
    };
    Ok(Node { at: node.at, value })
}

/// The own entries of a mapping come first, then those of the mappings that it merges, in their
/// order; each key is used once.
fn resolve_mapping(pairs: Vec<(Node, Node)>) -> Result<Vec<(Node, Node)>, Problem> {
    let mut resolved = Vec::with_capacity(pairs.len());
    let mut merged = Vec::new();
    for (key, value) in pairs {
        let value = resolve(value)?;
        if key.as_written() == Some(MERGE_KEY) {
            merged.extend(entries(value)?);
        } else {
            resolved.push((key, value));
        }
    }
    let mut known: HashSet<String> =
        resolved.iter().filter_map(|(key, _)| key.as_written().map(str::to_owned)).collect();
    let is_new =
        |(key, _): &(Node, Node)| key.as_written().is_none_or(|key| known.insert(key.to_owned()));
    resolved.extend(merged.into_iter().filter(is_new));
    Ok(resolved)
}

/// The entries that a merge key stands for: those of a mapping, or of several in a list.
fn entries(value: Node) -> Result<Vec<(Node, Node)>, Problem> {
    let at = value.at;
    let wrong = || {
        Problem::new(at, "a merge key (<<) must name a mapping, or a list of mappings")
            .with_help("as in `<<: *defaults`")
    };
    match value.value {
        Value::Mapping(pairs) => Ok(pairs),
        Value::List(items) => {
            let mut pairs = Vec::new();
            for item in items {
                let Value::Mapping(more) = item.value else { return Err(wrong()) };
                pairs.extend(more);
            }
            Ok(pairs)
        }
        Value::Scalar(_) => Err(wrong()),
    }
}
