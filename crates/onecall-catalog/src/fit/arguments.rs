//! The arguments of a call that is about to be made, as the text they are sent as.

use std::collections::HashSet;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::known::Part;
use super::place::Place;
use super::{Check, Misfit, Strictness, find};

/// Arguments that may be sent.
#[derive(Debug, Default)]
pub struct Checked {
    /// What to send in place of the arguments as the program gave them; `None` if they go as
    /// they are.
    pub arguments: Option<Box<RawValue>>,
    /// What to add to the server's error, if it does not take them.
    pub notes: Vec<String>,
}

/// Checks the arguments of a call against its tool's schema.
///
/// A program writes `None` for what it leaves to the server. Where the schema takes no
/// null, the argument is left out instead, and every other one sent letter for letter.
///
/// # Errors
/// Every reason why they cannot fit.
pub fn check_arguments(
    schema: &Value,
    arguments: &RawValue,
    strictness: Strictness,
) -> Result<Checked, Vec<Misfit>> {
    // What is too deep or too large to be read here may still be right.
    let Ok(value) = serde_json::from_str::<Value>(arguments.get()) else {
        return Ok(Checked::default());
    };
    let left_out = left_out(schema, Part::Value(&value));
    let notes = find(schema, Part::Value(&value), &left_out, strictness)?;
    let arguments = if left_out.is_empty() { None } else { without(arguments, &left_out) };
    Ok(Checked { arguments, notes })
}

/// The names of every null that the schema neither takes nor needs.
pub(super) fn left_out<'v>(schema: &Value, arguments: Part<'v>) -> Vec<&'v str> {
    if let Some(Value::Object(entries)) = arguments.value()
        && !entries.values().any(Value::is_null)
    {
        return Vec::new();
    }
    let is_null = |part: Part<'_>| part.value().is_some_and(Value::is_null);
    let mut nulls = arguments.entries().unwrap_or_default();
    nulls.retain(|(_, part)| is_null(*part));
    if nulls.is_empty() {
        return Vec::new();
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let required: HashSet<&str> =
        required.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut check = Check::new(schema, &[]);
    let nulls = nulls.into_iter().filter(|(name, part)| {
        let property = properties.and_then(|properties| properties.get(*name));
        let Some(property) = property.filter(|_| !required.contains(name)) else { return false };
        let mut misfits = Vec::new();
        check.value(property, *part, Place::Whole, 1, &mut misfits);
        !misfits.is_empty()
    });
    nulls.map(|(name, _)| name).collect()
}

/// The same object without these entries. Numbers keep every digit.
fn without(arguments: &RawValue, left_out: &[&str]) -> Option<Box<RawValue>> {
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

/// An object whose values are still text.
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
