//! Inserts and removes entries in a text and leaves every other character unchanged: comments,
//! order, indentation, line breaks. The result is parsed again and compared with the intended
//! change before it is returned.

mod field;
mod json;
mod splice;
mod toml;
mod yaml;

pub use field::{Step, set_field};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::spot::{Format, Shape, Spot};

/// Why a text was not edited.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EditError {
    /// The text cannot be parsed.
    #[error("{line}:{column}: not valid {format}: {what}")]
    Syntax {
        /// The expected format.
        format: &'static str,
        /// The line, counted from one.
        line: usize,
        /// The column, counted from one.
        column: usize,
        /// The message of the parser.
        what: String,
    },
    /// A key on the path to the servers has a value of the wrong type.
    #[error("'{key}' must hold servers, not {found}")]
    NotServers {
        /// The key.
        key: String,
        /// The type of the value.
        found: &'static str,
    },
    /// An entry with this name already exists.
    #[error("there is already a server '{name}'")]
    Taken {
        /// The name of the entry.
        name: String,
    },
    /// No entry has this name.
    #[error("there is no server '{name}'")]
    Absent {
        /// The name of the entry.
        name: String,
    },
    /// The text is valid, but in a form that cannot be edited safely.
    #[error("it is written in a way that cannot be edited safely ({why}); edit it by hand")]
    Unusual {
        /// What is unusual about the text.
        why: String,
    },
}

/// The content of an entry to insert.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A new entry, with comment lines to put above it if the format has comments.
    Entry(Map<String, Value>, Vec<String>),
    /// The text that [`remove`] returned.
    Verbatim(String),
}

/// How the comments around a removed entry are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// The comments are removed with the entry, and restored with it.
    Take,
    /// The comments stay: another author wrote them around an entry of onecall.
    Leave,
}

/// What an insertion changed besides the entry itself, so that the removal can restore it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// How many of the keys existed before.
    pub known_keys: usize,
    /// The previous text of the parent of the entry, if it was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
    /// The text that was inserted between the previous text and the entry.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lead: String,
}

impl Trace {
    /// A trace without information: the parent of a removed entry stays, even if it becomes empty.
    #[must_use]
    pub fn none(spot: &Spot) -> Self {
        Self { known_keys: spot.keys.len(), ..Self::default() }
    }
}

/// Parses a text into a JSON value.
///
/// # Errors
/// If the text cannot be parsed.
pub fn read(text: &str, format: Format) -> Result<Value, EditError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match format {
        Format::Json => json::read(text),
        Format::Toml => toml::read(text),
        Format::Yaml => yaml::read(text),
    }
}

/// The entries at a spot with their names, in the order of the text.
#[must_use]
pub fn entries<'v>(document: &'v Value, spot: &Spot) -> Vec<(&'v str, &'v Value)> {
    let found = spot.keys.iter().try_fold(document, |value, key| value.get(key));
    match found {
        Some(Value::Object(entries)) => {
            entries.iter().map(|(name, entry)| (name.as_str(), entry)).collect()
        }
        Some(Value::Array(items)) => {
            items.iter().filter_map(|item| Some((item.get("name")?.as_str()?, item))).collect()
        }
        _ => Vec::new(),
    }
}

/// Inserts an entry into `text`.
///
/// # Errors
/// If the text cannot be parsed, has an entry with this name, or cannot be edited safely.
pub fn insert(
    text: &str,
    spot: &Spot,
    name: &str,
    content: &Content,
) -> Result<(String, Trace), EditError> {
    let before = read(text, spot.format)?;
    if entries(&before, spot).iter().any(|(known, _)| *known == name) {
        return Err(EditError::Taken { name: name.to_owned() });
    }
    check_way(&before, spot)?;
    let (mark, body) = split_mark(text);
    let (edited, trace) = match spot.format {
        Format::Json => json::insert(body, spot, name, content)?,
        Format::Toml => toml::insert(body, spot, name, content)?,
        Format::Yaml => yaml::insert(body, spot, name, content)?,
    };
    let after = read(&edited, spot.format).map_err(|_| unusual("the result is not valid"))?;
    let new = entries(&after, spot).into_iter().find(|(known, _)| *known == name);
    let Some((_, new)) = new else { return Err(unusual("the entry would not be found")) };
    if let Content::Entry(entry, _) = content
        && without_name(new, spot) != Value::Object(entry.clone())
    {
        return Err(unusual("the entry would read differently"));
    }
    if without(after.clone(), spot, name) != without(before, spot, name) {
        return Err(unusual("something else would change"));
    }
    Ok((format!("{mark}{edited}"), trace))
}

