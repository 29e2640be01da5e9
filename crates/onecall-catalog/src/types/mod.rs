//! What a JSON Schema says about values, in the few words that Python and TypeScript
//! have for it. A schema comes from a server, so every walk over one is bounded; what
//! lies beyond the bounds is [`Type::Any`], never an error.

mod declare;
mod merge;
mod note;
mod read;

pub(crate) use declare::{Body, Declaration, Declared, free_name};
pub(crate) use note::Note;
pub(crate) use read::kinds_of;

use serde_json::{Map, Value};

/// Entries of `required` that are read.
const MAX_REQUIRED: usize = 1_000;

/// The types in one schema document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Types {
    /// The type of the part that was asked for.
    pub(crate) root: Type,
    /// What references point to.
    pub(crate) targets: Vec<Target>,
}

/// A part of the document that is referred to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    /// Where it is, as a JSON pointer; empty for the whole document.
    pub(crate) pointer: String,
    pub(crate) of: Type,
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
    /// Items of one type, if it is known.
    List(Option<Box<Type>>),
    /// These items in this order.
    Tuple(Vec<Type>),
    /// Any keys, with values of one type, if it is known.
    Map(Option<Box<Type>>),
    Object(Object),
    /// One of several. `whole` tells whether these are all.
    Union {
        of: Vec<Type>,
        whole: bool,
    },
    /// The target with this number.
    Reference(usize),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object {
    pub(crate) fields: Vec<Field>,
    /// Whether `fields` are all that the schema names.
    pub(crate) whole: bool,
    /// Whether the schema speaks of further keys.
    pub(crate) open: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) required: bool,
    pub(crate) of: Type,
    pub(crate) note: Note,
}

impl Types {
    /// What the tool with this input takes, in the order of the schema.
    pub(crate) fn parameters(&self) -> &[Field] {
        match &self.root {
            Type::Object(object) => &object.fields,
            _ => &[],
        }
    }
}

/// Whether an input schema without properties of its own still wants arguments.
pub(crate) fn takes_anything(schema: &Value) -> bool {
    let extra = schema.get("additionalProperties");
    matches!(extra, Some(Value::Bool(true) | Value::Object(_)))
        || ["$ref", "anyOf", "oneOf", "allOf"].iter().any(|name| schema.get(name).is_some())
}

/// Whether the object schema with these keywords demands `key`.
pub(crate) fn is_required(keywords: &Map<String, Value>, key: &str) -> bool {
    let required = keywords.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().take(MAX_REQUIRED).any(|name| name == key))
}
