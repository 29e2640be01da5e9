//! Detects parameters without a type annotation, on servers made with the official Python SDKs.

use serde_json::{Map, Value};

/// The keywords that the SDK writes for such a parameter.
const KEYWORDS: [&str; 3] = ["default", "title", "type"];

/// Whether a property of an input schema stands for a parameter without a type. The SDK declares it
/// as a string and accepts any value; its title is its plain name, whereas a parameter that is
/// annotated as a string has a title in capitals.
pub(crate) fn is_untyped(schema: &Map<String, Value>, name: &str, property: &Value) -> bool {
    let Value::Object(keywords) = property else { return false };
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && title(keywords) == Some(name)
        && keywords.get("type").is_some_and(|kind| kind == "string")
        && keywords.keys().all(|keyword| KEYWORDS.contains(&keyword.as_str()))
        && title(schema).is_some_and(|title| title.ends_with("Arguments"))
}

fn title(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("title")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_the_sdk_writes_for_a_parameter_without_a_type_is_untyped() {
        let of = |title: &str, name: &str, property: Value| {
            let schema = json!({ "title": title });
            is_untyped(schema.as_object().unwrap_or(&Map::new()), name, &property)
        };
        let plain = || json!({ "title": "first", "type": "string" });
        let with_default = json!({ "default": null, "title": "first", "type": "string" });
        assert!(of("fArguments", "first", plain()));
        assert!(of("fArguments", "first", with_default));
        for (title, name, property) in [
            ("fArguments", "first", json!({ "title": "First", "type": "string" })),
            ("fArguments", "First", json!({ "title": "First", "type": "string" })),
            ("fArguments", "other", plain()),
            ("fArguments", "first", json!({ "title": "first", "type": "integer" })),
            ("fArguments", "first", json!({ "title": "first", "type": "string", "enum": ["a"] })),
            ("fArguments", "first", json!({ "type": "string" })),
            ("Query", "first", plain()),
        ] {
            assert!(!of(title, name, property.clone()), "{title} {name} {property}");
        }
    }
}
