//! Determines which loops certainly run at least once, and which `with` blocks pass on the failures
//! of their bodies.

use std::collections::HashMap;

use ruff_python_ast::{Expr, ExprCall, Number};

use super::names::BoundNames;

/// Builtins whose result has as many items as each of their arguments.
const ITEM_PRESERVING: [&str; 6] = ["dict", "enumerate", "list", "reversed", "sorted", "tuple"];

/// Methods of a dict with an item for each entry.
const VIEWS: [&str; 3] = ["items", "keys", "values"];

/// What the source shows of the values of variables.
#[derive(Default)]
pub(super) struct KnownValues<'a> {
    values: HashMap<&'a str, KnownValue>,
}

/// What the source shows of one value.
struct KnownValue {
    has_items: bool,
    is_dict: bool,
    passes_failures_on: bool,
}

impl<'a> KnownValues<'a> {
    /// Remembers the value that is assigned to a variable. Variables that are bound more than once
    /// are ignored.
    pub(super) fn assign(&mut self, names: &BoundNames<'_>, target: &'a str, value: &Expr) {
        if names.is_bound_once(target) {
            let known = KnownValue {
                has_items: self.has_items(names, value),
                is_dict: value.is_dict_expr(),
                passes_failures_on: self.passes_failures_on(names, value),
            };
            self.values.insert(target, known);
        }
    }

    /// Whether a loop over the value of an expression certainly has an iteration.
    pub(super) fn has_items(&self, names: &BoundNames<'_>, expr: &Expr) -> bool {
        match expr {
            Expr::List(it) => it.elts.iter().any(|item| !item.is_starred_expr()),
            Expr::Tuple(it) => it.elts.iter().any(|item| !item.is_starred_expr()),
            Expr::Set(it) => it.elts.iter().any(|item| !item.is_starred_expr()),
            Expr::Dict(it) => it.items.iter().any(|item| item.key.is_some()),
            Expr::StringLiteral(it) => !it.value.is_empty(),
            // A list that something is removed from may be empty later.
            Expr::Name(it) => {
                let known = self.values.get(it.id.as_str());
                !names.removes_items() && known.is_some_and(|known| known.has_items)
            }
            Expr::Call(it) => self.call_has_items(names, it),
            _ => false,
        }
    }

    fn call_has_items(&self, names: &BoundNames<'_>, call: &ExprCall) -> bool {
        let arguments = &*call.arguments.args;
        match &*call.func {
            Expr::Name(name) if names.is_bound(&name.id) => false,
            Expr::Name(name) if name.id == "range" => match arguments {
                [stop] => integer(stop).is_some_and(|stop| stop > 0),
                [start, stop] => {
                    integer(start).zip(integer(stop)).is_some_and(|(start, stop)| start < stop)
                }
                _ => false,
            },
            Expr::Name(name) if name.id == "zip" => {
                !arguments.is_empty() && arguments.iter().all(|it| self.has_items(names, it))
            }
            Expr::Name(name) if ITEM_PRESERVING.contains(&name.id.as_str()) => {
                arguments.first().is_some_and(|it| self.has_items(names, it))
            }
            Expr::Attribute(it) if VIEWS.contains(&it.attr.as_str()) && arguments.is_empty() => {
                match &*it.value {
                    dict @ Expr::Dict(_) => self.has_items(names, dict),
                    Expr::Name(name) => {
                        let known = self.values.get(name.id.as_str());
                        known.is_some_and(|known| known.is_dict) && self.has_items(names, &it.value)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether a context manager certainly passes on a failure of its body: those of `asyncio`.
    pub(super) fn passes_failures_on(&self, names: &BoundNames<'_>, manager: &Expr) -> bool {
        match manager {
            Expr::Name(it) => {
                self.values.get(it.id.as_str()).is_some_and(|known| known.passes_failures_on)
            }
            Expr::Call(it) => {
                let Expr::Attribute(function) = &*it.func else { return false };
                matches!(&*function.value, Expr::Name(it) if it.id == "asyncio")
                    && names.is_module("asyncio")
                    && !names.is_bound(&function.attr)
            }
            _ => false,
        }
    }
}

fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::NumberLiteral(it) => match &it.value {
            Number::Int(int) => int.as_i64(),
            Number::Float(_) | Number::Complex { .. } => None,
        },
        _ => None,
    }
}
