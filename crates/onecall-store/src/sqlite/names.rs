//! Enums as columns: a value is stored under its serialized name.

use rusqlite::types::Type;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The name under which a unit variant is serialized.
pub(super) fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The unit variant with this serialized name.
pub(super) fn parse_name<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(Value::String(name.to_owned())).ok()
}

/// The error for a text that this program never writes into the column with this index.
pub(super) fn malformed(column: usize) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, "a malformed text".to_owned(), Type::Text)
}
