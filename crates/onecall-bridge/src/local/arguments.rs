//! The arguments of one call, as text for a command. Their JSON is never parsed and written again,
//! so a number keeps every digit.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use thiserror::Error;

/// Why the arguments of a call cannot be passed to a command.
#[derive(Debug, Error)]
pub(crate) enum ArgumentError {
    #[error("its arguments cannot be read: {0}")]
    Unreadable(serde_json::Error),
    #[error("'{name}' is missing")]
    Missing { name: String },
    #[error("'{name}' is not text: {source}")]
    NotText { name: String, source: serde_json::Error },
    #[error(
        "'{name}' must not begin with '-', or the command could take it for an option \
         (where that is wanted, the tool's configuration has \"--\" before \"{{{name}}}\", or \
         \"--option={{{name}}}\")"
    )]
    Option { name: String },
    #[error("'{name}' holds a NUL character, which no command can take")]
    Nul { name: String },
    #[error(transparent)]
    NotWritten(#[from] serde_json::Error),
}

/// The arguments of a call, completed with the default values of the schema.
pub(super) struct Arguments<'t> {
    values: BTreeMap<String, Box<RawValue>>,
    schema: &'t Value,
}

impl<'t> Arguments<'t> {
    pub fn read(arguments: &RawValue, schema: &'t Value) -> Result<Self, ArgumentError> {
        let mut values: BTreeMap<String, Box<RawValue>> =
            serde_json::from_str(arguments.get()).map_err(ArgumentError::Unreadable)?;
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let default = property.get("default").and_then(|default| to_raw_value(default).ok());
            if let Some(default) = default
                && values.get(name).is_none_or(|value| is_null(value))
            {
                values.insert(name.clone(), default);
            }
        }
        Ok(Self { values, schema })
    }

    /// One argument: a string without quotes, anything else as JSON. `null` counts as absent.
    pub fn text(&self, name: &str) -> Result<Option<String>, ArgumentError> {
        let value = self.values.get(name).filter(|value| !is_null(value));
        let Some(value) = value.map(|value| value.get()) else {
            let required = self.schema.get("required").and_then(Value::as_array);
            let is_required = required.is_some_and(|all| all.iter().any(|it| it == name));
            return match is_required {
                true => Err(ArgumentError::Missing { name: name.to_owned() }),
                false => Ok(None),
            };
        };
        if value.starts_with('"') {
            let text = serde_json::from_str(value);
            let not_text = |source| ArgumentError::NotText { name: name.to_owned(), source };
            return text.map(Some).map_err(not_text);
        }
        Ok(Some(compact(value)))
    }

    /// All arguments as one JSON object.
    pub fn to_json(&self) -> Result<String, ArgumentError> {
        Ok(serde_json::to_string(&self.values)?)
    }
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// Removes the whitespace between the parts of a JSON text.
fn compact(json: &str) -> String {
    let mut is_text = false;
    let mut is_escaped = false;
    let keep = |character: &char| {
        if is_text {
            is_text = is_escaped || *character != '"';
            is_escaped = !is_escaped && *character == '\\';
            return true;
        }
        is_text = *character == '"';
        !matches!(character, ' ' | '\t' | '\n' | '\r')
    };
    json.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn values_become_text() {
        let schema = json!({});
        let rows = [
            (r#""a b""#, "a b"),
            (r#""line\nbreak \u00e9""#, "line\nbreak é"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("-0.10", "-0.10"),
            ("1E400", "1E400"),
            ("true", "true"),
            (r#"[1, "a, \" ]b\\", null]"#, r#"[1,"a, \" ]b\\",null]"#),
            ("{\"k\" : {\n\"l\": [ ] } }", r#"{"k":{"l":[]}}"#),
        ];
        for (json, expected) in rows {
            let call = raw(&format!(r#"{{"x":{json}}}"#));
            let arguments = Arguments::read(&call, &schema).unwrap();
            assert_eq!(arguments.text("x").unwrap().as_deref(), Some(expected), "{json}");
        }
        let surrogate = raw(r#"{"x":"\ud800"}"#);
        assert!(Arguments::read(&surrogate, &schema).unwrap().text("x").is_err());
        assert!(Arguments::read(&raw("[]"), &schema).is_err());
    }

    #[test]
    fn what_is_left_out_is_the_default_or_absent_or_missing() {
        let schema = json!({
            "properties": { "a": { "default": 7 }, "b": {}, "c": {} }, "required": ["c"],
        });
        for call in ["{}", r#"{"a":null,"b":null,"c":null}"#] {
            let call = raw(call);
            let arguments = Arguments::read(&call, &schema).unwrap();
            assert_eq!(arguments.text("a").unwrap().as_deref(), Some("7"));
            assert_eq!(arguments.text("b").unwrap(), None);
            assert_eq!(arguments.text("c").unwrap_err().to_string(), "'c' is missing");
        }
    }

    #[test]
    fn as_json_they_keep_every_digit() {
        let schema = json!({ "properties": { "z": { "default": [1] } } });
        let call = raw(r#"{"b":123456789012345678901234567890,"a":"x"}"#);
        let json = Arguments::read(&call, &schema).unwrap().to_json().unwrap();
        let expected = r#"{"a":"x","b":123456789012345678901234567890,"z":[1]}"#;
        assert_eq!(json, expected);
    }
}
