//! Reads TypeScript programs.

mod arguments;
mod calls;
mod certain_path;
mod depth;
mod exits;
mod function;
mod import_target;
mod known_values;
mod literal;
mod names;
mod parse;
mod result_use;
mod value_functions;
mod wrapper;

pub use depth::nesting_depth;
pub use import_target::ImportTarget;

use oxc_ast::ast::{Expression, Statement};

use wrapper::unwrapped;

use super::{Finding, ToolLookup, ToolUses};

/// Whether the last statement of a program returns a value or is an expression, other than a call of
/// `console`; `None` if it cannot be parsed.
pub(super) fn ends_with_value(source: &str) -> Option<bool> {
    parse::with_program(source, |program, _| match program.body.last() {
        Some(Statement::ExpressionStatement(it)) => !is_of_console(&it.expression),
        Some(Statement::ReturnStatement(it)) => it.argument.is_some(),
        _ => false,
    })
}

fn is_of_console(expression: &Expression<'_>) -> bool {
    let Expression::CallExpression(call) = unwrapped(expression) else { return false };
    let Expression::StaticMemberExpression(callee) = unwrapped(&call.callee) else { return false };
    matches!(&callee.object, Expression::Identifier(it) if it.name == "console")
}

/// All certain problems in the tool calls of a program; `None` if it cannot be parsed.
pub(super) fn findings(source: &str, tools: &dyn ToolLookup) -> Option<Vec<Finding>> {
    parse::with_program(source, |program, lines| certain_path::findings(program, lines, tools))
}

/// The tools that a program may call; `None` if it cannot be parsed.
pub(super) fn tool_uses(source: &str) -> Option<ToolUses> {
    parse::with_program(source, calls::tool_uses)
}
