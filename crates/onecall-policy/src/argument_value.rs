//! The arguments of a call as Cedar values.
//!
//! Only arguments that a policy reads become values. A value that Cedar cannot carry exactly, or that
//! does not have the declared type, is never left out silently: every policy that reads it is an
//! error, and the call is denied.

use std::collections::BTreeMap;

use cedar_policy::RestrictedExpression;
use thiserror::Error;

use crate::argument_type::{ArgumentType, Arguments};
use crate::json::{self, Json, JsonError};
use crate::reads::InputReads;

/// The arguments of a call, as far as policies read them.
pub(crate) struct ArgumentValues {
    /// `context.input`.
    pub(crate) input: RestrictedExpression,
    /// The arguments that cannot be shown to policies, and why.
    pub(crate) unreadable: BTreeMap<String, ValueError>,
}

/// Why a value cannot be shown to policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum ValueError {
    #[error("it is not a string, as the tool's schema says")]
    NotText,
    #[error("it is not an integer, as the tool's schema says")]
    NotInteger,
    #[error("it is an integer of more than 64 bits")]
    LargeInteger,
    #[error("it is not a number, as the tool's schema says")]
    NotNumber,
    #[error(
        "it is a number that Cedar cannot carry: at most four digits after the point, and at most 922337203685477.5807"
    )]
    InexactNumber,
    #[error("it is not true or false, as the tool's schema says")]
    NotBoolean,
    #[error("it is not a list, as the tool's schema says")]
    NotList,
    #[error("it is not an object, as the tool's schema says")]
    NotObject,
    #[error("it has an element that is null")]
    NullElement,
}

/// Reads the arguments that `reads` names.
pub(crate) fn argument_values(
    text: &str,
    types: &Arguments,
    reads: &InputReads,
) -> Result<ArgumentValues, JsonError> {
    let Json::Object(entries) = json::parse(text)? else { return Err(JsonError::Invalid) };
    let mut values = Vec::new();
    let mut unreadable = BTreeMap::new();
    for (name, value) in &entries {
        let Some(argument) = types.get(&**name).filter(|_| reads.contains(name)) else { continue };
        let Ok(kind) = &argument.kind else { continue };
        match typed_value(value, kind) {
            Ok(Some(value)) => values.push((name.to_string(), value)),
            Ok(None) => {}
            Err(why) => {
                unreadable.insert(name.to_string(), why);
            }
        }
    }
    // The parser accepts no key twice.
    let input = RestrictedExpression::new_record(values).map_err(|_| JsonError::DuplicateKey)?;
    Ok(ArgumentValues { input, unreadable })
}

/// The value in Cedar; `None` for null, which counts as absent.
fn typed_value(
    value: &Json<'_>,
    kind: &ArgumentType,
) -> Result<Option<RestrictedExpression>, ValueError> {
    if *value == Json::Null {
        return Ok(None);
    }
    let typed = match (kind, value) {
        (ArgumentType::Text, Json::Text(text)) => {
            RestrictedExpression::new_string(text.to_string())
        }
        (ArgumentType::Text, _) => return Err(ValueError::NotText),
        (ArgumentType::Integer, Json::Number(text)) => {
            RestrictedExpression::new_long(integer(text)?)
        }
        (ArgumentType::Integer, _) => return Err(ValueError::NotInteger),
        (ArgumentType::Number, Json::Number(text)) => {
            RestrictedExpression::new_decimal(decimal(text).ok_or(ValueError::InexactNumber)?)
        }
        (ArgumentType::Number, _) => return Err(ValueError::NotNumber),
        (ArgumentType::Boolean, Json::Boolean(truth)) => RestrictedExpression::new_bool(*truth),
        (ArgumentType::Boolean, _) => return Err(ValueError::NotBoolean),
        (ArgumentType::Set(element), Json::List(items)) => {
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                match typed_value(item, &element.kind)? {
                    Some(value) => values.push(value),
                    None if element.nullable => {}
                    None => return Err(ValueError::NullElement),
                }
            }
            RestrictedExpression::new_set(values)
        }
        (ArgumentType::Set(_), _) => return Err(ValueError::NotList),
        (ArgumentType::Record(types), Json::Object(entries)) => record(entries, types)?,
        (ArgumentType::Record(_), _) => return Err(ValueError::NotObject),
    };
    Ok(Some(typed))
}

/// An object. Entries without a type are left out: no policy can name them.
fn record(
    entries: &[(std::borrow::Cow<'_, str>, Json<'_>)],
    types: &Arguments,
) -> Result<RestrictedExpression, ValueError> {
    let mut values = Vec::new();
    for (name, value) in entries {
        if let Some(Ok(kind)) = types.get(&**name).map(|argument| &argument.kind)
            && let Some(value) = typed_value(value, kind)?
        {
            values.push((name.to_string(), value));
        }
    }
    RestrictedExpression::new_record(values).map_err(|_| ValueError::NotObject)
}

fn integer(text: &str) -> Result<i64, ValueError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ValueError::NotInteger);
    }
    text.parse().map_err(|_| ValueError::LargeInteger)
}

