//! Values that are partly known before a call is made.

use std::fmt::Write as _;
use std::io;

use onecall_core::text::{visible_json, visible_line};
use serde_json::Value;

/// The longest value or list of choices that is shown, in characters.
const MAX_SHOWN: usize = 120;

/// What is known of a value before a call is made.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// The complete value is known.
    Value(Value),
    /// Nothing is known, because the value is computed later.
    Unknown,
    /// A list whose items may be partly known.
    Items(Vec<Known>),
    /// An object whose entries may be partly known.
    Entries(Vec<(String, Known)>),
}

/// A reference to a part of a value.
#[derive(Clone, Copy)]
pub(super) enum Part<'v> {
    Known(&'v Known),
    Value(&'v Value),
}

impl<'v> Part<'v> {
    /// The complete value, if it is known.
    pub(super) fn value(self) -> Option<&'v Value> {
        match self {
            Self::Value(value) | Self::Known(Known::Value(value)) => Some(value),
            Self::Known(_) => None,
        }
    }

    pub(super) fn is_unknown(self) -> bool {
        matches!(self, Self::Known(Known::Unknown))
    }

    /// The entries by name, if it is an object.
    pub(super) fn entries(self) -> Option<Vec<(&'v str, Part<'v>)>> {
        match (self, self.value()) {
            (_, Some(Value::Object(entries))) => Some(
                entries.iter().map(|(key, value)| (key.as_str(), Part::Value(value))).collect(),
            ),
            (Self::Known(Known::Entries(entries)), _) => {
                Some(entries.iter().map(|(key, it)| (key.as_str(), Part::Known(it))).collect())
            }
            _ => None,
        }
    }

    /// The items in order, if it is a list.
    pub(super) fn items(self) -> Option<Vec<Part<'v>>> {
        match (self, self.value()) {
            (_, Some(Value::Array(items))) => Some(items.iter().map(Part::Value).collect()),
            (Self::Known(Known::Items(items)), _) => Some(items.iter().map(Part::Known).collect()),
            _ => None,
        }
    }

    /// The type in terms of JSON Schema; `None` if it is not known.
    pub(super) fn kind(self) -> Option<&'static str> {
        let value = match self {
            Self::Known(Known::Unknown) => return None,
            Self::Known(Known::Items(_)) => return Some("array"),
            Self::Known(Known::Entries(_)) => return Some("object"),
            Self::Known(Known::Value(value)) | Self::Value(value) => value,
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
    pub(super) fn shown(self) -> String {
        match self {
            Self::Value(value) | Self::Known(Known::Value(value)) => shown(value),
            Self::Known(Known::Items(_)) => "the list".to_owned(),
            Self::Known(Known::Entries(_)) => "the object".to_owned(),
            Self::Known(Known::Unknown) => "it".to_owned(),
        }
    }
}

/// The beginning of a value's JSON, for a message. However large the value is, no more than that is
/// written.
pub(super) fn shown(value: &Value) -> String {
    let mut start = Start(Vec::new());
    // An error means that the buffer is full. The escaping of a text scans all of it first, so it
    // is cut before.
    let _ = match value {
        Value::String(text) => serde_json::to_writer(&mut start, beginning(text)),
        other => serde_json::to_writer(&mut start, other),
    };
    cut(&visible_json(&String::from_utf8_lossy(&start.0)))
}

/// Several values, separated by commas and cut if too long.
pub(super) fn shown_list(values: &[Value]) -> String {
    let mut list = String::new();
    for value in values {
        let separator = if list.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(list, "{separator}{}", shown(value));
        if list.len() > 4 * MAX_SHOWN {
            break;
        }
    }
    cut(&list)
}

pub(super) fn cut(text: &str) -> String {
    let text = &*visible_line(text);
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A part of a text that is longer than what is shown of it.
pub(super) fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(4 * MAX_SHOWN).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default()
}

/// A writer that keeps the first bytes and rejects the rest.
struct Start(Vec<u8>);

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (4 * MAX_SHOWN + 8).saturating_sub(self.0.len()).min(bytes.len());
        self.0.extend_from_slice(bytes.get(..room).unwrap_or_default());
        if room < bytes.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(room) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
