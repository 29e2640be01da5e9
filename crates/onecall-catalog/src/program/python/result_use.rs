//! Checks how a program looks into the result of a tool that declares its type.

use onecall_core::{Schema, wrapped_schema};
use ruff_python_ast::{Expr, UnaryOp};

use crate::types::{Type, Types};

/// The largest number of keys that a message lists.
const MAX_KEYS: usize = 12;

/// How a program looks into a value.
pub(super) enum Access<'a> {
    /// `value[key]`
    Item(&'a Expr),
    /// `value.name`
    Attribute(&'a str),
}

/// What a program gets from a tool, as far as its methods and keys are concerned.
enum Shape {
    /// A dict with these keys, as far as they are known.
    Dict(Vec<String>),
    List,
    Text,
}

/// The methods of each shape; a name that begins with two underscores is accepted for all.
const DICT_METHODS: [&str; 11] = [
    "clear",
    "copy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];
const LIST_METHODS: [&str; 11] = [
    "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse",
    "sort",
];
/// Names that neither a string nor anything like it has.
const NOT_OF_TEXT: [&str; 8] =
    ["append", "extend", "get", "items", "keys", "pop", "sort", "values"];

/// Why a result of a tool with this output schema cannot be used in this way, as the class of the
/// exception and its message.
pub(super) fn misuse(
    tool: &str,
    schema: &Schema,
    access: &Access<'_>,
) -> Option<(&'static str, String)> {
    let shape = Shape::of(schema)?;
    match (&shape, access) {
        (Shape::Dict(keys), Access::Item(key)) if is_integer(key) || key.is_slice_expr() => {
            Some(("KeyError", format!("{tool}() returns one dict, not a list{}", listed(keys))))
        }
        (Shape::Dict(keys), Access::Attribute(name)) if !DICT_METHODS.contains(name) => Some((
            "AttributeError",
            format!("{tool}() returns a dict; write [\"{name}\"], not .{name}{}", listed(keys)),
        )),
        (Shape::List, Access::Item(key)) if key.is_string_literal_expr() => {
            Some(("TypeError", format!("{tool}() returns a list, which has no keys")))
        }
        (Shape::List, Access::Attribute(name)) if !LIST_METHODS.contains(name) => {
            Some(("AttributeError", format!("{tool}() returns a list, which has no '{name}'")))
        }
        (Shape::Text, Access::Item(key)) if key.is_string_literal_expr() => {
            Some(("TypeError", format!("{tool}() returns text, which has no keys")))
        }
        (Shape::Text, Access::Attribute(name)) if NOT_OF_TEXT.contains(name) => {
            Some(("AttributeError", format!("{tool}() returns text, which has no '{name}'")))
        }
        _ => None,
    }
}

impl Shape {
    /// The shape that an output schema declares, if it is one shape.
    fn of(schema: &Schema) -> Option<Self> {
        let schema = schema.value();
        let types = Types::read(&schema, wrapped_schema(&schema).unwrap_or(&schema));
        let root = match &types.root {
            Type::Reference(number) => &types.targets.get(*number)?.value_type,
            other => other,
        };
        match root {
            Type::Object(object) => {
                Some(Self::Dict(object.fields.iter().map(|field| field.name.clone()).collect()))
            }
            Type::Map(_) => Some(Self::Dict(Vec::new())),
            Type::List(_) | Type::Tuple(_) => Some(Self::List),
            Type::Text => Some(Self::Text),
            _ => None,
        }
    }
}

fn is_integer(expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(it) => it.value.is_int(),
        Expr::UnaryOp(it) => it.op == UnaryOp::USub && is_integer(&it.operand),
        _ => false,
    }
}

/// The keys of a dict, for the end of a message.
fn listed(keys: &[String]) -> String {
    if keys.is_empty() || keys.len() > MAX_KEYS {
        return String::new();
    }
    let keys: Vec<String> = keys.iter().map(|key| crate::literal::json_string(key)).collect();
    format!("; its keys: {}", keys.join(", "))
}
