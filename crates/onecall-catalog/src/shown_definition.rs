//! The part of a tool's definition that a model sees: the server's text without invisible
//! characters, and limited in length. Values that a program has to send (names of arguments,
//! choices, defaults) keep every character; code that writes them as JSON writes invisible ones as
//! escapes ([`onecall_core::text::visible_json`]).

use std::borrow::Cow;

use onecall_core::text::{readable, tokens, visible, visible_json, with_thousands_separators};
use serde_json::{Map, Value, json};

/// The longest description of a tool, in tokens.
pub const DESCRIPTION_TOKENS: usize = 2_000;

/// The longest description inside a schema, in tokens.
const PARAMETER_TOKENS: usize = 300;

/// The longest schema, in tokens.
pub const SCHEMA_TOKENS: usize = 4_000;

/// Keywords of a schema whose values are prose.
const PROSE: [&str; 3] = ["description", "title", "$comment"];

/// Keywords whose values are data, not schemas.
const DATA: [&str; 4] = ["default", "const", "enum", "examples"];

/// Keywords whose values are mappings of names to schemas.
const SCHEMA_MAPS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// The description of a tool as a model sees it.
#[must_use]
pub fn shown_description(description: &str) -> String {
    readable(description, DESCRIPTION_TOKENS)
}

/// A schema as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownSchema {
    /// The part of the schema that fits.
    pub schema: Value,
    /// What is missing, as the end of a sentence that begins with the name of the schema.
    pub note: Option<String>,
}

impl ShownSchema {
    /// Reduces a schema to what fits: all of it, or else without descriptions and examples, or else
    /// the names and types of its first properties, or else only its type.
    #[must_use]
    pub fn of(schema: &Value) -> Self {
        let all = token_count(schema);
        let mut shown = schema.clone();
        clean_schema(&mut shown);
        if token_count(&shown) <= SCHEMA_TOKENS {
            return Self { schema: shown, note: None };
        }
        strip_prose(&mut shown);
        let (schema, what) = if token_count(&shown) <= SCHEMA_TOKENS {
            (shown, "without descriptions and examples")
        } else {
            match outline(&shown) {
                Some(outline) => (outline, "as the names and types of its properties"),
                None => (json!({ "type": "object" }), "as nothing but its type"),
            }
        };
        let missing = all.saturating_sub(token_count(&schema));
        let note = format!(
            "is shown {what} (cut: about {} of {} tokens)",
            with_thousands_separators(missing),
            with_thousands_separators(all)
        );
        Self { schema, note: Some(note) }
    }

    /// Makes all invisible characters in the schema visible, also in names and choices. Such a
    /// value cannot be sent as it is shown, so this is for output that has no escapes.
    #[must_use]
    pub fn without_invisible_values(mut self) -> Self {
        make_visible(&mut self.schema);
        self
    }
}

/// Makes the prose of a schema readable; everything else stays unchanged.
pub fn clean_schema(schema: &mut Value) {
    each_schema(schema, &mut |keywords| {
        for name in PROSE {
            if let Some(Value::String(text)) = keywords.get_mut(name) {
                *text = readable(text, PARAMETER_TOKENS);
            }
        }
        // The display names of choices in forms.
        let names = keywords.get_mut("enumNames").and_then(Value::as_array_mut);
        for name in names.into_iter().flatten() {
            if let Value::String(text) = name {
                *text = readable(text, PARAMETER_TOKENS);
            }
        }
    });
}

fn strip_prose(schema: &mut Value) {
    each_schema(schema, &mut |keywords| {
        let is_prose = |name: &str, value: &Value| PROSE.contains(&name) && value.is_string();
        keywords.retain(|name, value| !is_prose(name, value) && name != "examples");
    });
}

