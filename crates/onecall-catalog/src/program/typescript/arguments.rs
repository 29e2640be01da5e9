//! Reads the arguments of one call in a TypeScript program.

use onecall_core::ToolSpec;
use oxc_ast::ast::{Argument, Expression};

use super::literal::{entries, is_not_object, partial_value};
use super::wrapper::unwrapped;
use crate::program::call_arguments::GivenArguments;

/// The certain problems with the arguments of a call to `spec`.
pub(super) fn problems(spec: &ToolSpec, arguments: &[Argument<'_>]) -> Vec<String> {
    let expressions: Option<Vec<&Expression<'_>>> =
        arguments.iter().map(Argument::as_expression).collect();
    let Some(expressions) = expressions else { return Vec::new() };
    let given = match expressions.as_slice() {
        [] => GivenArguments::default(),
        [only] => match unwrapped(only) {
            Expression::ObjectExpression(object) => match entries(object) {
                Some(entries) => GivenArguments { entries, complete: true },
                None => return Vec::new(),
            },
            other if is_not_object(other) => positional(spec, &expressions),
            _ => return Vec::new(),
        },
        several if several.iter().any(|it| is_undefined(it)) => return Vec::new(),
        several => positional(spec, several),
    };
    let parameters = spec.parameters().len();
    if expressions.len() > 1 && expressions.len() > parameters {
        let given = expressions.len();
        return vec![format!(
            "it takes one object, or at most {parameters} arguments, but {given} were given"
        )];
    }
    given.problems(spec)
}

fn positional(spec: &ToolSpec, given: &[&Expression<'_>]) -> GivenArguments {
    let values = given.iter().map(|it| partial_value(it));
    GivenArguments { entries: spec.parameters().into_iter().zip(values).collect(), complete: true }
}

fn is_undefined(expression: &Expression<'_>) -> bool {
    matches!(unwrapped(expression), Expression::Identifier(it) if it.name == "undefined")
}
