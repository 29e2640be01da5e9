//! Conversions that lenient servers are known to make for values of the wrong type: the text "3" to
//! a number, JSON text to the list it contains, 1 to a boolean.

use serde_json::{Map, Value};

use super::partial_value::{beginning, preview, preview_list, shorten};
use super::path::ValuePath;
use super::{accepted_types, entry};

/// How a value is handled that only a lenient server accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// The value is rejected.
    Strict,
    /// The value is sent, with a note in case the server rejects it.
    Lenient,
}

const TRUE: [&str; 6] = ["1", "on", "t", "true", "y", "yes"];
const FALSE: [&str; 6] = ["0", "f", "false", "n", "no", "off"];
const NULL: [&str; 2] = ["none", "null"];

/// The values that a server may convert a value to.
pub(super) fn conversions(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => conversions_of_text(text.trim()),
        Value::Bool(truth) => vec![Value::from(u8::from(*truth))],
        Value::Number(number) => match number.as_f64() {
            Some(0.0) => vec![Value::Bool(false)],
            Some(1.0) => vec![Value::Bool(true)],
            _ => Vec::new(),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

fn conversions_of_text(text: &str) -> Vec<Value> {
    if text.starts_with(['[', '{']) {
        return serde_json::from_str(text).into_iter().collect();
    }
    let mut conversions = Vec::new();
    conversions.extend(number(text));
    let is_one_of = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(&TRUE) || is_one_of(&FALSE) {
        conversions.push(Value::Bool(is_one_of(&TRUE)));
    }
    if is_one_of(&NULL) {
        conversions.push(Value::Null);
    }
    conversions
}

fn number(text: &str) -> Option<Value> {
    if let Ok(integer) = text.parse::<i64>() {
        return Some(Value::from(integer));
    }
    let number = text.parse().ok().and_then(serde_json::Number::from_f64)?;
    Some(Value::Number(number))
}

/// The note about a converted value, for the case that the server rejects it.
pub(super) fn note(schema: &Map<String, Value>, value: &Value, path: ValuePath<'_>) -> String {
    let sent = match value {
        Value::String(text) => format!("the string '{}'", shorten(beginning(text))),
        other => preview(other),
    };
    let wanted = match accepted_types(schema) {
        Some(kinds) => kinds.join(" or "),
        None => match entry(schema, "enum").and_then(Value::as_array) {
            Some(choices) => preview_list(choices),
            None => "otherwise".to_owned(),
        },
    };
    let path = path.to_string();
    let path = path.strip_prefix('.').unwrap_or(&path);
    format!("'{path}' was sent as {sent}; the schema says {wanted}")
}