/// A JSON number in the form of Cedar's decimals; `None` if it would be another number there.
fn decimal(text: &str) -> Option<String> {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let kept = significant.trim_end_matches('0');
    if kept.is_empty() {
        return Some("0.0".to_owned());
    }
    let removed = significant.len() - kept.len();
    // The number is `kept` times ten to the power of `scale`.
    let scale = exponent
        .parse::<i64>()
        .ok()?
        .checked_sub(i64::try_from(fraction.len()).ok()?)?
        .checked_add(i64::try_from(removed).ok()?)?;
    if !(-4..=15).contains(&scale) || kept.len() > 19 {
        return None;
    }
    let units: i128 = kept.parse().ok()?;
    // In ten thousandths.
    let units = units.checked_mul(10_i128.checked_pow(u32::try_from(scale + 4).ok()?)?)?;
    let signed = if sign.is_empty() { units } else { -units };
    i64::try_from(signed).ok()?;
    Some(format!("{sign}{}.{:04}", units / 10_000, units % 10_000))
}

#[cfg(test)]
mod tests {
    use cedar_policy::Context;
    use onecall_core::Schema;
    use serde_json::json;

    use super::*;
    use crate::argument_type::argument_types;

    #[test]
    fn numbers_are_exact_or_refused() {
        for (text, expected) in [
            ("0", Some("0.0")),
            ("-0.000", Some("0.0")),
            ("0e999999999999999999999", Some("0.0")),
            ("1", Some("1.0000")),
            ("1.50", Some("1.5000")),
            ("-12.3456", Some("-12.3456")),
            ("1.00000", Some("1.0000")),
            ("1e2", Some("100.0000")),
            ("15E-1", Some("1.5000")),
            ("0.0001", Some("0.0001")),
            ("100e-6", Some("0.0001")),
            ("922337203685477.5807", Some("922337203685477.5807")),
            ("-922337203685477.5808", Some("-922337203685477.5808")),
            ("922337203685477.5808", None),
            ("0.00001", None),
            ("1.23456", None),
            ("0.10000000000000000001", None),
            ("1e400", None),
            ("1e-400", None),
            ("1e99999999999999999999", None),
            ("123456789012345678901234567890", None),
        ] {
            assert_eq!(decimal(text).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("-0", Ok(0)),
            ("9223372036854775807", Ok(i64::MAX)),
            ("-9223372036854775808", Ok(i64::MIN)),
            ("9223372036854775808", Err(ValueError::LargeInteger)),
            ("5.0", Err(ValueError::NotInteger)),
            ("1e3", Err(ValueError::NotInteger)),
        ] {
            assert_eq!(integer(text), expected, "{text}");
        }
    }

    #[test]
    fn only_arguments_that_are_read_become_values() {
        let schema = Schema::from(json!({ "properties": {
            "text": { "type": "string" },
            "count": { "type": "integer" },
            "amount": { "type": "number" },
            "tags": { "type": "array", "items": { "type": "string" } },
            "free": { "type": "object" },
            "place": { "properties": { "city": { "type": "string" }, "floor": { "type": "integer" } } },
        } }));
        let types = argument_types(&schema).unwrap();
        let read = |text: &str, names: &[&str]| {
            let reads = InputReads::Arguments(names.iter().map(ToString::to_string).collect());
            let values = argument_values(text, &types, &reads);
            let show = |values: ArgumentValues| {
                let context = Context::from_pairs([("input".to_owned(), values.input)]).unwrap();
                (context.get("input").unwrap().to_string(), values.unreadable)
            };
            values.map(show)
        };
        let all = r#"{"text": "a", "count": null, "amount": 1.25, "tags": ["x"], "free": {"a": 1},
            "place": {"city": "Ulm", "floor": null, "more": 1}, "Text": "b", "unknown": 1e999}"#;
        let names = ["text", "count", "amount", "tags", "free", "place", "Text", "unknown"];
        let (input, unreadable) = read(all, &names).unwrap();
        assert_eq!(
            input,
            r#"{"amount": decimal("1.2500"), "place": {"city": "Ulm"}, "tags": ["x"], "text": "a"}"#
        );
        assert!(unreadable.is_empty());
        let wrong = r#"{"text": 1, "count": 1.0, "amount": 0.123456, "tags": ["x", null],
            "place": {"city": ["Ulm"]}}"#;
        let (input, unreadable) = read(wrong, &names).unwrap();
        assert_eq!(input, "{}");
        let expected = [
            ("amount", ValueError::InexactNumber),
            ("count", ValueError::NotInteger),
            ("place", ValueError::NotText),
            ("tags", ValueError::NullElement),
            ("text", ValueError::NotText),
        ];
        assert_eq!(unreadable, expected.map(|(name, why)| (name.to_owned(), why)).into());
        let (_, unreadable) = read(wrong, &[]).unwrap();
        assert!(unreadable.is_empty());
        assert_eq!(read("[]", &[]).err(), Some(JsonError::Invalid));
        assert_eq!(read(r#"{"a": {"b": 1, "b": 1}}"#, &[]).err(), Some(JsonError::DuplicateKey));
    }
}
