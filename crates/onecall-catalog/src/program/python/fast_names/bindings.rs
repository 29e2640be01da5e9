//! Collects the names that the top level of a program binds, and how.

use std::collections::HashSet;

use ruff_python_ast::visitor::{
    Visitor, walk_arguments, walk_except_handler, walk_expr, walk_pattern, walk_stmt,
};
use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprContext, Parameters, Pattern, Stmt, StmtAssign,
};

use super::ComprehensionParts;

/// The names that the top level of a program binds. Functions, classes, lambdas and comprehensions
/// have scopes of their own and are not looked into.
#[derive(Default)]
pub(super) struct Bindings<'a> {
    /// The names of variables, in the order in which they are first assigned.
    assigned: Vec<&'a str>,
    /// The names that have to stay in the module, because they are bound in other ways as well: names
    /// of functions, classes, modules and exceptions, and names that are deleted or declared.
    kept: HashSet<&'a str>,
    used_in_loops: HashSet<&'a str>,
    loop_depth: usize,
    /// Whether the top level has a `return`.
    pub(super) returns: bool,
}

impl<'a> Bindings<'a> {
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut bindings = Self::default();
        bindings.visit_body(body);
        bindings
    }

    /// The variables that loops use, in the order in which they are first assigned.
    pub(super) fn assigned_and_used_in_loops(&self) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        let is_listed = |name: &&'a str| {
            self.used_in_loops.contains(name) && !self.kept.contains(name) && seen.insert(*name)
        };
        self.assigned.iter().copied().filter(is_listed).collect()
    }

    fn keep(&mut self, name: &'a str) {
        self.kept.insert(name);
    }

    fn assign(&mut self, name: &'a str) {
        self.assigned.push(name);
        self.note_use(name);
    }

    fn note_use(&mut self, name: &'a str) {
        if self.loop_depth > 0 {
            self.used_in_loops.insert(name);
        }
    }

    fn visit_defaults(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
        }
    }

    /// Keeps `Point` in `Point = namedtuple("Point", …)`: `pickle` finds a class by its name.
    fn keep_named_objects(&mut self, assign: &'a StmtAssign) {
        let Expr::Call(call) = &*assign.value else { return };
        let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        for argument in call.arguments.args.iter().chain(keywords) {
            let Expr::StringLiteral(text) = argument else { continue };
            for target in &assign.targets {
                if let Expr::Name(name) = target
                    && text.value.to_str() == name.id.as_str()
                {
                    self.keep(&name.id);
                }
            }
        }
    }
}

impl<'a> Visitor<'a> for Bindings<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(it) => {
                self.keep(&it.name);
                it.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_defaults(&it.parameters);
            }
            Stmt::ClassDef(it) => {
                self.keep(&it.name);
                it.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                if let Some(arguments) = &it.arguments {
                    walk_arguments(self, arguments);
                }
            }
            Stmt::TypeAlias(it) => {
                if let Expr::Name(name) = &*it.name {
                    self.keep(&name.id);
                }
            }
            Stmt::Global(it) => it.names.iter().for_each(|name| self.keep(name)),
            Stmt::Return(_) => self.returns = true,
            Stmt::Assign(it) => {
                self.keep_named_objects(it);
                walk_stmt(self, stmt);
            }
            // Without a value, nothing is assigned.
            Stmt::AnnAssign(it) => {
                if let Some(value) = &it.value {
                    self.visit_expr(value);
                    self.visit_expr(&it.target);
                }
            }
            Stmt::For(it) => {
                self.visit_expr(&it.iter);
                self.loop_depth += 1;
                self.visit_expr(&it.target);
                self.visit_body(&it.body);
                self.loop_depth -= 1;
                self.visit_body(&it.orelse);
            }
            Stmt::While(it) => {
                self.loop_depth += 1;
                self.visit_expr(&it.test);
                self.visit_body(&it.body);
                self.loop_depth -= 1;
                self.visit_body(&it.orelse);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(it) => match it.ctx {
                ExprContext::Store => self.assign(&it.id),
                ExprContext::Del => self.keep(&it.id),
                ExprContext::Load | ExprContext::Invalid => self.note_use(&it.id),
            },
            Expr::Lambda(it) => {
                if let Some(parameters) = &it.parameters {
                    self.visit_defaults(parameters);
                }
            }
            _ => match ComprehensionParts::of(expr) {
                Some(parts) => {
                    parts.first_iterable().into_iter().for_each(|it| self.visit_expr(it))
                }
                None => walk_expr(self, expr),
            },
        }
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        self.keep(name.split('.').next().unwrap_or(name));
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(it) = handler;
        it.name.iter().for_each(|name| self.keep(name));
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        captured_name(pattern).into_iter().for_each(|name| self.assign(name));
        walk_pattern(self, pattern);
    }
}

/// The name that a pattern itself binds, apart from the patterns inside it.
pub(super) fn captured_name(pattern: &Pattern) -> Option<&str> {
    let name = match pattern {
        Pattern::MatchAs(it) => it.name.as_ref(),
        Pattern::MatchStar(it) => it.name.as_ref(),
        Pattern::MatchMapping(it) => it.rest.as_ref(),
        _ => None,
    };
    name.map(|name| name.as_str())
}