/// Removes an entry from `text`. Also returns the removed text, for [`Content::Verbatim`].
///
/// # Errors
/// If the text cannot be parsed, has no such entry, or cannot be edited safely.
pub fn remove(
    text: &str,
    spot: &Spot,
    name: &str,
    trace: &Trace,
    comments: Comments,
) -> Result<(String, String), EditError> {
    let before = read(text, spot.format)?;
    if !entries(&before, spot).iter().any(|(known, _)| *known == name) {
        return Err(EditError::Absent { name: name.to_owned() });
    }
    let (mark, body) = split_mark(text);
    let (edited, taken) = match spot.format {
        Format::Json => json::remove(body, spot, name, trace, comments)?,
        Format::Toml => toml::remove(body, spot, name, trace, comments)?,
        Format::Yaml => yaml::remove(body, spot, name, trace, comments)?,
    };
    let after = read(&edited, spot.format).map_err(|_| unusual("the result is not valid"))?;
    if entries(&after, spot).iter().any(|(known, _)| *known == name) {
        return Err(unusual("the entry would stay"));
    }
    if without(after, spot, name) != without(before, spot, name) {
        return Err(unusual("something else would change"));
    }
    Ok((format!("{mark}{edited}"), taken))
}

const BYTE_ORDER_MARK: char = '\u{feff}';

fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 })
}

fn unusual(why: &str) -> EditError {
    EditError::Unusual { why: why.to_owned() }
}

/// Checks that every key on the path leads to a mapping, and the last one to servers.
fn check_way(document: &Value, spot: &Spot) -> Result<(), EditError> {
    let mut value = document;
    for (index, key) in spot.keys.iter().enumerate() {
        let Value::Object(_) = value else {
            return Err(not_servers(spot.keys.get(index.wrapping_sub(1)), value));
        };
        match value.get(key) {
            Some(next) => value = next,
            None => return Ok(()),
        }
    }
    let fits = match (value, spot.shape) {
        (Value::Null, _) => spot.format == Format::Yaml,
        (Value::Object(_), Shape::Mapping) | (Value::Array(_), Shape::List) => true,
        _ => false,
    };
    if fits { Ok(()) } else { Err(not_servers(spot.keys.last(), value)) }
}

fn not_servers(key: Option<&String>, value: &Value) -> EditError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    };
    let key = key.map_or("the file", String::as_str);
    EditError::NotServers { key: key.to_owned(), found }
}

fn without_name(entry: &Value, spot: &Spot) -> Value {
    let mut entry = entry.clone();
    if let (Shape::List, Value::Object(map)) = (spot.shape, &mut entry) {
        map.shift_remove("name");
    }
    entry
}

/// The document without one entry; an empty parent counts as absent.
fn without(mut document: Value, spot: &Spot, name: &str) -> Value {
    without_at(&mut document, &spot.keys, name);
    document
}

fn without_at(value: &mut Value, keys: &[String], name: &str) {
    let Some((key, rest)) = keys.split_first() else {
        match value {
            Value::Object(entries) => _ = entries.shift_remove(name),
            Value::Array(items) => {
                items.retain(|item| item.get("name").and_then(Value::as_str) != Some(name));
            }
            _ => {}
        }
        return;
    };
    let Value::Object(map) = value else { return };
    let Some(inner) = map.get_mut(key) else { return };
    without_at(inner, rest, name);
    let is_empty = match inner {
        Value::Null => true,
        Value::Object(entries) => entries.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    if is_empty {
        map.shift_remove(key);
    }
}
