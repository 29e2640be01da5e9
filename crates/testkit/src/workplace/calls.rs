//! Reads the arguments of calls and builds answers for the services.

use serde_json::{Value, json};

/// A value, or an error message for the caller.
pub(super) type CallResult = Result<Value, String>;

/// A required text argument.
pub(super) fn text<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, String> {
    arguments[name].as_str().ok_or_else(|| format!("argument '{name}' has to be a string"))
}

/// A number between 1 and `maximum`; `default` if none is given.
pub(super) fn number(arguments: &Value, name: &str, default: u64, maximum: u64) -> u64 {
    arguments[name].as_u64().unwrap_or(default).clamp(1, maximum)
}

/// The page of `items` that begins at the cursor, as `{name: […], "next_cursor": …}`.
pub(super) fn page(
    name: &str,
    items: impl ExactSizeIterator<Item = Value>,
    arguments: &Value,
    size: u64,
) -> CallResult {
    let start = match arguments["cursor"].as_str().map(str::parse) {
        None => 0,
        Some(Ok(start)) => start,
        Some(Err(_)) => return Err("the cursor is not one of ours".to_owned()),
    };
    let total = items.len();
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let found: Vec<Value> = items.skip(start).take(size).collect();
    let end = start + found.len();
    let next = if end < total { json!(end.to_string()) } else { Value::Null };
    Ok(json!({ name: found, "total": total, "next_cursor": next }))
}
