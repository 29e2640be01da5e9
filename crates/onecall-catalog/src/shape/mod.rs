//! Shapes of values: keys and types, never a value. The shapes of several values are merged into
//! one that matches them all.
//!
//! A key can be data as well (`{"E001": …}`, a date, an address). Only keys that look like field
//! names are kept; the values of all others share one shape.

mod key;
mod read;
mod schema;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub(crate) use read::MAX_DEPTH;

/// The largest number of keys of an object that are kept.
const MAX_FIELDS: usize = 64;
/// A key that fewer than one in `RARE` objects has counts as data, once `MANY_OBJECTS` were seen.
const MANY_OBJECTS: u64 = 8;
const RARE: u64 = 8;
/// The number of fields with equal shapes that makes an object a map.
const MANY_ALIKE: usize = 32;
/// The largest number of nodes of a shape.
const MAX_NODES: usize = 400;

/// The shape of values.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shape {
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    kinds: BTreeSet<Kind>,
    /// The shape of list items.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Box<Shape>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectShape>,
}

/// The type of a value without children.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Boolean,
    Integer,
    Number,
    String,
    /// A string that is a value as Python prints it.
    PythonLiteral,
    Null,
}

/// The shape of objects.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
struct ObjectShape {
    /// The number of objects seen.
    seen: u64,
    fields: Vec<Field>,
    /// The shape of the values of keys that are not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<Box<Shape>>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Field {
    name: String,
    /// The number of objects that had the field.
    seen: u64,
    shape: Shape,
}

impl Shape {
    /// Merges another shape into this one.
    pub fn merge(&mut self, other: Self) {
        self.join(other);
        // Removes the deepest levels until the shape is small enough.
        let mut depth = MAX_DEPTH;
        while self.nodes() > MAX_NODES && depth > 0 {
            depth -= 1;
            self.flatten(depth);
        }
    }

    /// Serializes the shape for storage.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a stored shape; `None` if it is invalid.
    #[must_use]
    pub fn from_json(json: &str) -> Option<Self> {
        let mut shape: Self = serde_json::from_str(json).ok()?;
        shape.flatten(MAX_DEPTH);
        Some(shape)
    }

    fn of(kind: Kind) -> Self {
        Self { kinds: BTreeSet::from([kind]), ..Self::default() }
    }

    fn join(&mut self, other: Self) {
        self.kinds.extend(other.kinds);
        match (&mut self.items, other.items) {
            (Some(items), Some(more)) => items.join(*more),
            (items @ None, more) => *items = more,
            (Some(_), None) => {}
        }
        match (&mut self.object, other.object) {
            (Some(keys), Some(more)) => keys.join(more),
            (keys @ None, more) => *keys = more,
            (Some(_), None) => {}
        }
    }

    fn nodes(&self) -> usize {
        let items = self.items.as_ref().map_or(0, |it| it.nodes());
        let fields = self.object.iter().flat_map(|keys| &keys.fields);
        let rest = self.object.as_ref().and_then(|keys| keys.rest.as_ref());
        1 + items
            + fields.map(|it| it.shape.nodes()).sum::<usize>()
            + rest.map_or(0, |it| it.nodes())
    }

    /// Removes everything below this depth.
    fn flatten(&mut self, depth: usize) {
        if let Some(items) = &mut self.items {
            match depth.checked_sub(1) {
                Some(depth) => items.flatten(depth),
                None => **items = Self::default(),
            }
        }
        if let Some(keys) = &mut self.object {
            match depth.checked_sub(1) {
                Some(depth) => {
                    keys.fields.iter_mut().for_each(|it| it.shape.flatten(depth));
                    keys.rest.iter_mut().for_each(|it| it.flatten(depth));
                }
                None => *keys = ObjectShape { seen: keys.seen, ..ObjectShape::default() },
            }
        }
    }
}

impl ObjectShape {
    fn join(&mut self, other: Self) {
        self.seen = self.seen.saturating_add(other.seen);
        for field in other.fields {
            match self.fields.iter_mut().find(|it| it.name == field.name) {
                Some(known) => {
                    known.seen = known.seen.saturating_add(field.seen);
                    known.shape.join(field.shape);
                }
                None => self.fields.push(field),
            }
        }
        if let Some(rest) = other.rest {
            self.merge_into_rest(*rest);
        }
        self.move_data_keys_to_rest();
    }

    /// Merges the shape of a value into `rest`, without its key.
    fn merge_into_rest(&mut self, shape: Shape) {
        match &mut self.rest {
            Some(rest) => rest.join(shape),
            None => self.rest = Some(Box::new(shape)),
        }
    }

