//! Finds variables of the top level that may be read before they are assigned.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::visitor::{Visitor, walk_arguments, walk_expr, walk_pattern, walk_stmt};
use ruff_python_ast::{
    ElifElseClause, ExceptHandler, Expr, ExprContext, Number, Parameters, Pattern, Stmt, StmtFor,
    StmtIf, StmtMatch, StmtTry, StmtWhile, StmtWith,
};

use super::bindings::captured_name;
use super::{ComprehensionParts, MAX_NAMES};

/// The names among `names` that the top level may read before it has assigned them. None of them is
/// ever deleted.
pub(super) fn uncertain_reads<'a>(body: &'a [Stmt], names: &[&'a str]) -> HashSet<&'a str> {
    let numbers = names.iter().copied().enumerate().map(|(number, name)| (name, number)).collect();
    let mut flow = Flow {
        numbers,
        assigned: Assigned::default(),
        at_breaks: Vec::new(),
        uncertain: HashSet::new(),
    };
    flow.visit_body(body);
    flow.uncertain
}

const BITS: usize = 64;

/// The variables that are certainly assigned at a point of the program, as a set of their numbers.
#[derive(Clone, Copy, Default)]
struct Assigned([u64; MAX_NAMES.div_ceil(BITS)]);

impl Assigned {
    /// The state at a point that is never reached: whatever is said about it is true.
    const UNREACHABLE: Self = Self([u64::MAX; MAX_NAMES.div_ceil(BITS)]);

    fn insert(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / BITS) {
            *word |= 1 << (number % BITS);
        }
    }

    fn contains(&self, number: usize) -> bool {
        self.0.get(number / BITS).is_some_and(|word| word & (1 << (number % BITS)) != 0)
    }

    /// The state at a point that is reached from either of two points.
    fn or(self, other: Self) -> Self {
        self.combine(other, |a, b| a & b)
    }

    /// The state at a point that is reached after both of two points.
    fn and(self, other: Self) -> Self {
        self.combine(other, |a, b| a | b)
    }

    fn combine(mut self, other: Self, operation: fn(u64, u64) -> u64) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word = operation(*word, other);
        }
        self
    }
}

/// Follows the top level in the order in which it is executed.
struct Flow<'a> {
    numbers: HashMap<&'a str, usize>,
    /// The state at the current point.
    assigned: Assigned,
    /// For each loop around the current point, the state after any `break` of it.
    at_breaks: Vec<Assigned>,
    uncertain: HashSet<&'a str>,
}

impl<'a> Flow<'a> {
    fn read(&mut self, name: &'a str) {
        if self.numbers.get(name).is_some_and(|number| !self.assigned.contains(*number)) {
            self.uncertain.insert(name);
        }
    }

    fn assign(&mut self, name: &str) {
        if let Some(number) = self.numbers.get(name) {
            self.assigned.insert(*number);
        }
    }

    fn visit_defaults(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
        }
    }

    /// Follows something that may not be executed.
    fn perhaps(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = self.assigned;
        visit(self);
        self.assigned = before;
    }

    fn visit_if(&mut self, stmt: &'a StmtIf) {
        self.visit_expr(&stmt.test);
        let mut otherwise = self.assigned;
        self.visit_body(&stmt.body);
        let mut after = self.assigned;
        let mut has_else = false;
        for ElifElseClause { test, body, .. } in &stmt.elif_else_clauses {
            self.assigned = otherwise;
            match test {
                Some(test) => self.visit_expr(test),
                None => has_else = true,
            }
            otherwise = self.assigned;
            self.visit_body(body);
            after = after.or(self.assigned);
        }
        self.assigned = if has_else { after } else { after.or(otherwise) };
    }

    /// Follows the body of a loop, and what is executed after it: `exhausted` is the state when the
    /// loop ends without a `break`.
    fn visit_loop(&mut self, body: &'a [Stmt], orelse: &'a [Stmt], exhausted: Assigned) {
        self.at_breaks.push(Assigned::UNREACHABLE);
        self.visit_body(body);
        let at_break = self.at_breaks.pop().unwrap_or_default();
        self.assigned = exhausted;
        self.visit_body(orelse);
        self.assigned = self.assigned.or(at_break);
    }

    fn visit_for(&mut self, stmt: &'a StmtFor) {
        self.visit_expr(&stmt.iter);
        let exhausted = self.assigned;
        self.visit_expr(&stmt.target);
        self.visit_loop(&stmt.body, &stmt.orelse, exhausted);
    }

    fn visit_while(&mut self, stmt: &'a StmtWhile) {
        self.visit_expr(&stmt.test);
        let exhausted =
            if is_always_true(&stmt.test) { Assigned::UNREACHABLE } else { self.assigned };
        self.visit_loop(&stmt.body, &stmt.orelse, exhausted);
    }

    /// Follows a `with` statement, which may suppress an exception at any point of its body.
    fn visit_with(&mut self, stmt: &'a StmtWith) {
        self.perhaps(|flow| {
            stmt.items.iter().for_each(|item| flow.visit_with_item(item));
            flow.visit_body(&stmt.body);
        });
    }

    /// Follows a `try` statement, whose body may fail at any point.
    fn visit_try(&mut self, stmt: &'a StmtTry) {
        let before = self.assigned;
        self.visit_body(&stmt.body);
        self.visit_body(&stmt.orelse);
        let mut after = self.assigned;
        for ExceptHandler::ExceptHandler(handler) in &stmt.handlers {
            self.assigned = before;
            handler.type_.iter().for_each(|kind| self.visit_expr(kind));
            self.visit_body(&handler.body);
            after = after.or(self.assigned);
        }
        self.assigned = before;
        self.visit_body(&stmt.finalbody);
        self.assigned = self.assigned.and(after);
    }

    fn visit_match(&mut self, stmt: &'a StmtMatch) {
        self.visit_expr(&stmt.subject);
        let before = self.assigned;
        let mut after = Assigned::UNREACHABLE;
        for case in &stmt.cases {
            self.assigned = before;
            self.visit_pattern(&case.pattern);
            case.guard.iter().for_each(|guard| self.visit_expr(guard));
            self.visit_body(&case.body);
            after = after.or(self.assigned);
        }
        let is_exhaustive =
            stmt.cases.iter().any(|it| it.guard.is_none() && it.pattern.is_irrefutable());
        self.assigned = if is_exhaustive { after } else { after.or(before) };
    }
}

