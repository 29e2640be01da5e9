//! Inserts and removes entries in a text and leaves every other character unchanged: comments,
//! order, indentation, line breaks. The result is parsed again and compared with the intended
//! change before it is returned.

mod field;
mod json;
mod splice;
mod toml;
mod yaml;

pub use field::{PathStep, set_field};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::section::{FileFormat, SectionShape, ServerSection};

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
    WrongType {
        /// The key.
        key: String,
        /// The type of the value.
        found: &'static str,
    },
    /// An entry with this name already exists.
    #[error("there is already a server '{name}'")]
    NameTaken {
        /// The name of the entry.
        name: String,
    },
    /// No entry has this name.
    #[error("there is no server '{name}'")]
    NotFound {
        /// The name of the entry.
        name: String,
    },
    /// The text is valid, but in a form that cannot be edited safely.
    #[error("it is written in a way that cannot be edited safely ({why}); edit it by hand")]
    NotEditable {
        /// What is unusual about the text.
        why: String,
    },
}

/// The content of an entry to insert.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryContent {
    /// A new entry, with comment lines to put above it if the format has comments.
    Entry(Map<String, Value>, Vec<String>),
    /// The text that [`remove`] returned.
    Verbatim(String),
}

/// How the comments around a removed entry are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentHandling {
    /// The comments are removed with the entry, and restored with it.
    Remove,
    /// The comments stay: another author wrote them around an entry of onecall.
    Keep,
}

/// What an insertion changed besides the entry itself, so that the removal can restore it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsertionTrace {
    /// How many of the keys existed before.
    pub known_keys: usize,
    /// The previous text of the parent of the entry, if it was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
    /// The text that was inserted between the previous text and the entry.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lead: String,
}

impl InsertionTrace {
    /// A trace without information: the parent of a removed entry stays, even if it becomes empty.
    #[must_use]
    pub fn none(section: &ServerSection) -> Self {
        Self { known_keys: section.keys.len(), ..Self::default() }
    }
}

/// Parses a text into a JSON value.
///
/// # Errors
/// If the text cannot be parsed.
pub fn read(text: &str, format: FileFormat) -> Result<Value, EditError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match format {
        FileFormat::Json => json::read(text),
        FileFormat::Toml => toml::read(text),
        FileFormat::Yaml => yaml::read(text),
    }
}

/// The entries in a section with their names, in the order of the text.
#[must_use]
pub fn entries<'v>(document: &'v Value, section: &ServerSection) -> Vec<(&'v str, &'v Value)> {
    let found = section.keys.iter().try_fold(document, |value, key| value.get(key));
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
    section: &ServerSection,
    name: &str,
    content: &EntryContent,
) -> Result<(String, InsertionTrace), EditError> {
    let before = read(text, section.format)?;
    if entries(&before, section).iter().any(|(known, _)| *known == name) {
        return Err(EditError::NameTaken { name: name.to_owned() });
    }
    check_key_path(&before, section)?;
    let (mark, body) = split_byte_order_mark(text);
    let (edited, trace) = match section.format {
        FileFormat::Json => json::insert(body, section, name, content)?,
        FileFormat::Toml => toml::insert(body, section, name, content)?,
        FileFormat::Yaml => yaml::insert(body, section, name, content)?,
    };
    let after =
        read(&edited, section.format).map_err(|_| not_editable("the result is not valid"))?;
    let new = entries(&after, section).into_iter().find(|(known, _)| *known == name);
    let Some((_, new)) = new else { return Err(not_editable("the entry would not be found")) };
    if let EntryContent::Entry(entry, _) = content
        && without_name(new, section) != Value::Object(entry.clone())
    {
        return Err(not_editable("the entry would read differently"));
    }
    if without_entry(after.clone(), section, name) != without_entry(before, section, name) {
        return Err(not_editable("something else would change"));
    }
    Ok((format!("{mark}{edited}"), trace))
}

/// Removes an entry from `text`. Also returns the removed text, for [`EntryContent::Verbatim`].
///
/// # Errors
/// If the text cannot be parsed, has no such entry, or cannot be edited safely.
pub fn remove(
    text: &str,
    section: &ServerSection,
    name: &str,
    trace: &InsertionTrace,
    comments: CommentHandling,
) -> Result<(String, String), EditError> {
    let before = read(text, section.format)?;
    if !entries(&before, section).iter().any(|(known, _)| *known == name) {
        return Err(EditError::NotFound { name: name.to_owned() });
    }
    let (mark, body) = split_byte_order_mark(text);
    let (edited, removed) = match section.format {
        FileFormat::Json => json::remove(body, section, name, trace, comments)?,
        FileFormat::Toml => toml::remove(body, section, name, trace, comments)?,
        FileFormat::Yaml => yaml::remove(body, section, name, trace, comments)?,
    };
    let after =
        read(&edited, section.format).map_err(|_| not_editable("the result is not valid"))?;
    if entries(&after, section).iter().any(|(known, _)| *known == name) {
        return Err(not_editable("the entry would stay"));
    }
    if without_entry(after, section, name) != without_entry(before, section, name) {
        return Err(not_editable("something else would change"));
    }
    Ok((format!("{mark}{edited}"), removed))
}

const BYTE_ORDER_MARK: char = '\u{feff}';

fn split_byte_order_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 })
}

fn not_editable(why: &str) -> EditError {
    EditError::NotEditable { why: why.to_owned() }
}

/// Checks that every key on the path leads to a mapping, and the last one to servers.
fn check_key_path(document: &Value, section: &ServerSection) -> Result<(), EditError> {
    let mut value = document;
    for (index, key) in section.keys.iter().enumerate() {
        let Value::Object(_) = value else {
            return Err(wrong_type(section.keys.get(index.wrapping_sub(1)), value));
        };
        match value.get(key) {
            Some(next) => value = next,
            None => return Ok(()),
        }
    }
    let fits = match (value, section.shape) {
        (Value::Null, _) => section.format == FileFormat::Yaml,
        (Value::Object(_), SectionShape::Mapping) | (Value::Array(_), SectionShape::List) => true,
        _ => false,
    };
    if fits { Ok(()) } else { Err(wrong_type(section.keys.last(), value)) }
}

fn wrong_type(key: Option<&String>, value: &Value) -> EditError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    };
    let key = key.map_or("the file", String::as_str);
    EditError::WrongType { key: key.to_owned(), found }
}

fn without_name(entry: &Value, section: &ServerSection) -> Value {
    let mut entry = entry.clone();
    if let (SectionShape::List, Value::Object(map)) = (section.shape, &mut entry) {
        map.shift_remove("name");
    }
    entry
}

/// The document without one entry; an empty parent counts as absent.
fn without_entry(mut document: Value, section: &ServerSection, name: &str) -> Value {
    remove_entry_at(&mut document, &section.keys, name);
    document
}

fn remove_entry_at(value: &mut Value, keys: &[String], name: &str) {
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
    remove_entry_at(inner, rest, name);
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