    /// Moves keys that are data to `rest`: keys that few objects have, keys beyond the limit, and
    /// all of them if there are many with equal shapes.
    fn move_data_keys_to_rest(&mut self) {
        let first = self.fields.first().map(|it| it.shape.clone());
        let are_alike = self.fields.len() >= MANY_ALIKE
            && self.fields.iter().all(|it| Some(&it.shape) == first.as_ref());
        let is_many = self.seen >= MANY_OBJECTS;
        let seen = self.seen;
        let mut kept = Vec::new();
        for field in std::mem::take(&mut self.fields) {
            let is_rare = is_many && field.seen.saturating_mul(RARE) < seen;
            if are_alike || is_rare || kept.len() == MAX_FIELDS {
                self.merge_into_rest(field.shape);
            } else {
                kept.push(field);
            }
        }
        self.fields = kept;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn learned(values: &[Value]) -> Value {
        let mut shape = Shape::default();
        for value in values {
            shape.merge(Shape::of_json(&value.to_string()).unwrap());
        }
        assert_eq!(Shape::from_json(&shape.to_json()), Some(shape.clone()));
        shape.schema()
    }

    #[test]
    fn values_become_types() {
        let order = json!({ "id": 7, "total": 9.5, "tags": ["a"], "paid": true, "note": null });
        assert_eq!(
            learned(&[json!([order])]),
            json!({ "type": "array", "items": {
                "type": "object",
                "properties": {
                    "id": { "type": "integer" },
                    "total": { "type": "number" },
                    "tags": { "type": "array", "items": { "type": "string" } },
                    "paid": { "type": "boolean" },
                    "note": { "type": "null" },
                },
                "required": ["id", "total", "tags", "paid", "note"],
            } })
        );
        assert_eq!(learned(&[json!("text")]), json!({ "type": "string" }));
        assert_eq!(learned(&[json!([])]), json!({ "type": "array", "items": {} }));
        assert_eq!(learned(&[json!({})]), json!({ "type": "object" }));
    }

    #[test]
    fn several_values_become_one_type() {
        assert_eq!(
            learned(&[json!({ "a": 1, "b": "x" }), json!({ "a": 1.5 }), json!({ "a": null })]),
            json!({
                "type": "object",
                "properties": { "a": { "type": ["number", "null"] }, "b": { "type": "string" } },
                "required": ["a"],
            })
        );
        assert_eq!(
            learned(&[json!({ "rows": [] }), json!({ "rows": [1] }), json!("no rows")]),
            json!({ "anyOf": [
                { "type": "object", "required": ["rows"], "properties": {
                    "rows": { "type": "array", "items": { "type": "integer" } } } },
                { "type": "string" },
            ] })
        );
    }

    #[test]
    fn keys_that_are_data_are_not_kept() {
        let secret = "alice.smith@example.com";
        let employee = json!({ "name": "x" });
        for value in [
            json!({ "E001": employee, "E002": employee }),
            json!({ "2025-01-31": employee }),
            json!({ secret: employee }),
            json!({ "https://example.com/a": employee }),
            json!({ "123456": employee }),
            json!({ "Zoë Müller": employee }),
            json!({ "550e8400-e29b-41d4-a716-446655440000": employee }),
            json!({ "ghp_AbCdEf1GhIjKlMn2": employee }),
            json!({ "x".repeat(41): employee }),
        ] {
            let expected = json!({ "type": "object", "additionalProperties": {
                "type": "object", "properties": { "name": { "type": "string" } },
                "required": ["name"],
            } });
            assert_eq!(learned(std::slice::from_ref(&value)), expected, "{value}");
        }
        // Some can only be told by how they differ.
        let people = ["ann", "bob", "cem", "dov", "eve", "fay", "gus", "hal", "ida", "jon"];
        let scores: Vec<Value> =
            people.iter().map(|name| json!({ "team": "red", *name: 1 })).collect();
        assert_eq!(
            learned(&scores),
            json!({
                "type": "object",
                "properties": { "team": { "type": "string" } },
                "required": ["team"],
                "additionalProperties": { "type": "integer" },
            })
        );
    }

    #[test]
    fn a_shape_stays_small() {
        let deep = (0..100).fold(json!(1), |inner, _| json!({ "a": inner }));
        let mut shape = Shape::of_json(&deep.to_string()).unwrap();
        for n in 0..500 {
            let letters: String =
                n.to_string().chars().map(|it| char::from(it as u8 - b'0' + b'a')).collect();
            let value = json!({ format!("k{letters}"): { format!("v{letters}"): [n, letters] } });
            shape.merge(Shape::of_json(&value.to_string()).unwrap());
        }
        assert!(shape.nodes() <= MAX_NODES);
        assert!(shape.to_json().len() < 20_000, "{}", shape.to_json().len());
    }

    #[test]
    fn what_is_no_shape_is_none() {
        for text in ["", "5", "{\"kinds\":[\"odd\"]}", "{\"value\":1}"] {
            assert_eq!(Shape::from_json(text), None, "{text}");
        }
        assert_eq!(Shape::of_json("{\"a\":"), None);
        assert_eq!(Shape::of_text("{\"a\":").schema(), json!({ "type": "string" }));
        assert_eq!(Shape::of_text("NaN").schema(), json!({ "type": "number" }));
        assert_eq!(Shape::of_text("NaN and more").schema(), json!({ "type": "string" }));
    }
}
