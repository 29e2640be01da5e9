//! Whether what follows a statement is certain to run, if the program is to succeed.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Alias, Expr, Stmt};

/// What may end a program without a failure. A function that uses one of them is seen
/// where it is defined, which is before it can be called.
const EXITS: [&str; 12] = [
    "SystemExit",
    "_exit",
    "abort",
    "alarm",
    "exit",
    "kill",
    "killpg",
    "pthread_kill",
    "quit",
    "raise_signal",
    "setitimer",
    "signal",
];

/// How a statement may keep what follows it from running.
#[derive(Default)]
pub(super) struct Leaving {
    /// It may end the program, now or when something it defines is called.
    pub(super) exits: bool,
    /// It may end the function or raise on purpose.
    pub(super) returns: bool,
    /// It makes the function that it stands in a generator.
    pub(super) yields: bool,
    functions: usize,
}

impl Leaving {
    pub(super) fn of(statements: &[Stmt]) -> Self {
        let mut leaving = Self::default();
        leaving.visit_body(statements);
        leaving
    }

    fn see(&mut self, name: &str) {
        self.exits |= EXITS.contains(&name);
    }
}

impl<'a> Visitor<'a> for Leaving {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let is_function = matches!(stmt, Stmt::FunctionDef(_));
        self.functions += usize::from(is_function);
        self.returns |= self.functions == 0 && matches!(stmt, Stmt::Return(_) | Stmt::Raise(_));
        walk_stmt(self, stmt);
        self.functions -= usize::from(is_function);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(it) => self.see(&it.id),
            Expr::Attribute(it) => self.see(&it.attr),
            Expr::StringLiteral(it) => self.see(it.value.to_str()),
            Expr::Yield(_) | Expr::YieldFrom(_) => self.yields |= self.functions == 0,
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        self.see(&alias.name);
    }
}
