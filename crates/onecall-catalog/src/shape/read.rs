//! Derives a shape from JSON text in one pass, without storing any value.

use std::fmt;

use onecall_core::replace_nonfinite;
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::key::is_field_name;
use super::{Field, Kind, MAX_FIELDS, ObjectShape, Shape};
use crate::python_text::PythonText;

/// The deepest level that is read.
pub(crate) const MAX_DEPTH: usize = 6;
/// The largest number of list items that are read.
const MAX_ITEMS: usize = 100;

impl Shape {
    /// The shape of a JSON document; `None` if it is invalid.
    #[must_use]
    pub fn of_json(json: &str) -> Option<Self> {
        let mut source = serde_json::Deserializer::from_str(json);
        let shape = ShapeReader { depth: MAX_DEPTH }.deserialize(&mut source).ok()?;
        source.end().ok().map(|()| shape)
    }

    /// The shape of a text, which is a JSON document or else a string. `NaN` and infinities count
    /// as numbers, as they do for programs.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let nearly_json = || Self::of_json(&replace_nonfinite(text, |_| "0.5")?);
        Self::of_json(text).or_else(nearly_json).unwrap_or_else(|| Self::of(text_kind(text)))
    }

    /// The shape of an answer without content.
    #[must_use]
    pub fn null() -> Self {
        Self::of(Kind::Null)
    }
}

fn text_kind(text: &str) -> Kind {
    match PythonText::of(text) {
        Some(PythonText::Literal) => Kind::PythonLiteral,
        Some(PythonText::Expression) | None => Kind::String,
    }
}

#[derive(Clone, Copy)]
struct ShapeReader {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for ShapeReader {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ShapeReader {
    type Value = Shape;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Shape, E> {
        Ok(Shape::of(Kind::Boolean))
    }

    fn visit_i64<E>(self, _value: i64) -> Result<Shape, E> {
        Ok(Shape::of(Kind::Integer))
    }

    fn visit_u64<E>(self, _value: u64) -> Result<Shape, E> {
        Ok(Shape::of(Kind::Integer))
    }

    fn visit_f64<E>(self, _value: f64) -> Result<Shape, E> {
        Ok(Shape::of(Kind::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Shape, E> {
        let is_whole = self.depth == MAX_DEPTH;
        Ok(Shape::of(text_kind(if is_whole { value } else { "" })))
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::of(Kind::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        let mut items = Shape::default();
        if let Some(depth) = self.depth.checked_sub(1) {
            for _ in 0..MAX_ITEMS {
                let Some(item) = list.next_element_seed(ShapeReader { depth })? else { break };
                items.join(item);
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Shape { items: Some(Box::new(items)), ..Shape::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut keys = ObjectShape { seen: 1, ..ObjectShape::default() };
        let mut keys_read = 0;
        while let Some(name) = map.next_key::<String>()? {
            let (Some(depth), true) = (self.depth.checked_sub(1), keys_read < 4 * MAX_FIELDS)
            else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            keys_read += 1;
            let shape = map.next_value_seed(ShapeReader { depth })?;
            if is_field_name(&name) && !keys.fields.iter().any(|it| it.name == name) {
                keys.fields.push(Field { name, seen: 1, shape });
            } else {
                keys.merge_into_rest(shape);
            }
        }
        keys.move_data_keys_to_rest();
        Ok(Shape { object: Some(keys), ..Shape::default() })
    }
}
