//! Functions and operators that do nothing useful with a promise.

use oxc_ast::ast::Expression;
use oxc_syntax::operator::{BinaryOperator, UnaryOperator};

use super::names::BoundNames;
use super::wrapper::unwrapped;

/// What a function does with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentUse {
    /// It reads the value itself, and accepts `undefined`.
    Value,
    /// It fails for `undefined`.
    Properties,
    /// It takes the items of its argument one by one.
    Items,
}

const FUNCTIONS: [&str; 14] = [
    "BigInt",
    "Boolean",
    "Number",
    "String",
    "atob",
    "btoa",
    "decodeURIComponent",
    "encodeURIComponent",
    "isFinite",
    "isNaN",
    "parseFloat",
    "parseInt",
    "parsePythonLiteral",
    "structuredClone",
];

const METHODS: [(&str, ArgumentUse, &[&str]); 7] = [
    ("console", ArgumentUse::Value, &["debug", "dir", "error", "info", "log", "table", "warn"]),
    ("JSON", ArgumentUse::Value, &["parse", "stringify"]),
    (
        "Math",
        ArgumentUse::Value,
        &[
            "abs", "ceil", "floor", "hypot", "log", "max", "min", "pow", "round", "sign", "sqrt",
            "trunc",
        ],
    ),
    (
        "Number",
        ArgumentUse::Value,
        &["isFinite", "isInteger", "isNaN", "isSafeInteger", "parseFloat", "parseInt"],
    ),
    ("Object", ArgumentUse::Properties, &["entries", "getOwnPropertyNames", "keys", "values"]),
    ("Object", ArgumentUse::Items, &["fromEntries", "groupBy"]),
    ("Array", ArgumentUse::Properties, &["from"]),
];

/// The functions of `Promise` that take several promises.
const OF_PROMISES: [&str; 4] = ["all", "allSettled", "any", "race"];

/// Classes whose constructors read their arguments.
const READING_CLASSES: [&str; 3] = ["Date", "URL", "URLSearchParams"];

/// Classes whose constructors take the items of their argument.
const COLLECTIONS: [&str; 2] = ["Map", "Set"];

impl ArgumentUse {
    /// What a call of this function does with its arguments, if that is known.
    pub(super) fn by_call<'a>(callee: &Expression<'a>, names: &BoundNames<'a>) -> Option<Self> {
        if let Expression::Identifier(it) = callee {
            let name = it.name.as_str();
            return (FUNCTIONS.contains(&name) && !names.is_bound(name)).then_some(Self::Value);
        }
        let (object, name) = names.global_method(callee)?;
        if object == "Promise" && OF_PROMISES.contains(&name) {
            return Some(Self::Items);
        }
        let found =
            METHODS.iter().find(|(owner, _, methods)| *owner == object && methods.contains(&name));
        found.map(|(_, argument_use, _)| *argument_use)
    }

    /// What `new` with this class does with its arguments, if that is known.
    pub(super) fn by_class<'a>(class: &Expression<'a>, names: &BoundNames<'a>) -> Option<Self> {
        let Expression::Identifier(it) = unwrapped(class) else { return None };
        match it.name.as_str() {
            name if names.is_bound(name) => None,
            name if READING_CLASSES.contains(&name) => Some(Self::Value),
            name if COLLECTIONS.contains(&name) => Some(Self::Items),
            _ => None,
        }
    }
}

/// Whether an operator computes something from the value of each of its operands.
pub(super) fn computes(operator: BinaryOperator) -> bool {
    operator.is_arithmetic()
        || operator.is_bitwise()
        || operator.is_bitshift()
        || matches!(
            operator,
            BinaryOperator::LessThan
                | BinaryOperator::LessEqualThan
                | BinaryOperator::GreaterThan
                | BinaryOperator::GreaterEqualThan
        )
}

/// Whether an operator computes a number from the value of its operand.
pub(super) fn negates(operator: UnaryOperator) -> bool {
    operator.is_arithmetic()
}
