//! The types in a JSON Schema, reduced to those that Python and TypeScript can express. A schema
//! comes from a server, so every traversal is limited; everything beyond the limits is
//! [`Type::Any`], never an error.

mod declare;
mod merge;
mod note;
mod read;

pub(crate) use declare::{Declaration, DeclarationBody, DeclaredTypes, free_name};
pub(crate) use note::Note;
pub(crate) use read::types_of_values;

use serde_json::{Map, Value};

/// The largest number of entries of `required` that are read.
const MAX_REQUIRED: usize = 1_000;

/// The types in one schema document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Types {
    /// The type of the requested part.
    pub(crate) root: Type,
    /// The targets of references.
    pub(crate) targets: Vec<ReferenceTarget>,
}

/// A part of the document that references point to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReferenceTarget {
    /// The JSON pointer of the part; empty for the whole document.
    pub(crate) pointer: String,
    pub(crate) value_type: Type,
    pub(crate) note: Note,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Any,
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    /// One of these values.
    Literals(Vec<Value>),
    /// A list with items of one type, if it is known.
    List(Option<Box<Type>>),
    /// A list with exactly these items.
    Tuple(Vec<Type>),
    /// A mapping with any keys and values of one type, if it is known.
    Map(Option<Box<Type>>),
    Object(Object),
    /// One of several types. `is_complete` tells whether the list is complete.
    Union {
        alternatives: Vec<Type>,
        is_complete: bool,
    },
    /// A reference to the target with this index.
    Reference(usize),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object {
    pub(crate) fields: Vec<Field>,
    /// Whether `fields` contains all properties of the schema.
    pub(crate) is_complete: bool,
    /// Whether the schema allows further keys explicitly.
    pub(crate) allows_other_keys: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) required: bool,
    pub(crate) value_type: Type,
    pub(crate) note: Note,
}

impl Types {
    /// The parameters of a tool with this input schema, in the order of the schema.
    pub(crate) fn parameters(&self) -> &[Field] {
        match &self.root {
            Type::Object(object) => &object.fields,
            _ => &[],
        }
    }
}

/// Whether an input schema without properties accepts arguments nevertheless.
pub(crate) fn takes_anything(schema: &Value) -> bool {
    let extra = schema.get("additionalProperties");
    matches!(extra, Some(Value::Bool(true) | Value::Object(_)))
        || ["$ref", "anyOf", "oneOf", "allOf"].iter().any(|name| schema.get(name).is_some())
}

/// Whether the object schema with these keywords requires `key`.
pub(crate) fn is_required(keywords: &Map<String, Value>, key: &str) -> bool {
    let required = keywords.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().take(MAX_REQUIRED).any(|name| name == key))
}
