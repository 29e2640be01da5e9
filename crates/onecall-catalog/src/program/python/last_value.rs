//! Finds out whether a Python program ends with an expression that may have a value.

use ruff_python_ast::{Expr, Stmt};

/// Functions that have no value.
const WITHOUT_VALUE: [&str; 3] = ["print", "display", "help"];

/// Whether the last statement returns a value or is an expression, other than a call that prints.
pub(in crate::program) fn ends_with_value(body: &[Stmt]) -> bool {
    let value = match body.last() {
        Some(Stmt::Expr(it)) => &*it.value,
        Some(Stmt::Return(it)) => return it.value.is_some(),
        _ => return false,
    };
    match value {
        Expr::Call(call) => {
            !matches!(&*call.func, Expr::Name(it) if WITHOUT_VALUE.contains(&it.id.as_str()))
        }
        // A text alone is a comment.
        Expr::StringLiteral(_) => body.len() == 1,
        _ => true,
    }
}
