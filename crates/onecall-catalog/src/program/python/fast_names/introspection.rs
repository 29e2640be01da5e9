//! Finds out whether a program may look at its own module, its frames or all objects.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_keyword, walk_stmt};
use ruff_python_ast::{Alias, Expr, ExprCall, Keyword, Stmt, StringLiteral};

/// The name that a program's module has, and that other modules import it by.
const MAIN: &str = "__main__";

/// Functions and variables that give a program its own variables by name.
const NAMES: [&str; 10] = [
    "__builtins__",
    "__import__",
    "__loader__",
    "breakpoint",
    "dir",
    "eval",
    "exec",
    "globals",
    "locals",
    "vars",
];

/// Attributes of modules, functions, frames and tracebacks that lead to variables.
const ATTRIBUTES: [&str; 32] = [
    "StackSummary",
    "TracebackException",
    "__builtins__",
    "__globals__",
    "__import__",
    "__loader__",
    "__self__",
    "_current_frames",
    "_getframe",
    "ag_frame",
    "breakpoint",
    "cr_frame",
    "currentframe",
    "eval",
    "exec",
    "f_back",
    "f_globals",
    "f_locals",
    "get_annotations",
    "get_type_hints",
    "gi_frame",
    "globals",
    "import_module",
    "locals",
    "modules",
    "monitoring",
    "setprofile",
    "settrace",
    "tb_frame",
    "vars",
    "walk_stack",
    "walk_tb",
];

/// Modules that look at the variables of other code, or find objects by the name of a variable.
const MODULES: [&str; 31] = [
    "__main__",
    "_pickle",
    "bdb",
    "builtins",
    "cProfile",
    "cloudpickle",
    "code",
    "codeop",
    "copyreg",
    "ctypes",
    "dill",
    "doctest",
    "gc",
    "importlib",
    "inspect",
    "joblib",
    "mock",
    "multiprocessing",
    "pdb",
    "pickle",
    "pkgutil",
    "profile",
    "pydoc",
    "rlcompleter",
    "runpy",
    "shelve",
    "site",
    "timeit",
    "trace",
    "tracemalloc",
    "unittest",
];

/// Whether a program may find out where its variables are kept.
pub(super) fn looks_at_itself(body: &[Stmt]) -> bool {
    let mut search = Search { found: false };
    search.visit_body(body);
    search.found
}

struct Search {
    found: bool,
}

impl Search {
    fn check_module(&mut self, name: &str) {
        self.found |= name.split('.').any(|part| MODULES.contains(&part));
    }
}

impl<'a> Visitor<'a> for Search {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::ImportFrom(it) = stmt {
            it.module.iter().for_each(|module| self.check_module(module));
        }
        walk_stmt(self, stmt);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        let name = alias.name.as_str();
        self.check_module(name);
        self.found |= name == "*" || ATTRIBUTES.contains(&name);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(it) => self.found |= NAMES.contains(&it.id.as_str()),
            Expr::Attribute(it) => {
                self.found |= ATTRIBUTES.contains(&it.attr.as_str());
                walk_expr(self, expr);
            }
            Expr::Call(call) if is_about_another_object(call) => {
                self.visit_arguments(&call.arguments);
            }
            Expr::Call(call) if call.arguments.args.iter().any(is_attribute_name) => {
                self.found |= is_named(&call.func, &["attrgetter", "getattr", "methodcaller"]);
                walk_expr(self, expr);
            }
            // `if __name__ == "__main__":`
            Expr::Compare(it) if matches!(&*it.left, Expr::Name(name) if name.id == "__name__") => {
            }
            _ => walk_expr(self, expr),
        }
    }

    fn visit_keyword(&mut self, keyword: &'a Keyword) {
        let name = keyword.arg.as_ref().map(|name| name.as_str());
        self.found |= name == Some("capture_locals");
        walk_keyword(self, keyword);
    }

    /// Checks a text, which may be used as the name of an attribute. Words that are common in data
    /// are accepted.
    fn visit_string_literal(&mut self, text: &'a StringLiteral) {
        let text = &*text.value;
        let is_attribute = text.contains('_') && ATTRIBUTES.contains(&text);
        self.found |= is_attribute || text.contains(MAIN);
    }
}

/// Whether a call is `vars(…)` or `dir(…)` of an object.
fn is_about_another_object(call: &ExprCall) -> bool {
    let has_object = call.arguments.args.first().is_some_and(|first| !first.is_starred_expr());
    has_object && matches!(&*call.func, Expr::Name(_)) && is_named(&call.func, &["dir", "vars"])
}

/// Whether a function has one of these names, alone or as an attribute.
fn is_named(function: &Expr, names: &[&str]) -> bool {
    match function {
        Expr::Name(it) => names.contains(&it.id.as_str()),
        Expr::Attribute(it) => names.contains(&it.attr.as_str()),
        _ => false,
    }
}

/// Whether an argument is the name of an attribute that leads to variables.
fn is_attribute_name(argument: &Expr) -> bool {
    let Expr::StringLiteral(text) = argument else { return false };
    text.value.to_str().split('.').any(|part| ATTRIBUTES.contains(&part))
}
