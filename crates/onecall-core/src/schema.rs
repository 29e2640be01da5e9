//! JSON Schemas of tools. A server may list tens of thousands of tools, of which programs
//! use a few: a schema is kept as text, which is a fifth of its parsed form, and parsed when
//! it is needed.

mod recent;
mod wrapper;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub use wrapper::{OutputForm, wrapped_schema};

/// A JSON Schema. Clones share its text.
pub struct Schema {
    /// What serde writes for the value, so it can be parsed again.
    text: Arc<str>,
    /// The parsed form, as long as it is in use or among the [`recent`] ones.
    parsed: Mutex<Weak<Value>>,
    /// Set when it is first asked for.
    output_form: OnceLock<OutputForm>,
}

/// Levels of a schema that can certainly be parsed again.
const MAX_DEPTH: usize = 120;

impl Schema {
    /// The schema with no more than this many levels, and never more than can be parsed.
    /// What is below them takes anything.
    #[must_use]
    pub fn within(mut value: Value, depth: usize) -> Self {
        cut(&mut value, depth.min(MAX_DEPTH));
        Self::of_text(value.to_string().into())
    }

    fn of_text(text: Arc<str>) -> Self {
        Self { text, parsed: Mutex::default(), output_form: OnceLock::new() }
    }

    /// The schema as one line of JSON.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parsed schema. One that was parsed a short time ago is not parsed again, so that
    /// a call whose arguments are checked with it pays for that only once.
    #[must_use]
    pub fn value(&self) -> Arc<Value> {
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = parsed.upgrade() {
            return value;
        }
        let value = Arc::new(serde_json::from_str(&self.text).unwrap_or_default());
        *parsed = Arc::downgrade(&value);
        recent::keep(&value, self.text.len());
        value
    }

    /// The names of the properties, in their order.
    #[must_use]
    pub fn property_names(&self) -> Vec<String> {
        let read = || -> Option<Names> {
            let Parts { properties } = serde_json::from_str(&self.text).ok()?;
            serde_json::from_str(properties?.get()).ok()
        };
        read().map(|Names(names)| names).unwrap_or_default()
    }
}

/// The one part of a schema that has names.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
}

/// The keys of an object.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut names = Vec::new();
        while let Some((name, _)) = map.next_entry::<String, IgnoredAny>()? {
            names.push(name);
        }
        Ok(Names(names))
    }
}

/// Replaces what is below `depth` levels by the schema that takes anything.
fn cut(value: &mut Value, depth: usize) {
    match value {
        Value::Array(_) | Value::Object(_) if depth == 0 => *value = Value::Bool(true),
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, depth - 1)),
        Value::Object(entries) => entries.values_mut().for_each(|entry| cut(entry, depth - 1)),
        _ => {}
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        Self::within(value, MAX_DEPTH)
    }
}

impl Clone for Schema {
    fn clone(&self) -> Self {
        Self { output_form: self.output_form.clone(), ..Self::of_text(Arc::clone(&self.text)) }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Schema {}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_what_it_was_made_of() {
        let value = json!({ "properties": { "z": {}, "a\n": true }, "required": ["z"] });
        let schema = Schema::from(value.clone());
        assert_eq!(*schema.value(), value);
        assert_eq!(schema.property_names(), ["z", "a\n"]);
        assert_eq!(json!(schema), value);
        let deep = (0..1_000).fold(json!({}), |inner, _| json!({ "not": inner }));
        assert_eq!(Schema::within(deep.clone(), 2).text(), r#"{"not":{"not":true}}"#);
        assert!(Schema::from(deep).value().is_object());
        for odd in [json!(null), json!(true), json!({}), json!({ "properties": [1] })] {
            assert_eq!(Schema::from(odd.clone()).property_names(), [""; 0]);
            assert_eq!(*Schema::from(odd.clone()).value(), odd);
        }
    }

    #[test]
    fn what_is_in_use_is_parsed_once() {
        let schema = Schema::from(json!({ "type": "object" }));
        let first = schema.value();
        assert!(Arc::ptr_eq(&first, &schema.value()));
        assert!(!Arc::ptr_eq(&first, &schema.clone().value()));
    }
}
