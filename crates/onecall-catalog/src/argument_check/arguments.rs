//! Checks the arguments of a call that is about to be sent.

use std::collections::HashSet;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::partial_value::ValueRef;
use super::path::ValuePath;
use super::{ArgumentMismatch, SchemaCheck, Strictness, check_part};

/// Arguments that passed the check.
#[derive(Debug, Default)]
pub struct CheckedArguments {
    /// The arguments to send instead of the given ones; `None` if those are sent unchanged.
    pub arguments: Option<Box<RawValue>>,
    /// Notes to append to the server's error, if it rejects the arguments.
    pub notes: Vec<String>,
}

/// Checks the arguments of a call against its tool's schema.
///
/// A program writes `None` for an argument that it leaves to the server. If the schema does not
/// accept null, the argument is left out, and all others are sent unchanged.
///
/// # Errors
/// All reasons why the arguments cannot be valid.
pub fn check_arguments(
    schema: &Value,
    arguments: &RawValue,
    strictness: Strictness,
) -> Result<CheckedArguments, Vec<ArgumentMismatch>> {
    // Arguments that are too deep or too large to be parsed here may still be valid.
    let Ok(value) = serde_json::from_str::<Value>(arguments.get()) else {
        return Ok(CheckedArguments::default());
    };
    let left_out = left_out(schema, ValueRef::Complete(&value));
    let notes = check_part(schema, ValueRef::Complete(&value), &left_out, strictness)?;
    let arguments = if left_out.is_empty() { None } else { without_entries(arguments, &left_out) };
    Ok(CheckedArguments { arguments, notes })
}

/// The names of all arguments that are null although the schema neither accepts null nor requires
/// them.
pub(super) fn left_out<'v>(schema: &Value, arguments: ValueRef<'v>) -> Vec<&'v str> {
    if let Some(Value::Object(entries)) = arguments.value()
        && !entries.values().any(Value::is_null)
    {
        return Vec::new();
    }
    let is_null = |part: ValueRef<'_>| part.value().is_some_and(Value::is_null);
    let mut nulls = arguments.entries().unwrap_or_default();
    nulls.retain(|(_, part)| is_null(*part));
    if nulls.is_empty() {
        return Vec::new();
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let required: HashSet<&str> =
        required.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut check = SchemaCheck::new(schema, &[]);
    let nulls = nulls.into_iter().filter(|(name, part)| {
        let property = properties.and_then(|properties| properties.get(*name));
        let Some(property) = property.filter(|_| !required.contains(name)) else { return false };
        let mut mismatches = Vec::new();
        check.value(property, *part, ValuePath::Root, 1, &mut mismatches);
        !mismatches.is_empty()
    });
    nulls.map(|(name, _)| name).collect()
}

/// The object without these entries. Numbers keep every digit.
fn without_entries(arguments: &RawValue, left_out: &[&str]) -> Option<Box<RawValue>> {
    let Entries(entries) = serde_json::from_str(arguments.get()).ok()?;
    let mut kept = String::from("{");
    for (name, value) in entries.iter().filter(|(name, _)| !left_out.contains(&name.as_str())) {
        if kept.len() > 1 {
            kept.push(',');
        }
        kept.push_str(&serde_json::to_string(name).ok()?);
        kept.push(':');
        kept.push_str(value.get());
    }
    kept.push('}');
    RawValue::from_string(kept).ok()
}

/// An object whose values are not parsed.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}
