//! Writes the call of a tool as one line of TypeScript that a model can copy.

use onecall_core::ToolSpec;

use super::compact::CompactTypeWriter;
use crate::observed::{ObservedOutput, ResultType, UNKNOWN_NOTE, observation_remark};
use crate::types::{Type, Types, takes_anything};

/// The longest signature in characters.
const MAX_CHARS: usize = 2_000;
/// The longest name in a signature that has to be cut.
const NAME_CHARS: usize = 500;

/// The call to a tool as one line of TypeScript, for example
/// `await mcp__sales__orders({ region: string; limit?: number }): Promise<object[]>`.
#[must_use]
pub fn typescript_signature(spec: &ToolSpec) -> String {
    text(spec, &ResultType::of(spec, None), "")
}

/// The call of a tool as one line of TypeScript, like [`typescript_signature`], with the observed
/// result type if the server declares none, and a remark about a type that it does not declare.
#[must_use]
pub fn typescript_signature_with(spec: &ToolSpec, observed: Option<&ObservedOutput>) -> String {
    let result = ResultType::of(spec, observed);
    let remark = match (&result, observed) {
        (ResultType::Observed(..), Some(observed)) => {
            format!("  // {}", observation_remark(observed, "parsePythonLiteral"))
        }
        (ResultType::Unknown, _) => format!("  // {UNKNOWN_NOTE}"),
        (ResultType::Declared(_) | ResultType::Observed(..), _) => String::new(),
    };
    text(spec, &result, &remark)
}

fn text(spec: &ToolSpec, result: &ResultType, remark: &str) -> String {
    let name = spec.callable.as_str();
    let arguments = Types::of(&spec.input_schema);
    let argument = match &arguments.root {
        Type::Object(_) => CompactTypeWriter::new(&arguments).type_of(&arguments.root),
        _ if takes_anything(&spec.input_schema.value()) => "{ … }".to_owned(),
        _ => String::new(),
    };
    let result = match result {
        ResultType::Declared(types) | ResultType::Observed(types, _) => {
            CompactTypeWriter::new(types).type_of(&types.root)
        }
        ResultType::Unknown => "unknown".to_owned(),
    };
    let signature = format!("await {name}({argument}): Promise<{result}>{remark}");
    match (signature.chars().count() <= MAX_CHARS, name.get(..NAME_CHARS)) {
        (true, _) => signature,
        (false, None) => format!("await {name}({{ … }}): Promise<unknown>"),
        // Callable names are ASCII.
        (false, Some(start)) => format!("await {start}...({{ … }}): Promise<unknown>"),
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName};
    use serde_json::{Value, json};

    use super::*;

    fn signature(input: Value, output: Option<Value>) -> String {
        typescript_signature(&ToolSpec {
            callable: CallableName::new("it"),
            server: ServerName::new("s"),
            tool: ToolName::new("it"),
            description: None,
            input_schema: input.into(),
            output_schema: output.map(Into::into),
            annotations: ToolAnnotations::default(),
        })
    }

    #[test]
    fn schemas_read_as_types() {
        let input = json!({
            "type": "object",
            "properties": {
                "region": { "enum": ["EU", "US"] },
                "limit": { "type": ["integer", "null"] },
                "tags": { "type": "array", "items": { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/n" }] } },
                "odd-key": { "type": "object", "properties": { "x": { "type": "boolean" } }, "required": ["x"] },
            },
            "required": ["region"],
            "$defs": { "n": { "type": "number" } },
        });
        let result = json!({ "result": { "type": "array", "items": { "type": "object" } } });
        let output = json!({ "properties": result, "required": ["result"], "title": "itOutput" });
        assert_eq!(
            signature(input, Some(output)),
            r#"await it({ region: "EU" | "US"; limit?: number | null; tags?: (string | number)[]; "odd-key"?: { x: boolean } }): Promise<object[]>"#
        );
        assert_eq!(signature(json!({}), None), "await it(): Promise<unknown>");
        let own = json!({ "properties": { "it": { "$ref": "#" } } });
        assert_eq!(signature(own, None), "await it({ it?: object }): Promise<unknown>");
    }
}
