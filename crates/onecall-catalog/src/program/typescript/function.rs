//! The functions of a TypeScript program that can be followed, and statements that leave a body.

use oxc_ast::ast::{
    ArrowFunctionExpression, Class, Expression, Function, ReturnStatement, Statement,
    ThrowStatement,
};
use oxc_ast_visit::Visit;
use oxc_syntax::scope::ScopeFlags;

use super::wrapper::unwrapped;

/// A function whose body is known.
#[derive(Clone, Copy)]
pub(super) enum FollowedFunction<'s, 'a> {
    Function(&'s Function<'a>),
    Arrow(&'s ArrowFunctionExpression<'a>),
}

impl<'s, 'a> FollowedFunction<'s, 'a> {
    /// The function that an expression creates.
    pub(super) fn of(expression: &'s Expression<'a>) -> Option<Self> {
        match unwrapped(expression) {
            Expression::FunctionExpression(it) => Some(Self::Function(it)),
            Expression::ArrowFunctionExpression(it) => Some(Self::Arrow(it)),
            _ => None,
        }
    }

    pub(super) fn is_async(self) -> bool {
        match self {
            Self::Function(it) => it.r#async,
            Self::Arrow(it) => it.r#async,
        }
    }

    pub(super) fn is_generator(self) -> bool {
        matches!(self, Self::Function(it) if it.generator)
    }
}

/// Whether a statement may return from the function or the program, or throw an exception, so that
/// the statements after it may not run.
pub(super) fn may_leave(statement: &Statement<'_>) -> bool {
    let mut exits = Exits { found: false };
    exits.visit_statement(statement);
    exits.found
}

struct Exits {
    found: bool,
}

impl<'a> Visit<'a> for Exits {
    fn visit_return_statement(&mut self, _it: &ReturnStatement<'a>) {
        self.found = true;
    }

    fn visit_throw_statement(&mut self, _it: &ThrowStatement<'a>) {
        self.found = true;
    }

    fn visit_function(&mut self, _it: &Function<'a>, _flags: ScopeFlags) {}

    fn visit_arrow_function_expression(&mut self, _it: &ArrowFunctionExpression<'a>) {}

    fn visit_class(&mut self, _it: &Class<'a>) {}
}
