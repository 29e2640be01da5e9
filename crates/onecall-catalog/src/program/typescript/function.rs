//! The functions of a TypeScript program that can be followed.

use oxc_ast::ast::{ArrowFunctionExpression, Expression, Function};

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
