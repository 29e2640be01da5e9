//! Chooses the variables of a program's top level that can be local variables of its code.
//!
//! The top level of a Python program keeps its variables in a dictionary, its module, which is about
//! half as fast as the local variables of a function. A variable that only the code of the top level
//! uses can be a local one, if the program cannot find out: it does not look at its module or its
//! frames, and it never reads the variable before it has certainly assigned it, because the two
//! kinds of variables fail differently then.

mod assignments;
mod bindings;
mod builtins;
mod inner_scopes;
mod introspection;

use ruff_python_ast::{Expr, Stmt};

use crate::program::{TOOL_PREFIX, TOOLS};
use assignments::uncertain_reads;
use bindings::Bindings;
use inner_scopes::names_used_inside;
use introspection::looks_at_itself;

/// The largest number of fast names. An instruction addresses this many local variables at most.
const MAX_NAMES: usize = 200;

/// The variables that can be local ones, in the order in which they are first assigned. Only those
/// that a loop uses are listed; for others it would not be worth the work.
pub(in crate::program) fn fast_names(body: &[Stmt]) -> Vec<String> {
    let bindings = Bindings::of(body);
    // A program that returns is compiled in another way.
    if bindings.returns {
        return Vec::new();
    }
    let mut names: Vec<&str> = bindings.assigned_and_used_in_loops();
    names.retain(|name| can_be_fast(name));
    names.truncate(MAX_NAMES);
    if names.is_empty() || looks_at_itself(body) {
        return Vec::new();
    }
    let used_inside = names_used_inside(body);
    names.retain(|name| !used_inside.contains(name));
    let uncertain = uncertain_reads(body, &names);
    names.retain(|name| !uncertain.contains(name));
    names.into_iter().map(str::to_owned).collect()
}

/// Whether a name has no meaning other than that of a variable. A class changes names that begin
/// with two underscores, so that its methods may use any name like `_Class__name`.
fn can_be_fast(name: &str) -> bool {
    let is_special = name.starts_with(TOOL_PREFIX) || name == TOOLS || builtins::is_builtin(name);
    let may_be_changed = name.starts_with('_') && name.contains("__");
    name.is_ascii() && !is_special && !may_be_changed
}

/// The parts of a comprehension: its first iterable is evaluated in the surrounding scope, all other
/// parts have a scope of their own.
struct ComprehensionParts<'a> {
    generators: &'a [ruff_python_ast::Comprehension],
    elements: Vec<&'a Expr>,
}

impl<'a> ComprehensionParts<'a> {
    /// The parts of an expression, if it is a comprehension or a generator expression.
    fn of(expr: &'a Expr) -> Option<Self> {
        let (generators, elements) = match expr {
            Expr::ListComp(it) => (&it.generators, vec![&*it.elt]),
            Expr::SetComp(it) => (&it.generators, vec![&*it.elt]),
            Expr::Generator(it) => (&it.generators, vec![&*it.elt]),
            Expr::DictComp(it) => {
                (&it.generators, it.key.as_deref().into_iter().chain([&*it.value]).collect())
            }
            _ => return None,
        };
        Some(Self { generators, elements })
    }

    fn first_iterable(&self) -> Option<&'a Expr> {
        self.generators.first().map(|first| &first.iter)
    }
}

#[cfg(test)]
mod tests;
