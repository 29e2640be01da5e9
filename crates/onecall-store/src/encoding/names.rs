//! Enums as columns: a value is stored under its serialized name.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The name under which a unit variant is serialized.
pub(crate) fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The unit variant with this serialized name.
pub(crate) fn parse_name<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(Value::String(name.to_owned())).ok()
}
