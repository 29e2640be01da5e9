//! Values that are not of the type a schema asks for, and that servers are known to read as such:
//! the text "3" as a number, JSON text as the list it holds, 1 as a boolean.

use serde_json::{Map, Value};

use super::known::{beginning, cut, shown, shown_list};
use super::place::Place;
use super::{accepted_kinds, entry};

/// What is done with a value that only a lenient server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It does not fit.
    Strict,
    /// It is passed on, with a note for the case that the server does not take it.
    Lenient,
}

const TRUE: [&str; 6] = ["1", "on", "t", "true", "y", "yes"];
const FALSE: [&str; 6] = ["0", "f", "false", "n", "no", "off"];
const NULL: [&str; 2] = ["none", "null"];

/// What a server may read a value as, besides what it is.
pub(super) fn readings(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => readings_of_text(text.trim()),
        Value::Bool(truth) => vec![Value::from(u8::from(*truth))],
        Value::Number(number) => match number.as_f64() {
            Some(0.0) => vec![Value::Bool(false)],
            Some(1.0) => vec![Value::Bool(true)],
            _ => Vec::new(),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

fn readings_of_text(text: &str) -> Vec<Value> {
    if text.starts_with(['[', '{']) {
        return serde_json::from_str(text).into_iter().collect();
    }
    let mut readings = Vec::new();
    readings.extend(number(text));
    let is_one_of = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(&TRUE) || is_one_of(&FALSE) {
        readings.push(Value::Bool(is_one_of(&TRUE)));
    }
    if is_one_of(&NULL) {
        readings.push(Value::Null);
    }
    readings
}

fn number(text: &str) -> Option<Value> {
    if let Ok(integer) = text.parse::<i64>() {
        return Some(Value::from(integer));
    }
    let number = text.parse().ok().and_then(serde_json::Number::from_f64)?;
    Some(Value::Number(number))
}

/// What is said of a value that was passed on, if the server did not take it.
pub(super) fn note(schema: &Map<String, Value>, value: &Value, place: Place<'_>) -> String {
    let sent = match value {
        Value::String(text) => format!("the string '{}'", cut(beginning(text))),
        other => shown(other),
    };
    let wanted = match accepted_kinds(schema) {
        Some(kinds) => kinds.join(" or "),
        None => match entry(schema, "enum").and_then(Value::as_array) {
            Some(choices) => shown_list(choices),
            None => "otherwise".to_owned(),
        },
    };
    let path = place.to_string();
    let path = path.strip_prefix('.').unwrap_or(&path);
    format!("'{path}' was sent as {sent}; the schema says {wanted}")
}
