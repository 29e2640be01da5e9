//! Converts a shape into a JSON Schema, so that it can be used like a declared schema.

use serde_json::{Map, Value, json};

use super::{Kind, ObjectShape, Shape};
use crate::python_text::PYTHON_LITERAL_FORMAT;

impl Shape {
    /// The shape as a JSON Schema.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut alternatives: Vec<Value> = Vec::new();
        alternatives.extend(self.object.as_ref().map(ObjectShape::schema));
        let items = self.items.as_ref();
        alternatives.extend(items.map(|it| json!({ "type": "array", "items": it.schema() })));
        let names: Vec<&str> = self.kinds.iter().filter_map(|kind| self.name(*kind)).collect();
        match names.as_slice() {
            [] => {}
            ["string"] if self.kinds.contains(&Kind::PythonLiteral) => {
                alternatives.push(json!({ "type": "string", "format": PYTHON_LITERAL_FORMAT }));
            }
            [name] => alternatives.push(json!({ "type": name })),
            names => alternatives.push(json!({ "type": names })),
        }
        match alternatives.len() {
            0 => json!({}),
            1 => alternatives.remove(0),
            _ => json!({ "anyOf": alternatives }),
        }
    }

    fn name(&self, kind: Kind) -> Option<&'static str> {
        Some(match kind {
            Kind::Boolean => "boolean",
            // The type `number` includes integers.
            Kind::Integer if self.kinds.contains(&Kind::Number) => return None,
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::String if self.kinds.contains(&Kind::PythonLiteral) => return None,
            Kind::String | Kind::PythonLiteral => "string",
            Kind::Null => "null",
        })
    }
}

impl ObjectShape {
    fn schema(&self) -> Value {
        let mut schema = json!({ "type": "object" });
        let Some(keywords) = schema.as_object_mut() else { return schema };
        if !self.fields.is_empty() {
            let properties: Map<String, Value> =
                self.fields.iter().map(|it| (it.name.clone(), it.shape.schema())).collect();
            keywords.insert("properties".to_owned(), properties.into());
            let always = self.fields.iter().filter(|it| it.seen >= self.seen);
            let required: Vec<&str> = always.map(|it| it.name.as_str()).collect();
            if !required.is_empty() {
                keywords.insert("required".to_owned(), json!(required));
            }
        }
        if let Some(rest) = &self.rest {
            keywords.insert("additionalProperties".to_owned(), rest.schema());
        }
        schema
    }
}
