//! Determines whether the statements after a statement are certain to run if the program is to
//! succeed.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Alias, Expr, Stmt};

/// Names that may end a program without a failure. A function that uses one of them is visited at
/// its definition, which comes before any call of it.
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

/// How a statement may prevent the following ones from running.
#[derive(Default)]
pub(super) struct PossibleExits {
    /// The statement may end the program, now or when something it defines is called.
    pub(super) exits: bool,
    /// The statement may return from the function or raise an exception.
    pub(super) returns: bool,
    /// The statement may leave the loop that it is in, or begin the next iteration.
    pub(super) breaks: bool,
    /// The statement makes the enclosing function a generator.
    pub(super) yields: bool,
    functions: usize,
    loops: usize,
}

impl PossibleExits {
    pub(super) fn of(statements: &[Stmt]) -> Self {
        let mut possible_exits = Self::default();
        possible_exits.visit_body(statements);
        possible_exits
    }

    fn check_name(&mut self, name: &str) {
        self.exits |= EXITS.contains(&name);
    }
}

impl<'a> Visitor<'a> for PossibleExits {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let is_function = matches!(stmt, Stmt::FunctionDef(_));
        self.functions += usize::from(is_function);
        self.returns |= self.functions == 0 && matches!(stmt, Stmt::Return(_) | Stmt::Raise(_));
        self.breaks |= self.loops == 0 && matches!(stmt, Stmt::Break(_) | Stmt::Continue(_));
        let is_loop = matches!(stmt, Stmt::For(_) | Stmt::While(_));
        self.loops += usize::from(is_loop);
        walk_stmt(self, stmt);
        self.loops -= usize::from(is_loop);
        self.functions -= usize::from(is_function);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(it) => self.check_name(&it.id),
            Expr::Attribute(it) => self.check_name(&it.attr),
            Expr::StringLiteral(it) => self.check_name(it.value.to_str()),
            Expr::Yield(_) | Expr::YieldFrom(_) => self.yields |= self.functions == 0,
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        self.check_name(&alias.name);
    }
}
