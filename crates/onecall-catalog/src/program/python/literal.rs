//! Evaluates literals in the source of a program.

use ruff_python_ast::{Expr, ExprDict, Number, UnaryOp};
use serde_json::Value;

use crate::PartialValue;

/// The value of an expression, as far as the source shows it.
pub(super) fn partial_value(expr: &Expr) -> PartialValue {
    let value = match expr {
        Expr::StringLiteral(it) => Some(Value::from(it.value.to_str())),
        Expr::BooleanLiteral(it) => Some(Value::Bool(it.value)),
        Expr::NumberLiteral(it) => number(&it.value, false),
        Expr::UnaryOp(it) if it.op == UnaryOp::USub => match &*it.operand {
            Expr::NumberLiteral(it) => number(&it.value, true),
            _ => None,
        },
        Expr::List(it) => return items(&it.elts),
        Expr::Tuple(it) => return items(&it.elts),
        Expr::Dict(it) => return entries(it).map_or(PartialValue::Unknown, PartialValue::Entries),
        _ => None,
    };
    value.map_or(PartialValue::Unknown, PartialValue::Value)
}

/// The entries of a dict if all keys are known and distinct.
pub(super) fn entries(dict: &ExprDict) -> Option<Vec<(String, PartialValue)>> {
    let mut entries: Vec<(String, PartialValue)> = Vec::new();
    for item in &dict.items {
        let Some(Expr::StringLiteral(key)) = &item.key else { return None };
        entries.push((key.value.to_str().to_owned(), partial_value(&item.value)));
    }
    let mut keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.is_sorted_by(|one, other| one < other).then_some(entries)
}

/// Whether a value is certainly not a dict.
pub(super) fn is_not_dict(expr: &Expr) -> bool {
    expr.is_literal_expr()
        || matches!(expr, Expr::FString(_) | Expr::List(_) | Expr::Tuple(_) | Expr::ListComp(_))
}

fn items(items: &[Expr]) -> PartialValue {
    if items.iter().any(Expr::is_starred_expr) {
        return PartialValue::Unknown;
    }
    PartialValue::Items(items.iter().map(partial_value).collect())
}

fn number(number: &Number, negative: bool) -> Option<Value> {
    match number {
        Number::Int(int) => {
            Some(Value::from(if negative { -int.as_i64()? } else { int.as_i64()? }))
        }
        Number::Float(float) => {
            let value = if negative { -float } else { *float };
            serde_json::Number::from_f64(value).map(Value::Number)
        }
        Number::Complex { .. } => None,
    }
}
