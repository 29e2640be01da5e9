//! Determines whether the declared result of a tool can be a string.

use std::collections::HashSet;

use onecall_core::{Schema, ToolSpec};
use serde_json::Value;

use crate::types::{Type, Types};

/// What the output schema of a tool says about string results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextResult {
    /// There is no schema, or it accepts any value.
    Undeclared,
    /// A string is among the declared results.
    Declared,
    /// Every result has another type: a list, an object, a number. A text that such a tool returns
    /// is JSON that has not been parsed.
    Never,
}

impl TextResult {
    /// Reads the output schema of a tool.
    #[must_use]
    pub fn of(spec: &ToolSpec) -> Self {
        spec.output_schema.as_ref().map_or(Self::Undeclared, Self::in_schema)
    }

    fn in_schema(schema: &Schema) -> Self {
        let types = Types::of(schema);
        Self::in_type(&types.root, &types, &mut HashSet::new())
    }

    /// Searches a type for strings. `followed` contains the references that were followed, so that
    /// each is followed once.
    fn in_type(value_type: &Type, types: &Types, followed: &mut HashSet<usize>) -> Self {
        match value_type {
            Type::Any => Self::Undeclared,
            Type::Text => Self::Declared,
            Type::Literals(values) if values.iter().any(Value::is_string) => Self::Declared,
            Type::Union { alternatives, is_complete } => {
                let mut result = if *is_complete { Self::Never } else { Self::Undeclared };
                for it in alternatives {
                    match Self::in_type(it, types, followed) {
                        Self::Declared => return Self::Declared,
                        Self::Undeclared => result = Self::Undeclared,
                        Self::Never => {}
                    }
                }
                result
            }
            Type::Reference(number) => match types.targets.get(*number) {
                None => Self::Undeclared,
                Some(target) if followed.insert(*number) => {
                    Self::in_type(&target.value_type, types, followed)
                }
                Some(_) => Self::Never,
            },
            Type::Literals(_)
            | Type::Null
            | Type::Boolean
            | Type::Integer
            | Type::Number
            | Type::List(_)
            | Type::Tuple(_)
            | Type::Map(_)
            | Type::Object(_) => Self::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_schema() {
        use TextResult::{Declared, Never, Undeclared};
        let text = json!({ "type": "string" });
        let list = json!({ "type": "array", "items": text });
        let looped = json!({ "$ref": "#/$defs/a", "$defs": {
            "a": { "anyOf": [{ "$ref": "#/$defs/a" }, { "type": "null" }] } } });
        let cases = [
            (json!({}), Undeclared),
            (text.clone(), Declared),
            (list.clone(), Never),
            (json!({ "type": "object" }), Never),
            (json!({ "type": ["integer", "null"] }), Never),
            (json!({ "type": ["string", "null"] }), Declared),
            (json!({ "anyOf": [list, text] }), Declared),
            (json!({ "anyOf": [{}, { "type": "null" }] }), Undeclared),
            (json!({ "enum": [1, 2] }), Never),
            (json!({ "enum": [1, "a"] }), Declared),
            (json!({ "$ref": "#/$defs/rows", "$defs": { "rows": { "type": "array" } } }), Never),
            (json!({ "$ref": "elsewhere.json" }), Undeclared),
            (looped, Never),
        ];
        for (schema, expected) in cases {
            assert_eq!(TextResult::in_schema(&schema.clone().into()), expected, "{schema}");
        }
    }
}
