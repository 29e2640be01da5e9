//! Distinguishes ptc-mcp configurations from those of onecall by their keys: a file with a key that
//! only onecall has is parsed strictly as a onecall configuration.

use super::SECTIONS;
use crate::document::{Node, Value};
use crate::schema::CONFIGURATION;

/// The keys of a server's entry that only onecall has.
const ONECALL_SERVER_KEYS: [&str; 5] =
    ["lazy", "pin", "oauth", "connect_timeout_seconds", "call_timeout_seconds"];

/// The keys of `execution` that only onecall has.
const ONECALL_EXECUTION_KEYS: [&str; 4] =
    ["memory_mb", "max_parallel_calls", "max_programs", "max_total_memory_mb"];

/// Whether a document has the form of ptc-mcp and no key that only onecall has.
pub(crate) fn is_ptc_mcp(document: &Node) -> bool {
    if document.is_null() {
        return true;
    }
    let is_onecall_key =
        |key: &str| !SECTIONS.contains(&key) && CONFIGURATION.iter().any(|known| known.name == key);
    let has_form = SECTIONS.iter().any(|section| get(document, section).is_some());
    let servers = match get(document, "servers").map(|node| (&node.value, node.is_null())) {
        Some((Value::List(items), _)) => items.as_slice(),
        None | Some((_, true)) => &[],
        // Only onecall accepts a mapping by name.
        Some(_) => return false,
    };
    let mut entries = servers.iter().flat_map(keys);
    let mut execution = get(document, "execution").into_iter().flat_map(keys);
    has_form
        && !keys(document).any(is_onecall_key)
        && !entries.any(|key| ONECALL_SERVER_KEYS.contains(&key))
        && !execution.any(|key| ONECALL_EXECUTION_KEYS.contains(&key))
}

fn pairs(node: &Node) -> &[(Node, Node)] {
    match &node.value {
        Value::Mapping(pairs) => pairs,
        _ => &[],
    }
}

fn keys(node: &Node) -> impl Iterator<Item = &str> {
    pairs(node).iter().filter_map(|(key, _)| key.as_written())
}

fn get<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    pairs(node).iter().find(|(name, _)| name.as_written() == Some(key)).map(|(_, value)| value)
}
