//! Checks how a program looks into the result of a tool that declares its type. In JavaScript a
//! property that is missing is `undefined`, so only what throws an exception is reported: a method
//! that the value does not have, and a look into what is missing.

use onecall_core::Schema;

use crate::program::result_shape::Shape;

/// How a program uses a value, if the use fails for values of another shape.
#[derive(Clone, Copy)]
pub(super) enum ResultUse<'a> {
    /// `value.name()`
    Method(&'a str),
    /// `value.name` or `value["name"]`, of which a part is used.
    Property(&'a str),
    /// `value[0]`, of which a part is used.
    Item,
    /// `for (… of value)` and everything else that takes the items one by one.
    Items,
}

/// What every object has.
const OBJECT_MEMBERS: [&str; 8] = [
    "constructor",
    "content",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// What arrays have and objects have not.
const ARRAY_MEMBERS: [&str; 37] = [
    "at",
    "concat",
    "copyWithin",
    "entries",
    "every",
    "fill",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "flat",
    "flatMap",
    "forEach",
    "includes",
    "indexOf",
    "join",
    "keys",
    "lastIndexOf",
    "length",
    "map",
    "pop",
    "push",
    "reduce",
    "reduceRight",
    "reverse",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "toReversed",
    "toSorted",
    "toSpliced",
    "unshift",
    "values",
    "with",
];

/// What texts have and objects have not.
const TEXT_MEMBERS: [&str; 50] = [
    "anchor",
    "at",
    "big",
    "blink",
    "bold",
    "charAt",
    "charCodeAt",
    "codePointAt",
    "concat",
    "endsWith",
    "fixed",
    "fontcolor",
    "fontsize",
    "includes",
    "indexOf",
    "isWellFormed",
    "italics",
    "lastIndexOf",
    "length",
    "link",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "padEnd",
    "padStart",
    "repeat",
    "replace",
    "replaceAll",
    "search",
    "slice",
    "small",
    "split",
    "startsWith",
    "strike",
    "sub",
    "substr",
    "substring",
    "sup",
    "toLocaleLowerCase",
    "toLocaleUpperCase",
    "toLowerCase",
    "toUpperCase",
    "toWellFormed",
    "trim",
    "trimEnd",
    "trimLeft",
    "trimRight",
    "trimStart",
    "toJSON",
];

/// Why a result of a tool with this output schema cannot be used in this way: the message of a
/// `TypeError`.
pub(super) fn misuse(tool: &str, schema: &Schema, result_use: ResultUse<'_>) -> Option<String> {
    let shape = Shape::of(schema)?;
    let keys = shape.listed_keys();
    let no_list = || Some(format!("{tool}() returns one object, not an array{keys}"));
    let lacks = |what: &str, name: &str| format!("{tool}() returns {what}, which has no '{name}'");
    match (&shape, result_use) {
        (Shape::Object(_) | Shape::Map, ResultUse::Items) => no_list(),
        (Shape::Object(known), ResultUse::Item) if !known.iter().any(|key| is_index(key)) => {
            no_list()
        }
        (Shape::Object(_) | Shape::Map, ResultUse::Method(name)) if is_of_object(name) => None,
        (Shape::Object(known), ResultUse::Method(name)) if known.iter().any(|it| it == name) => {
            None
        }
        (Shape::Object(_) | Shape::Map, ResultUse::Method(name)) => {
            match ARRAY_MEMBERS.contains(&name) {
                true => no_list(),
                false => Some(format!("{}{keys}", lacks("an object", name))),
            }
        }
        (Shape::List, ResultUse::Method(name) | ResultUse::Property(name))
            if !ARRAY_MEMBERS.contains(&name) && !is_of_object(name) && !is_index(name) =>
        {
            Some(lacks("an array", name))
        }
        (Shape::Text, ResultUse::Method(name) | ResultUse::Property(name))
            if !TEXT_MEMBERS.contains(&name) && !is_of_object(name) && !is_index(name) =>
        {
            Some(lacks("text", name))
        }
        _ => None,
    }
}

fn is_of_object(name: &str) -> bool {
    OBJECT_MEMBERS.contains(&name) || name.starts_with("__")
}

fn is_index(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}
