//! JSON Schemas of tools. A server may list tens of thousands of tools, of which programs use a
//! few, so a schema is kept as text, which takes a fifth of the memory of its parsed form, and is
//! parsed on demand.

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
    /// The JSON text as serde wrote it, so it can always be parsed again.
    text: Arc<str>,
    /// The parsed form, while it is in use or among the [`recent`] ones.
    parsed: Mutex<Weak<Value>>,
    /// Computed on first use.
    output_form: OnceLock<OutputForm>,
}

/// The deepest nesting that can safely be parsed again.
const MAX_DEPTH: usize = 120;

impl Schema {
    /// A schema cut to `depth` levels, and never deeper than can be parsed again. Below them, any
    /// value is accepted.
    #[must_use]
    pub fn with_max_depth(mut value: Value, depth: usize) -> Self {
        truncate_below(&mut value, depth.min(MAX_DEPTH));
        Self::from_text(value.to_string().into())
    }

    fn from_text(text: Arc<str>) -> Self {
        Self { text, parsed: Mutex::default(), output_form: OnceLock::new() }
    }

    /// The schema as one line of JSON.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parsed schema. A schema that was parsed recently is not parsed again, so a call that
    /// checks its arguments pays for the parsing only once.
    #[must_use]
    pub fn value(&self) -> Arc<Value> {
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = parsed.upgrade() {
            return value;
        }
        let value = Arc::new(serde_json::from_str(&self.text).unwrap_or_default());
        *parsed = Arc::downgrade(&value);
        recent::insert(&value, self.text.len());
        value
    }

    /// The names of the properties, in their order.
    #[must_use]
    pub fn property_names(&self) -> Vec<String> {
        let read = || -> Option<ObjectKeys> {
            let SchemaProperties { properties } = serde_json::from_str(&self.text).ok()?;
            serde_json::from_str(properties?.get()).ok()
        };
        read().map(|ObjectKeys(names)| names).unwrap_or_default()
    }
}

/// The part of a schema that lists the properties.
#[derive(Deserialize)]
struct SchemaProperties<'a> {
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
}

/// The keys of a JSON object, in their order.
struct ObjectKeys(Vec<String>);

impl<'de> Deserialize<'de> for ObjectKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectKeysVisitor)
    }
}

struct ObjectKeysVisitor;

impl<'de> Visitor<'de> for ObjectKeysVisitor {
    type Value = ObjectKeys;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut names = Vec::new();
        while let Some((name, _)) = map.next_entry::<String, IgnoredAny>()? {
            names.push(name);
        }
        Ok(ObjectKeys(names))
    }
}

/// Replaces everything below `depth` levels by a schema that accepts any value.
fn truncate_below(value: &mut Value, depth: usize) {
    match value {
        Value::Array(_) | Value::Object(_) if depth == 0 => *value = Value::Bool(true),
        Value::Array(items) => items.iter_mut().for_each(|item| truncate_below(item, depth - 1)),
        Value::Object(entries) => {
            entries.values_mut().for_each(|entry| truncate_below(entry, depth - 1))
        }
        _ => {}
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        Self::with_max_depth(value, MAX_DEPTH)
    }
}

impl Clone for Schema {
    fn clone(&self) -> Self {
        Self { output_form: self.output_form.clone(), ..Self::from_text(Arc::clone(&self.text)) }
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
        assert_eq!(Schema::with_max_depth(deep.clone(), 2).text(), r#"{"not":{"not":true}}"#);
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
