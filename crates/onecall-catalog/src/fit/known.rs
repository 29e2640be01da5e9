//! Values as far as they are known before a call is made.

use std::fmt::Write as _;
use std::io;

use onecall_core::text::{visible_json, visible_line};
use serde_json::Value;

/// How much of a value or a list of choices is shown, in characters.
const MAX_SHOWN: usize = 120;

/// What is known of a value before a call is made.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// All of it.
    Value(Value),
    /// Nothing: it is computed later.
    Unknown,
    /// A list of such.
    Items(Vec<Known>),
    /// An object of such.
    Entries(Vec<(String, Known)>),
}

/// A place in a value, looked at without copying it.
#[derive(Clone, Copy)]
pub(super) enum Part<'v> {
    Known(&'v Known),
    Value(&'v Value),
}

impl<'v> Part<'v> {
    /// All of it, where it is known to the last.
    pub(super) fn value(self) -> Option<&'v Value> {
        match self {
            Self::Value(value) | Self::Known(Known::Value(value)) => Some(value),
            Self::Known(_) => None,
        }
    }

    pub(super) fn is_unknown(self) -> bool {
        matches!(self, Self::Known(Known::Unknown))
    }

    /// What it holds by name, if it is an object.
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

    /// What it holds in order, if it is a list.
    pub(super) fn items(self) -> Option<Vec<Part<'v>>> {
        match (self, self.value()) {
            (_, Some(Value::Array(items))) => Some(items.iter().map(Part::Value).collect()),
            (Self::Known(Known::Items(items)), _) => Some(items.iter().map(Part::Known).collect()),
            _ => None,
        }
    }

    /// What JSON Schema calls its kind; `None` if that is not known.
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

    /// Its beginning, for a message.
    pub(super) fn shown(self) -> String {
        match self {
            Self::Value(value) | Self::Known(Known::Value(value)) => shown(value),
            Self::Known(Known::Items(_)) => "the list".to_owned(),
            Self::Known(Known::Entries(_)) => "the object".to_owned(),
            Self::Known(Known::Unknown) => "it".to_owned(),
        }
    }
}

/// The beginning of a value's JSON, for a message. However large it is, no more of it
/// is written than is shown.
pub(super) fn shown(value: &Value) -> String {
    let mut start = Start(Vec::new());
    // An error means that there is enough. A text is looked through before any of it is written.
    let _ = match value {
        Value::String(text) => serde_json::to_writer(&mut start, beginning(text)),
        other => serde_json::to_writer(&mut start, other),
    };
    cut(&visible_json(&String::from_utf8_lossy(&start.0)))
}

/// Several values one after the other, as far as there is room.
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

/// More of a text than is shown of it.
pub(super) fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(4 * MAX_SHOWN).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default()
}

/// Takes the first bytes of what is written to it and refuses the rest.
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
