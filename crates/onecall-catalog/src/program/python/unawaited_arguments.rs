//! Finds functions that do nothing useful with a call that was not awaited.

use ruff_python_ast::{Expr, ExprCall};

use super::names::BoundNames;

/// What a function does with a coroutine among its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoroutineUse {
    /// It shows that the argument is a coroutine. A call that is written in its place can never be
    /// awaited; one in a variable can still be awaited later.
    Shown,
    /// It fails.
    Fails,
}

const SHOWING: [&str; 4] = ["bool", "print", "repr", "str"];

const FAILING: [&str; 17] = [
    "abs",
    "all",
    "any",
    "dict",
    "enumerate",
    "float",
    "int",
    "iter",
    "len",
    "list",
    "max",
    "min",
    "reversed",
    "round",
    "set",
    "sorted",
    "sum",
];

impl CoroutineUse {
    /// What a call does with coroutines among its positional arguments, if that is known.
    pub(super) fn by(call: &ExprCall, names: &BoundNames<'_>) -> Option<Self> {
        match &*call.func {
            Expr::Name(name) if names.is_bound(&name.id) => None,
            Expr::Name(name) if SHOWING.contains(&name.id.as_str()) => Some(Self::Shown),
            // With several arguments, `max` and `min` compare them, and `dict` takes no second one.
            Expr::Name(name) if FAILING.contains(&name.id.as_str()) => {
                (call.arguments.args.len() == 1).then_some(Self::Fails)
            }
            Expr::Attribute(function) => {
                let is_json = matches!(&*function.value, Expr::Name(it) if it.id == "json")
                    && names.is_module("json")
                    && !names.is_bound(&function.attr);
                let has_default = call.arguments.find_keyword("default").is_some()
                    || call.arguments.find_keyword("cls").is_some();
                (is_json && ["dumps", "loads"].contains(&function.attr.as_str()) && !has_default)
                    .then_some(Self::Fails)
            }
            _ => None,
        }
    }
}
