//! Values that are partly known before a call is made.

use std::fmt::Write as _;
use std::io;

use onecall_core::text::{visible_json, visible_line};
use serde_json::Value;

/// The longest value or list of choices that is shown, in characters.
const MAX_PREVIEW: usize = 120;

/// What is known of a value before a call is made.
#[derive(Clone, Debug, PartialEq)]
pub enum PartialValue {
    /// The complete value is known.
    Value(Value),
    /// Nothing is known, because the value is computed later.
    Unknown,
    /// A list whose items may be partly known.
    Items(Vec<PartialValue>),
    /// An object whose entries may be partly known.
    Entries(Vec<(String, PartialValue)>),
}

/// A reference to a part of a value.
#[derive(Clone, Copy)]
pub(super) enum ValueRef<'v> {
    Partial(&'v PartialValue),
    Complete(&'v Value),
}

impl<'v> ValueRef<'v> {
    /// The complete value, if it is known.
    pub(super) fn value(self) -> Option<&'v Value> {
        match self {
            Self::Complete(value) | Self::Partial(PartialValue::Value(value)) => Some(value),
            Self::Partial(_) => None,
        }
    }

    pub(super) fn is_unknown(self) -> bool {
        matches!(self, Self::Partial(PartialValue::Unknown))
    }

    /// The entries by name, if it is an object.
    pub(super) fn entries(self) -> Option<Vec<(&'v str, ValueRef<'v>)>> {
        match (self, self.value()) {
            (_, Some(Value::Object(entries))) => Some(
                entries
                    .iter()
                    .map(|(key, value)| (key.as_str(), ValueRef::Complete(value)))
                    .collect(),
            ),
            (Self::Partial(PartialValue::Entries(entries)), _) => Some(
                entries.iter().map(|(key, it)| (key.as_str(), ValueRef::Partial(it))).collect(),
            ),
            _ => None,
        }
    }

    /// The items in order, if it is a list.
    pub(super) fn items(self) -> Option<Vec<ValueRef<'v>>> {
        match (self, self.value()) {
            (_, Some(Value::Array(items))) => Some(items.iter().map(ValueRef::Complete).collect()),
            (Self::Partial(PartialValue::Items(items)), _) => {
                Some(items.iter().map(ValueRef::Partial).collect())
            }
            _ => None,
        }
    }

    /// The type in terms of JSON Schema; `None` if it is not known.
    pub(super) fn json_type(self) -> Option<&'static str> {
        let value = match self {
            Self::Partial(PartialValue::Unknown) => return None,
            Self::Partial(PartialValue::Items(_)) => return Some("array"),
            Self::Partial(PartialValue::Entries(_)) => return Some("object"),
            Self::Partial(PartialValue::Value(value)) | Self::Complete(value) => value,
        };
        Some(match value {
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::String(_) => "string",
            Value::Number(number) => {
                let whole = number.as_f64().is_none_or(|number| number.fract() == 0.0);
                if whole { "integer" } else { "number" }
            }
        })
    }

    /// The beginning of the value, for a message.
    pub(super) fn preview(self) -> String {
        match self {
            Self::Complete(value) | Self::Partial(PartialValue::Value(value)) => preview(value),
            Self::Partial(PartialValue::Items(_)) => "the list".to_owned(),
            Self::Partial(PartialValue::Entries(_)) => "the object".to_owned(),
            Self::Partial(PartialValue::Unknown) => "it".to_owned(),
        }
    }
}

/// The beginning of a value's JSON, for a message. However large the value is, no more than that is
/// written.
pub(super) fn preview(value: &Value) -> String {
    let mut start = PrefixBuffer(Vec::new());
    // An error means that the buffer is full. The escaping of a text scans all of it first, so it
    // is cut before.
    let _ = match value {
        Value::String(text) => serde_json::to_writer(&mut start, beginning(text)),
        other => serde_json::to_writer(&mut start, other),
    };
    shorten(&visible_json(&String::from_utf8_lossy(&start.0)))
}

/// Several values, separated by commas and cut if too long.
pub(super) fn preview_list(values: &[Value]) -> String {
    let mut list = String::new();
    for value in values {
        let separator = if list.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(list, "{separator}{}", preview(value));
        if list.len() > 4 * MAX_PREVIEW {
            break;
        }
    }
    shorten(&list)
}

pub(super) fn shorten(text: &str) -> String {
    let text = &*visible_line(text);
    match text.char_indices().nth(MAX_PREVIEW) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A part of a text that is longer than what is shown of it.
pub(super) fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(4 * MAX_PREVIEW).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default()
}

/// A writer that keeps the first bytes and rejects the rest.
struct PrefixBuffer(Vec<u8>);

impl io::Write for PrefixBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (4 * MAX_PREVIEW + 8).saturating_sub(self.0.len()).min(bytes.len());
        self.0.extend_from_slice(bytes.get(..room).unwrap_or_default());
        if room < bytes.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(room) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
