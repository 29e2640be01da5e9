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

/// Functions of modules that read their arguments.
const FAILING_IN_MODULES: [(&str, &[&str]); 4] = [
    ("ast", &["literal_eval", "parse"]),
    ("json", &["dumps", "loads"]),
    ("re", &["findall", "finditer", "fullmatch", "match", "search", "split", "sub"]),
    ("statistics", &["fmean", "mean", "median", "stdev"]),
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
                let Expr::Name(module) = &*function.value else { return None };
                let is_function = FAILING_IN_MODULES.iter().any(|(name, functions)| {
                    module.id == *name && functions.contains(&function.attr.as_str())
                }) && names.is_module(&module.id)
                    && !names.is_bound(&function.attr);
                // `json.dumps` can be told how to write anything.
                let is_told_how = ["cls", "default"]
                    .iter()
                    .any(|name| call.arguments.find_keyword(name).is_some());
                (is_function && !is_told_how).then_some(Self::Fails)
            }
            _ => None,
        }
    }
}
