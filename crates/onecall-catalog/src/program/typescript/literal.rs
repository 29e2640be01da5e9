//! Evaluates literals in the source of a TypeScript program.

use oxc_ast::ast::{
    ArrayExpressionElement, Expression, ObjectExpression, ObjectPropertyKind, PropertyKey,
    PropertyKind,
};
use oxc_syntax::operator::UnaryOperator;
use serde_json::Value;

use super::wrapper::unwrapped;
use crate::PartialValue;

/// The value of an expression, as far as the source shows it.
pub(super) fn partial_value(expression: &Expression<'_>) -> PartialValue {
    let value = match unwrapped(expression) {
        Expression::StringLiteral(it) => Some(Value::from(it.value.as_str())),
        Expression::TemplateLiteral(it) if it.expressions.is_empty() => {
            it.quasis.first().and_then(|part| part.value.cooked).map(|it| Value::from(it.as_str()))
        }
        Expression::BooleanLiteral(it) => Some(Value::Bool(it.value)),
        Expression::NumericLiteral(it) => number(it.value),
        Expression::UnaryExpression(it) if it.operator == UnaryOperator::UnaryNegation => {
            match unwrapped(&it.argument) {
                Expression::NumericLiteral(it) => number(-it.value),
                _ => None,
            }
        }
        Expression::ArrayExpression(it) => return items(&it.elements),
        Expression::ObjectExpression(it) => {
            return entries(it).map_or(PartialValue::Unknown, PartialValue::Entries);
        }
        _ => None,
    };
    value.map_or(PartialValue::Unknown, PartialValue::Value)
}

/// The entries of an object if all keys are known and distinct.
pub(super) fn entries(object: &ObjectExpression<'_>) -> Option<Vec<(String, PartialValue)>> {
    let mut entries: Vec<(String, PartialValue)> = Vec::new();
    for property in &object.properties {
        let ObjectPropertyKind::ObjectProperty(property) = property else { return None };
        let key = match &property.key {
            PropertyKey::StaticIdentifier(key) => key.name.as_str(),
            PropertyKey::StringLiteral(key) => key.value.as_str(),
            _ => return None,
        };
        if property.kind != PropertyKind::Init || property.computed || key == "__proto__" {
            return None;
        }
        entries.push((key.to_owned(), partial_value(&property.value)));
    }
    let mut keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.is_sorted_by(|one, other| one < other).then_some(entries)
}

/// Whether a value is certainly not an object with named entries.
pub(super) fn is_not_object(expression: &Expression<'_>) -> bool {
    matches!(
        unwrapped(expression),
        Expression::StringLiteral(_)
            | Expression::TemplateLiteral(_)
            | Expression::BooleanLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::ArrayExpression(_)
    )
}

fn items(elements: &[ArrayExpressionElement<'_>]) -> PartialValue {
    let items: Option<Vec<PartialValue>> =
        elements.iter().map(|element| element.as_expression().map(partial_value)).collect();
    items.map_or(PartialValue::Unknown, PartialValue::Items)
}

#[expect(clippy::cast_possible_truncation, reason = "only whole numbers that fit are converted")]
fn number(value: f64) -> Option<Value> {
    /// Whole numbers up to this one have an exact representation.
    const LARGEST_SAFE: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && value.abs() <= LARGEST_SAFE {
        return Some(Value::from(value as i64));
    }
    serde_json::Number::from_f64(value).map(Value::Number)
}
