//! What the output schema of a tool says about the value that a program gets.

use onecall_core::{Schema, wrapped_schema};

use crate::literal::json_string;
use crate::types::{Type, Types};

/// The largest number of keys that a message lists.
const MAX_KEYS: usize = 12;

/// What a program gets from a tool, as far as its methods and keys are concerned.
pub(super) enum Shape {
    /// An object with these keys, as far as they are known.
    Object(Vec<String>),
    /// An object with any keys.
    Map,
    List,
    Text,
}

impl Shape {
    /// The shape that an output schema declares, if it is one shape.
    pub(super) fn of(schema: &Schema) -> Option<Self> {
        let schema = schema.value();
        let types = Types::read(&schema, wrapped_schema(&schema).unwrap_or(&schema));
        let root = match &types.root {
            Type::Reference(number) => &types.targets.get(*number)?.value_type,
            other => other,
        };
        match root {
            Type::Object(object) => {
                Some(Self::Object(object.fields.iter().map(|field| field.name.clone()).collect()))
            }
            Type::Map(_) => Some(Self::Map),
            Type::List(_) | Type::Tuple(_) => Some(Self::List),
            Type::Text => Some(Self::Text),
            _ => None,
        }
    }

    /// The known keys, for the end of a message; empty if there are none, or too many.
    pub(super) fn listed_keys(&self) -> String {
        let Self::Object(keys) = self else { return String::new() };
        if keys.is_empty() || keys.len() > MAX_KEYS {
            return String::new();
        }
        let keys: Vec<String> = keys.iter().map(|key| json_string(key)).collect();
        format!("; its keys: {}", keys.join(", "))
    }
}
