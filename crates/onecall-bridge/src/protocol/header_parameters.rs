//! Arguments that a server wants repeated in HTTP headers: its tools mark them with `x-mcp-header`
//! in their schemas (revision 2026-07-28).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onecall_catalog::ToolDefinition;
use onecall_core::ToolName;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::protocol::request::HeaderArgument;

const MARK: &str = "x-mcp-header";

/// Why the header marks of a tool are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum MarkError {
    #[error("its whole schema is marked with '{MARK}'")]
    WholeSchema,
    #[error("'{MARK}' is on a part of the schema that is not a property")]
    NoProperty,
    #[error("'{MARK}' names '{header}' twice")]
    Duplicate { header: String },
    #[error("'{MARK}' is not allowed there, or is not the name of a header")]
    Invalid,
}

/// The marked arguments of a server's tools.
#[derive(Debug, Default)]
pub(crate) struct HeaderParameters(HashMap<ToolName, Vec<HeaderParameter>>);

#[derive(Debug, PartialEq, Eq)]
struct HeaderParameter {
    /// The names of the properties that lead to the argument.
    path: Vec<String>,
    header: String,
}

impl HeaderParameters {
    /// Adds the marked arguments of a tool, or returns what is wrong with the marks.
    pub fn add(&mut self, tool: &ToolDefinition) -> Result<(), MarkError> {
        let found = marked(&tool.input_schema.value())?;
        if !found.is_empty() {
            self.0.insert(tool.tool.clone(), found);
        }
        Ok(())
    }

    /// The parameters for shared use; `None` if nothing is marked, as with nearly every server.
    pub fn into_shared(self) -> Option<Arc<Self>> {
        (!self.0.is_empty()).then(|| Arc::new(self))
    }

    /// The arguments of this call that are repeated in headers.
    pub fn header_arguments(&self, tool: &ToolName, arguments: &RawValue) -> Vec<HeaderArgument> {
        let Some(parameters) = self.0.get(tool) else { return Vec::new() };
        let arguments: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
        let to_header_argument = |parameter: &HeaderParameter| {
            let step = |value, key: &String| Value::get(value, key);
            let value = parameter.path.iter().try_fold(&arguments, step)?;
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(truth) => truth.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some(HeaderArgument { header: parameter.header.clone(), value })
        };
        parameters.iter().filter_map(to_header_argument).collect()
    }
}

/// All marks in a schema, after checking that each is valid and in a permitted place.
fn marked(schema: &Value) -> Result<Vec<HeaderParameter>, MarkError> {
    if schema.get(MARK).is_some() {
        return Err(MarkError::WholeSchema);
    }
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    if count(schema) != found.len() {
        return Err(MarkError::NoProperty);
    }
    let mut names = HashSet::new();
    match found.iter().find(|parameter| !names.insert(parameter.header.to_ascii_lowercase())) {
        Some(twice) => Err(MarkError::Duplicate { header: twice.header.clone() }),
        None => Ok(found),
    }
}

/// Collects the marks of the properties and of their properties.
fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<HeaderParameter>,
) -> Result<(), MarkError> {
    let Some(Value::Object(properties)) = schema.get("properties") else { return Ok(()) };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(mark) = property.get(MARK) {
            let kind = property.get("type").and_then(Value::as_str);
            let header = mark.as_str().filter(|header| is_token(header));
            let (Some(header), Some("string" | "integer" | "boolean")) = (header, kind) else {
                return Err(MarkError::Invalid);
            };
            found.push(HeaderParameter { path: path.clone(), header: header.to_owned() });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

/// Counts the marks anywhere in a schema.
fn count(schema: &Value) -> usize {
    match schema {
        Value::Object(keywords) => {
            let own = usize::from(keywords.contains_key(MARK));
            own + keywords.iter().map(|(keyword, value)| count_in(keyword, value)).sum::<usize>()
        }
        Value::Array(schemas) => schemas.iter().map(count).sum(),
        _ => 0,
    }
}

fn count_in(keyword: &str, value: &Value) -> usize {
    let named = |schemas: &Map<String, Value>| schemas.values().map(count).sum();
    match (keyword, value) {
        // These keywords contain data, not schemas.
        ("default" | "const" | "enum" | "examples", _) => 0,
        // The keys are names that the tool's author chose, which can be equal to the mark.
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            Value::Object(schemas),
        ) => named(schemas),
        _ => count(value),
    }
}

fn is_token(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(schema: Value) -> ToolDefinition {
        ToolDefinition {
            tool: ToolName::new("t"),
            description: None,
            input_schema: schema.into(),
            output_schema: None,
            annotations: Default::default(),
        }
    }

    #[test]
    fn marked_arguments_are_found_by_their_path() {
        let mut parameters = HeaderParameters::default();
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "x-mcp-header": { "type": "string" },
            "who": { "properties": { "id": { "type": "integer", "x-mcp-header": "Who" } } },
            "sure": { "type": "boolean", "x-mcp-header": "Sure" },
        } });
        parameters.add(&tool(schema)).unwrap();
        let arguments = r#"{"region":"us","who":{"id":7},"sure":null}"#.to_owned();
        let arguments = RawValue::from_string(arguments).unwrap();
        let header_arguments = parameters.header_arguments(&ToolName::new("t"), &arguments);
        let shown: Vec<String> =
            header_arguments.iter().map(|it| format!("{}={}", it.header, it.value)).collect();
        assert_eq!(shown, ["Region=us", "Who=7"]);
        assert_eq!(parameters.header_arguments(&ToolName::new("other"), &arguments), []);
    }

    #[test]
    fn wrong_marks_cost_their_tool() {
        let mark = |name: &str| json!({ "type": "string", "x-mcp-header": name });
        for schema in [
            json!({ "x-mcp-header": "A" }),
            json!({ "properties": { "a": mark("") } }),
            json!({ "properties": { "a": mark("a b") } }),
            json!({ "properties": { "a": { "type": "number", "x-mcp-header": "A" } } }),
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": 5 } } }),
            json!({ "properties": { "a": mark("A"), "b": mark("a") } }),
            json!({ "properties": { "a": { "items": mark("A") } } }),
            json!({ "anyOf": [{ "properties": { "a": mark("A") } }] }),
            json!({ "$defs": { "a": mark("A") } }),
        ] {
            assert!(HeaderParameters::default().add(&tool(schema.clone())).is_err(), "{schema}");
        }
        let data = json!({ "properties": { "a": { "default": { "x-mcp-header": 1 } } } });
        assert_eq!(HeaderParameters::default().add(&tool(data)), Ok(()));
    }
}