/// Visits a schema and every schema in it.
fn each_schema(value: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_schema(item, visit)),
        Value::Object(keywords) => {
            visit(keywords);
            for (name, inner) in keywords.iter_mut() {
                match inner {
                    _ if DATA.contains(&name.as_str()) => {}
                    Value::Object(named) if SCHEMA_MAPS.contains(&name.as_str()) => {
                        named.values_mut().for_each(|inner| each_schema(inner, visit));
                    }
                    inner => each_schema(inner, visit),
                }
            }
        }
        _ => {}
    }
}

/// The first properties with only their types, as many as fit.
fn outline(schema: &Value) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    let mut shown = Map::new();
    let mut room = SCHEMA_TOKENS / 2;
    for (name, property) in properties {
        let of_type = property.get("type").filter(|it| it.is_string());
        let of_type = of_type.map_or_else(|| json!({}), |it| json!({ "type": it }));
        let taken = tokens(&visible_json(&json!({ name: of_type }).to_string()));
        room = match room.checked_sub(taken) {
            Some(left) => left,
            None => break,
        };
        shown.insert(name.clone(), of_type);
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<&Value> =
        required.filter(|it| it.as_str().is_some_and(|name| shown.contains_key(name))).collect();
    let outline = json!({ "type": "object", "properties": shown, "required": required });
    (token_count(&outline) <= SCHEMA_TOKENS).then_some(outline)
}

fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(shown) = visible(text) {
                *text = shown;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_visible),
        Value::Object(entries) => {
            for (name, mut inner) in std::mem::take(entries) {
                make_visible(&mut inner);
                entries.insert(visible(&name).into_owned(), inner);
            }
        }
        _ => {}
    }
}

fn token_count(schema: &Value) -> usize {
    tokens(&visible_json(&schema.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(schema: &Value) -> ShownSchema {
        ShownSchema::of(schema)
    }

    #[test]
    fn words_are_made_readable_and_values_stay() {
        let hidden = "a\u{202e}b";
        let schema = json!({
            "description": hidden,
            "properties": {
                "description": { "type": "string", "title": hidden, "default": { "title": hidden } },
                "enum": { "description": hidden, "enum": [hidden, { "title": hidden }] },
                hidden: { "const": hidden, "examples": [hidden] },
            },
        });
        let seen = "a\\u{202e}b";
        let expected = json!({
            "description": seen,
            "properties": {
                "description": { "type": "string", "title": seen, "default": { "title": hidden } },
                "enum": { "description": seen, "enum": [hidden, { "title": hidden }] },
                hidden: { "const": hidden, "examples": [hidden] },
            },
        });
        assert_eq!(shown(&schema), ShownSchema { schema: expected, note: None });
        let all = shown(&schema).without_invisible_values().schema.to_string();
        assert_eq!(visible(&all), all);
    }

    #[test]
    fn a_schema_that_is_too_long_loses_what_matters_least() {
        let many = |count: usize, property: Value| {
            let names = (0..count).map(|number| (format!("name_{number:04}"), property.clone()));
            json!({ "type": "object", "properties": names.collect::<Map<_, _>>(), "required": ["name_0000"] })
        };
        let wordy = many(40, json!({ "type": "string", "description": "words ".repeat(200) }));
        let short = shown(&wordy);
        assert_eq!(short.schema, many(40, json!({ "type": "string" })));
        assert_eq!(
            short.note.as_deref(),
            Some("is shown without descriptions and examples (cut: about 16,267 of 16,797 tokens)")
        );
        let choices: Vec<String> = (0..50).map(|number| format!("choice {number}")).collect();
        let outlined = shown(&many(100, json!({ "type": "string", "enum": choices })));
        assert_eq!(outlined.schema, many(100, json!({ "type": "string" })));
        let huge = shown(&many(5_000, json!({})));
        assert!(token_count(&huge.schema) <= SCHEMA_TOKENS && huge.note.is_some());
        let odd = shown(&json!({ "anyOf": vec![json!({ "pattern": "x".repeat(1_000) }); 100] }));
        assert_eq!(odd.schema, json!({ "type": "object" }));
    }
}
