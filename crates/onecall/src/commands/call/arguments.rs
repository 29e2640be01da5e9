//! Converts the words of a command line into arguments, by the tool's schema.

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value};

/// The arguments in `words`: `key=value` with the type that the schema declares, or `key:=value`
/// with a JSON value. A repeated key makes a list.
pub(in crate::commands) fn read(
    words: &[String],
    schema: &Value,
) -> anyhow::Result<Map<String, Value>> {
    let mut arguments = Map::new();
    for word in words {
        let (key, value) =
            word.split_once('=').with_context(|| match word.starts_with('{') || word == "-" {
                true => {
                    "to pass all arguments as one JSON object, write it after --args".to_owned()
                }
                false => format!("'{word}' is not an argument: write it as key=value"),
            })?;
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => {
                let value = serde_json::from_str(value)
                    .with_context(|| format!("what follows '{key}:=' is not JSON"))?;
                (key, value)
            }
            None => (key, typed(key, value, &schema["properties"][key])?),
        };
        ensure!(!key.is_empty(), "'{word}' has no name before the '='");
        match arguments.get_mut(key) {
            None => {
                arguments.insert(key.to_owned(), value);
            }
            Some(Value::Array(items)) if takes(&schema["properties"][key], "array") => {
                items.extend(match value {
                    Value::Array(more) => more,
                    one => vec![one],
                });
            }
            Some(_) => bail!("'{key}' is given twice, and takes no list"),
        }
    }
    Ok(arguments)
}

/// `text` converted to a type that `schema` accepts: an array if it accepts one, otherwise a string
/// if it accepts one, otherwise the JSON value that the text contains.
fn typed(key: &str, text: &str, schema: &Value) -> anyhow::Result<Value> {
    let json = || serde_json::from_str::<Value>(text).ok();
    if takes(schema, "array") {
        // Either one item, or the whole list as JSON.
        let list = json().filter(Value::is_array);
        return list.map_or_else(|| Ok(Value::from(vec![typed(key, text, &schema["items"])?])), Ok);
    }
    if takes(schema, "string") {
        return Ok(Value::from(text));
    }
    let is_wanted = |value: &Value| match value {
        Value::Null => takes(schema, "null"),
        Value::Bool(_) => takes(schema, "boolean"),
        Value::Number(number) => {
            takes(schema, "number") || (takes(schema, "integer") && !number.is_f64())
        }
        Value::Object(_) => takes(schema, "object"),
        Value::String(_) | Value::Array(_) => false,
    };
    match json() {
        Some(value) if is_wanted(&value) => Ok(value),
        // Without a type in the schema, JSON if it parses, otherwise text.
        parsed if schema.get("type").is_none() => Ok(parsed.unwrap_or_else(|| Value::from(text))),
        _ => bail!("'{key}' must be {}, not '{text}'", wanted(schema)),
    }
}

fn takes(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(several) => several.iter().any(|one| one == kind),
        _ => match schema.get("anyOf").or_else(|| schema.get("oneOf")) {
            Some(Value::Array(choices)) => choices.iter().any(|choice| takes(choice, kind)),
            _ => schema["enum"].as_array().is_some_and(|values| match kind {
                "string" => values.iter().all(Value::is_string),
                _ => false,
            }),
        },
    }
}

fn wanted(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(one) => format!("of type {one}"),
        several => format!("of one of the types {several}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({ "properties": {
            "name": { "type": "string" },
            "count": { "type": "integer" },
            "ratio": { "type": ["number", "null"] },
            "flag": { "type": "boolean" },
            "tags": { "type": "array", "items": { "type": "string" } },
            "ids": { "anyOf": [{ "type": "array" }, { "type": "null" }], "items": { "type": "integer" } },
            "where": { "type": "object" },
            "kind": { "enum": ["a", "b"] },
            "any": {},
        }})
    }

    #[test]
    fn words_become_what_the_schema_asks_for() {
        let words = [
            "name=5",
            "count=7",
            "ratio=null",
            "flag=true",
            "tags=x,y",
            "tags=z",
            "where={\"a\":1}",
            "kind=a",
            "any=[1]",
            "other=text",
            "raw:=[1,2]",
        ];
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let expected = json!({
            "name": "5", "count": 7, "ratio": null, "flag": true, "tags": ["x,y", "z"],
            "where": { "a": 1 }, "kind": "a", "any": [1], "other": "text", "raw": [1, 2],
        });
        assert_eq!(Value::Object(read(&words, &schema()).unwrap()), expected);
    }

    #[test]
    fn words_that_cannot_be_meant() {
        let rows = [
            ("count=many", "'count' must be of type integer, not 'many'"),
            ("count=1.5", "'count' must be of type integer, not '1.5'"),
            ("flag=yes", "'flag' must be of type boolean, not 'yes'"),
            ("ratio=x", "'ratio' must be of one of the types [\"number\",\"null\"], not 'x'"),
            ("name", "'name' is not an argument: write it as key=value"),
            ("=x", "'=x' has no name before the '='"),
            ("raw:={", "what follows 'raw:=' is not JSON"),
        ];
        for (word, expected) in rows {
            let refused = read(&[word.to_owned()], &schema()).unwrap_err().to_string();
            assert_eq!(refused, expected);
        }
        let twice = ["name=a", "name=b"].map(str::to_owned);
        let refused = read(&twice, &schema()).unwrap_err().to_string();
        assert_eq!(refused, "'name' is given twice, and takes no list");
    }
}