impl<'a> Visitor<'a> for Flow<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(it) => {
                it.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_defaults(&it.parameters);
            }
            Stmt::ClassDef(it) => {
                it.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                if let Some(arguments) = &it.arguments {
                    walk_arguments(self, arguments);
                }
            }
            Stmt::Assign(it) => {
                self.visit_expr(&it.value);
                it.targets.iter().for_each(|target| self.visit_expr(target));
            }
            Stmt::AugAssign(it) => {
                match &*it.target {
                    Expr::Name(name) => self.read(&name.id),
                    target => self.visit_expr(target),
                }
                self.visit_expr(&it.value);
                if let Expr::Name(name) = &*it.target {
                    self.assign(&name.id);
                }
            }
            Stmt::AnnAssign(it) => {
                it.value.iter().for_each(|value| self.visit_expr(value));
                if it.value.is_some() || !it.target.is_name_expr() {
                    self.visit_expr(&it.target);
                }
            }
            Stmt::If(it) => self.visit_if(it),
            Stmt::For(it) => self.visit_for(it),
            Stmt::While(it) => self.visit_while(it),
            Stmt::With(it) => self.visit_with(it),
            Stmt::Try(it) => self.visit_try(it),
            Stmt::Match(it) => self.visit_match(it),
            Stmt::Assert(it) => {
                self.visit_expr(&it.test);
                self.perhaps(|flow| it.msg.iter().for_each(|message| flow.visit_expr(message)));
            }
            Stmt::Break(_) => {
                if let Some(at_break) = self.at_breaks.last_mut() {
                    *at_break = at_break.or(self.assigned);
                }
                self.assigned = Assigned::UNREACHABLE;
            }
            Stmt::Raise(_) | Stmt::Return(_) | Stmt::Continue(_) => {
                walk_stmt(self, stmt);
                self.assigned = Assigned::UNREACHABLE;
            }
            Stmt::TypeAlias(_) => {}
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(it) => match it.ctx {
                ExprContext::Store => self.assign(&it.id),
                _ => self.read(&it.id),
            },
            Expr::BoolOp(it) => {
                let mut values = it.values.iter();
                values.next().into_iter().for_each(|value| self.visit_expr(value));
                self.perhaps(|flow| values.for_each(|value| flow.visit_expr(value)));
            }
            // Of `a < b < c`, `c` is evaluated only if `a < b`.
            Expr::Compare(it) => {
                self.visit_expr(&it.left);
                let mut values = it.comparators.iter();
                values.next().into_iter().for_each(|value| self.visit_expr(value));
                self.perhaps(|flow| values.for_each(|value| flow.visit_expr(value)));
            }
            Expr::If(it) => {
                self.visit_expr(&it.test);
                self.perhaps(|flow| flow.visit_expr(&it.body));
                self.perhaps(|flow| flow.visit_expr(&it.orelse));
            }
            Expr::Lambda(it) => {
                it.parameters.iter().for_each(|parameters| self.visit_defaults(parameters));
            }
            _ => match ComprehensionParts::of(expr) {
                Some(parts) => {
                    parts.first_iterable().into_iter().for_each(|it| self.visit_expr(it))
                }
                None => walk_expr(self, expr),
            },
        }
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        captured_name(pattern).into_iter().for_each(|name| self.assign(name));
        walk_pattern(self, pattern);
    }
}

/// Whether a condition is a constant like `True` or `1`.
fn is_always_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(it) => it.value,
        Expr::NumberLiteral(it) => {
            matches!(&it.value, Number::Int(number) if number.as_u64().is_some_and(|it| it != 0))
        }
        _ => false,
    }
}
