//! Checks how a program looks into the result of a tool that declares its type.

use onecall_core::Schema;
use ruff_python_ast::{Expr, UnaryOp};

use crate::program::result_shape::Shape;

/// How a program looks into a value.
pub(super) enum Access<'a> {
    /// `value[key]`
    Item(&'a Expr),
    /// `value.name`
    Attribute(&'a str),
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
        (Shape::Object(_) | Shape::Map, Access::Item(key))
            if is_integer(key) || key.is_slice_expr() =>
        {
            let keys = shape.listed_keys();
            Some(("KeyError", format!("{tool}() returns one dict, not a list{keys}")))
        }
        (Shape::Object(_) | Shape::Map, Access::Attribute(name))
            if !DICT_METHODS.contains(name) =>
        {
            let keys = shape.listed_keys();
            Some((
                "AttributeError",
                format!("{tool}() returns a dict; write [\"{name}\"], not .{name}{keys}"),
            ))
        }
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

fn is_integer(expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(it) => it.value.is_int(),
        Expr::UnaryOp(it) => it.op == UnaryOp::USub && is_integer(&it.operand),
        _ => false,
    }
}
