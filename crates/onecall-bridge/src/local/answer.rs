//! Forms the answers of local tools: the value, or on request the complete answer that a server
//! would have sent.

use onecall_core::{OutputForm, Schema, ToolValue};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

/// A JSON value that the program does not parse again, whatever its text looks like.
pub(super) fn json(value: &impl Serialize) -> serde_json::Result<ToolValue> {
    to_raw_value(value).map(ToolValue::Json)
}

/// Wraps `value` as a complete tool answer. A value that is not an object becomes structured
/// content only if the tool's output schema wraps it, under the key of that schema.
pub(super) fn complete_answer(value: ToolValue, output_schema: Option<&Schema>) -> ToolValue {
    let (text, json) = match value {
        // Local tools never return content blocks.
        ToolValue::WithContent { value, .. } => return complete_answer(*value, output_schema),
        ToolValue::Nothing => return to_value(&json!({ "content": [] })),
        ToolValue::Text(text) => (text, None),
        ToolValue::Json(json) => (text_of(&json), Some(json)),
    };
    let content = json!([{ "type": "text", "text": text }]);
    let is_wrapped = output_schema.is_some_and(|it| it.output_form() != OutputForm::Plain);
    match json {
        Some(json) if is_wrapped => {
            to_value(&CompleteAnswer { content, structured: WrappedResult { result: json } })
        }
        Some(json) if json.get().starts_with('{') => {
            to_value(&CompleteAnswer { content, structured: json })
        }
        _ => to_value(&json!({ "content": content })),
    }
}

#[derive(Serialize)]
struct CompleteAnswer<S> {
    content: Value,
    #[serde(rename = "structuredContent")]
    structured: S,
}

#[derive(Serialize)]
struct WrappedResult {
    result: Box<RawValue>,
}

fn text_of(json: &RawValue) -> String {
    serde_json::from_str(json.get()).unwrap_or_else(|_| json.get().to_owned())
}

fn to_value(answer: &impl Serialize) -> ToolValue {
    // Serialization fails only for maps with keys that are not strings, and there are none here.
    to_raw_value(answer).map_or(ToolValue::Nothing, ToolValue::Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(value: &str) -> ToolValue {
        ToolValue::Json(RawValue::from_string(value.to_owned()).unwrap())
    }

    #[test]
    fn a_value_becomes_an_answer() {
        let wrapping: Schema = json!({
            "type": "object",
            "properties": { "result": {} },
            "required": ["result"],
            "x-fastmcp-wrap-result": true,
        })
        .into();
        let rows = [
            (ToolValue::Nothing, None, r#"{"content":[]}"#),
            (
                ToolValue::Text("5 \"x\"".to_owned()),
                None,
                r#"{"content":[{"type":"text","text":"5 \"x\""}]}"#,
            ),
            (raw(r#""é""#), None, r#"{"content":[{"type":"text","text":"é"}]}"#),
            (
                raw("[123456789012345678901234567890]"),
                None,
                r#"{"content":[{"type":"text","text":"[123456789012345678901234567890]"}]}"#,
            ),
            (
                raw(r#"{"a":1}"#),
                None,
                r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#,
            ),
            (
                raw("[1]"),
                Some(&wrapping),
                r#"{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}"#,
            ),
        ];
        for (value, schema, expected) in rows {
            let ToolValue::Json(answer) = complete_answer(value, schema) else {
                panic!("an answer")
            };
            assert_eq!(answer.get(), expected);
        }
    }
}
