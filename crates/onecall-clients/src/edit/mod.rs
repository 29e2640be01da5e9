//! Puts an entry into a text and takes one out, and leaves every other character as it
//! was: comments, order, indentation, line ends. What comes out is read again and
//! compared with what was meant before anybody gets it.

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
    /// It cannot be read.
    #[error("{line}:{column}: not valid {format}: {what}")]
    Syntax {
        /// What it should be written in.
        format: &'static str,
        /// Counted from one.
        line: usize,
        /// Counted from one.
        column: usize,
        /// What the parser says.
        what: String,
    },
    /// A key on the way to the servers has a value that can have none.
    #[error("'{key}' must hold servers, not {found}")]
    NotServers {
        /// The key.
        key: String,
        /// What is there.
        found: &'static str,
    },
    /// There is such an entry already.
    #[error("there is already a server '{name}'")]
    Taken {
        /// Its name.
        name: String,
    },
    /// There is no such entry.
    #[error("there is no server '{name}'")]
    Absent {
        /// Its name.
        name: String,
    },
    /// It is valid, but written in a way that is not understood well enough to edit.
    #[error("it is written in a way that cannot be edited safely ({why}); edit it by hand")]
    Unusual {
        /// What is unusual.
        why: String,
    },
}

/// What an entry is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A new entry, with lines to be put above it as comments where the format has some.
    Entry(Map<String, Value>, Vec<String>),
    /// What [`remove`] took out.
    Verbatim(String),
}

/// What happens to the comments around an entry that is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// They go with the entry, and come back with it.
    Take,
    /// They stay: another author wrote them around an entry of ours.
    Leave,
}

/// What an insertion changed beside the entry itself, so that its removal can put that
/// back as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// How many of the keys were there before.
    pub known_keys: usize,
    /// How what should hold the entry was written, if it was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
    /// What was put between the text before and the entry.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lead: String,
}

impl Trace {
    /// Nothing is known: what held an entry stays, even if nothing is left in it.
    #[must_use]
    pub fn none(spot: &Spot) -> Self {
        Self { known_keys: spot.keys.len(), ..Self::default() }
    }
}

/// Everything that a text says, as JSON.
///
/// # Errors
/// If it cannot be read.
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

/// The entries at a spot, with their names, in the order of the text.
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

/// `text` with an entry more.
///
/// # Errors
/// If it cannot be read, has such an entry, or cannot be edited safely.
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

/// `text` without an entry, and what was taken out, for [`Content::Verbatim`].
///
/// # Errors
/// If it cannot be read, has no such entry, or cannot be edited safely.
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

/// Every key on the way must lead to a mapping, and the last to servers.
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

/// The document without one entry; an empty way to servers counts as none.
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
