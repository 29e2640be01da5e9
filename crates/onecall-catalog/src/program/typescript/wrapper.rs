//! Sees through what surrounds an expression without changing its value: parentheses and types.

use oxc_ast::ast::Expression;

/// The expression inside parentheses, type assertions and non-null marks.
pub(super) fn unwrapped<'s, 'a>(mut expression: &'s Expression<'a>) -> &'s Expression<'a> {
    loop {
        expression = match expression {
            Expression::ParenthesizedExpression(it) => &it.expression,
            Expression::TSAsExpression(it) => &it.expression,
            Expression::TSSatisfiesExpression(it) => &it.expression,
            Expression::TSTypeAssertion(it) => &it.expression,
            Expression::TSNonNullExpression(it) => &it.expression,
            Expression::TSInstantiationExpression(it) => &it.expression,
            _ => return expression,
        };
    }
}
