//! Checks the schema keywords that concern a value by itself: its type, its choices and its bounds.

use serde_json::{Map, Value};

use super::partial_value::{ValueRef, preview, preview_list};

/// The names of types in JSON Schema.
const JSON_TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Up to this size, a linear search is faster than hashing.
pub(super) const MAX_LINEAR_SEARCH: usize = 8;

/// The entry of an object with this name. Most schemas are small, and most lookups fail.
pub(super) fn entry<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o Value> {
    if object.len() > MAX_LINEAR_SEARCH {
        return object.get(name);
    }
    object.iter().find_map(|(key, value)| (key == name).then_some(value))
}

/// The types that a schema accepts; `None` if it does not say, or uses unknown types.
pub(super) fn accepted_types(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    let mut accepted: Vec<&str> = match entry(schema, "type")? {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    if entry(schema, "nullable") == Some(&Value::Bool(true)) {
        accepted.push("null");
    }
    let all_known = accepted.iter().all(|kind| JSON_TYPES.contains(kind));
    (all_known && !accepted.is_empty()).then_some(accepted)
}

/// Whether a value of this type is accepted.
pub(super) fn is_accepted(kind: &str, accepted: &[&str]) -> bool {
    accepted.iter().any(|it| *it == kind || (*it == "number" && kind == "integer"))
}

pub(super) fn wrong_type(schema: &Map<String, Value>, part: ValueRef<'_>) -> Option<String> {
    let kind = part.json_type()?;
    if entry(schema, "type").and_then(Value::as_str) == Some(kind) {
        return None;
    }
    let accepted = accepted_types(schema)?;
    (!is_accepted(kind, &accepted)).then(|| wrong_type_message(part, kind, &accepted))
}

pub(super) fn wrong_type_message(part: ValueRef<'_>, kind: &str, accepted: &[&str]) -> String {
    format!("{} is of type {kind}, not {}", part.preview(), accepted.join(" or "))
}

/// Checks `enum` and `const`. `steps` counts the comparisons; after `most` of them every value
/// counts as equal.
pub(super) fn wrong_choice(
    schema: &Map<String, Value>,
    part: ValueRef<'_>,
    steps: &mut usize,
    most: usize,
) -> Option<String> {
    let value = part.value()?;
    if let Some(choices) = entry(schema, "enum").and_then(Value::as_array)
        && !choices.iter().any(|choice| is_equal(choice, value, steps, most))
    {
        return Some(format!("{} is not one of {}", part.preview(), preview_list(choices)));
    }
    let only = entry(schema, "const").filter(|only| !is_equal(only, value, steps, most))?;
    Some(format!("{} is not {}", part.preview(), preview(only)))
}

fn is_equal(one: &Value, other: &Value, steps: &mut usize, most: usize) -> bool {
    *steps += 1;
    if *steps > most {
        return true;
    }
    match (one, other) {
        // In JSON Schema, 1 and 1.0 are equal.
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().is_some_and(|one| Some(one) == other.as_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_equal(one, other, steps, most))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| {
                    other.get(key).is_some_and(|other| is_equal(one, other, steps, most))
                })
        }
        _ => one == other,
    }
}

pub(super) fn out_of_range(schema: &Map<String, Value>, value: &Value) -> Option<String> {
    let bound = |keyword: &str| entry(schema, keyword).and_then(Value::as_f64);
    match value {
        Value::Number(number) => {
            let number = number.as_f64()?;
            let wrong = [
                ("less than", bound("minimum").filter(|least| number < *least)),
                ("more than", bound("maximum").filter(|most| number > *most)),
                ("not more than", bound("exclusiveMinimum").filter(|least| number <= *least)),
                ("not less than", bound("exclusiveMaximum").filter(|most| number >= *most)),
            ];
            let (how, bound) = wrong.into_iter().find_map(|(how, bound)| Some((how, bound?)))?;
            Some(format!("{value} is {how} {bound}"))
        }
        Value::String(text) => {
            if entry(schema, "minLength").is_none() && entry(schema, "maxLength").is_none() {
                return None;
            }
            let length = text.chars().count() as f64;
            if let Some(least) = bound("minLength").filter(|least| length < *least) {
                return Some(format!("has {length} characters, at least {least} are needed"));
            }
            let most = bound("maxLength").filter(|most| length > *most)?;
            Some(format!("has {length} characters, at most {most} are accepted"))
        }
        _ => None,
    }
}
