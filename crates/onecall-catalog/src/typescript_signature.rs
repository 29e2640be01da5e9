//! How a call to a tool is written in TypeScript, in one line that a model can copy. A
//! schema comes from a server, so every walk over one is bounded; what lies beyond the
//! bounds is `unknown` or `object`, never an error.

use onecall_core::ToolSpec;
use serde_json::{Map, Value};

use crate::literal::{is_short, json_string};

/// Characters of a signature.
const MAX_CHARS: usize = 2_000;
/// Levels of types within types, and schemas looked at for one signature.
const MAX_DEPTH: usize = 4;
const MAX_NODES: usize = 500;
/// Keys of an object, and alternatives of a union, that are shown.
const MAX_KEYS: usize = 100;
const MAX_ALTERNATIVES: usize = 8;

/// The call to a tool as one line of TypeScript, for example
/// `await mcp__sales__orders({ region: string; limit?: number }): Promise<object[]>`.
#[must_use]
pub fn typescript_signature(spec: &ToolSpec) -> String {
    let name = spec.callable.as_str();
    let mut arguments = Types::of(&spec.input_schema);
    let argument = match spec.input_schema.get("properties").and_then(Value::as_object) {
        Some(properties) if properties.is_empty() => String::new(),
        None => String::new(),
        Some(properties) => arguments.object(&spec.input_schema, properties, MAX_DEPTH),
    };
    let result = spec.output_schema.as_ref().map_or_else(
        || "unknown".to_owned(),
        |schema| {
            let inner = result_of(schema);
            Types::of(schema).write(inner, MAX_DEPTH)
        },
    );
    let signature = format!("await {name}({argument}): Promise<{result}>");
    match signature.chars().count() <= MAX_CHARS {
        true => signature,
        false => format!("await {name}({{ … }}): Promise<unknown>"),
    }
}

/// A result that was only wrapped to be an object is the value inside.
fn result_of(schema: &Value) -> &Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    match properties.filter(|it| it.len() == 1).and_then(|it| it.get("result")) {
        Some(inner) => inner,
        None => schema,
    }
}

struct Types<'a> {
    /// What local references point into.
    document: &'a Value,
    nodes_left: usize,
}

impl<'a> Types<'a> {
    fn of(document: &'a Value) -> Self {
        Self { document, nodes_left: MAX_NODES }
    }

    fn write(&mut self, schema: &'a Value, depth: usize) -> String {
        let (Some(nodes_left), Some(keywords)) =
            (self.nodes_left.checked_sub(1), schema.as_object())
        else {
            return unknown();
        };
        self.nodes_left = nodes_left;
        let Some(depth) = depth.checked_sub(1) else { return unknown() };
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|path| self.document.pointer(path));
            return target.map_or_else(unknown, |target| self.write(target, depth));
        }
        if let Some(value) = keywords.get("const") {
            return literals(std::slice::from_ref(value));
        }
        if let Some(values) = keywords.get("enum").and_then(Value::as_array) {
            return literals(values);
        }
        let written = self.by_type(schema, keywords, depth);
        match keywords.get("nullable") {
            Some(Value::Bool(true)) => union(vec![written, "null".to_owned()]),
            _ => written,
        }
    }

    fn by_type(
        &mut self,
        schema: &'a Value,
        keywords: &'a Map<String, Value>,
        depth: usize,
    ) -> String {
        for key in ["anyOf", "oneOf"] {
            if let Some(all) = keywords.get(key).and_then(Value::as_array) {
                let shown = all.iter().take(MAX_ALTERNATIVES);
                return union(shown.map(|it| self.write(it, depth)).collect());
            }
        }
        match keywords.get("type") {
            Some(Value::String(name)) => self.named(name, schema, keywords, depth),
            Some(Value::Array(names)) => {
                let names = names.iter().take(MAX_ALTERNATIVES).filter_map(Value::as_str);
                union(names.map(|name| self.named(name, schema, keywords, depth)).collect())
            }
            _ => unknown(),
        }
    }

    fn named(
        &mut self,
        name: &str,
        schema: &'a Value,
        keywords: &'a Map<String, Value>,
        depth: usize,
    ) -> String {
        match name {
            "string" | "boolean" | "null" => name.to_owned(),
            "integer" | "number" => "number".to_owned(),
            "array" => {
                let item = keywords.get("items").map_or_else(unknown, |it| self.write(it, depth));
                match item.contains(' ') {
                    true => format!("({item})[]"),
                    false => format!("{item}[]"),
                }
            }
            "object" => match keywords.get("properties").and_then(Value::as_object) {
                Some(properties) if !properties.is_empty() && depth > 0 => {
                    self.object(schema, properties, depth)
                }
                _ => "object".to_owned(),
            },
            _ => unknown(),
        }
    }

    fn object(
        &mut self,
        schema: &'a Value,
        properties: &'a Map<String, Value>,
        depth: usize,
    ) -> String {
        let required = schema.get("required").and_then(Value::as_array);
        let mut entries = Vec::new();
        for (key, value) in properties.iter().take(MAX_KEYS) {
            let is_required =
                required.is_some_and(|required| required.iter().any(|it| it == key.as_str()));
            let mark = if is_required { "" } else { "?" };
            let shown = if is_identifier(key) { key.clone() } else { json_string(key) };
            entries.push(format!("{shown}{mark}: {}", self.write(value, depth)));
        }
        if properties.len() > MAX_KEYS {
            entries.push("…".to_owned());
        }
        format!("{{ {} }}", entries.join("; "))
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn union(mut types: Vec<String>) -> String {
    let mut seen = Vec::new();
    types.retain(|it| {
        let is_new = !seen.contains(it);
        seen.push(it.clone());
        is_new
    });
    match types.iter().any(|it| it == "unknown") || types.is_empty() {
        true => unknown(),
        false => types.join(" | "),
    }
}

/// The values themselves, where they are few and short.
fn literals(values: &[Value]) -> String {
    if values.len() > MAX_ALTERNATIVES
        || !values.iter().all(|it| is_short(it.as_str().unwrap_or_default()))
    {
        return match values.iter().all(Value::is_string) {
            true => "string".to_owned(),
            false => unknown(),
        };
    }
    let shown = |value: &Value| match value {
        Value::String(text) => json_string(text),
        other => other.to_string(),
    };
    union(values.iter().map(shown).collect())
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|it: char| it.is_ascii_digit())
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '$')
}

#[cfg(test)]
mod tests {
    use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName};
    use serde_json::json;

    use super::*;

    fn signature(input: Value, output: Option<Value>) -> String {
        typescript_signature(&ToolSpec {
            callable: CallableName::new("it"),
            server: ServerName::new("s"),
            tool: ToolName::new("it"),
            description: None,
            input_schema: input,
            output_schema: output,
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
        let output = json!({ "properties": { "result": { "type": "array", "items": { "type": "object" } } } });
        assert_eq!(
            signature(input, Some(output)),
            r#"await it({ region: "EU" | "US"; limit?: number | null; tags?: (string | number)[]; "odd-key"?: { x: boolean } }): Promise<object[]>"#
        );
        assert_eq!(signature(json!({}), None), "await it(): Promise<unknown>");
        let own = json!({ "properties": { "it": { "$ref": "#" } } });
        assert_eq!(signature(own, None), "await it({ it?: unknown }): Promise<unknown>");
    }
}
