//! The tools of the server.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::connection::{Answer, Connection, Failure};
use super::{content, input_required};

/// The pause between two messages of a tool.
const PAUSE: Duration = Duration::from_millis(50);

/// Tools without arguments.
const PLAIN: [&str; 18] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_structured_content",
    "test_error_handling",
    "test_protocol_error",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_reconnection",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_trigger_resource_update",
];

pub(super) fn definitions(has_extra: bool) -> Value {
    let no_arguments = json!({ "type": "object", "properties": {} });
    let tool = |name: &str, schema: &Value| json!({ "name": name, "description": "A tool for tests.", "inputSchema": schema });
    let mut tools: Vec<Value> =
        PLAIN.iter().chain(&input_required::TOOLS).map(|name| tool(name, &no_arguments)).collect();
    for (name, argument) in [("test_sampling", "prompt"), ("test_elicitation", "message")] {
        let properties = json!({ argument: { "type": "string" } });
        let schema = json!({ "type": "object", "properties": properties, "required": [argument] });
        tools.push(tool(name, &schema));
    }
    tools.push(tool("json_schema_2020_12_tool", &rich_schema()));
    if has_extra {
        tools.push(tool("test_extra_tool", &no_arguments));
    }
    tools.into()
}

/// A schema with the keywords of JSON Schema 2020-12 that gateways tend to lose.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": {
            "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"],
        },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

/// Calls a tool that changes nothing about the server.
pub(super) fn call(connection: &Connection, request: &Value) -> Answer {
    let params = &request["params"];
    let name = params["name"].as_str().unwrap_or_default();
    if input_required::TOOLS.contains(&name) {
        return input_required::call(params);
    }
    match name {
        "test_simple_text" | "test_reconnection" | "test_extra_tool" => {
            Ok(content::text("This is a simple text."))
        }
        "json_schema_2020_12_tool" => Ok(content::text(params["arguments"].to_string())),
        "test_image_content" => Ok(json!({ "content": [content::image()] })),
        "test_audio_content" => Ok(json!({ "content": [content::audio()] })),
        "test_embedded_resource" => {
            let resource = content::resource("test://embedded-resource", "text/plain", "A text.");
            Ok(json!({ "content": [resource] }))
        }
        "test_multiple_content_types" => {
            let uri = "test://mixed-content-resource";
            let data = json!({ "test": "data", "value": 123 }).to_string();
            let resource = content::resource(uri, "application/json", &data);
            let text = json!({ "type": "text", "text": "Several kinds of content:" });
            Ok(json!({ "content": [text, content::image(), resource] }))
        }
        "test_structured_content" => Ok(json!({
            "content": [{ "type": "text", "text": "{\"rows\":[1]}" }],
            "structuredContent": { "rows": [1] },
            "_meta": { "reference/trace": "7" },
        })),
        "test_error_handling" => {
            let mut result = content::text("This tool fails on purpose.");
            result["isError"] = json!(true);
            Ok(result)
        }
        "test_protocol_error" => {
            Err(Failure::new(-32050, "refused on purpose").with_data(json!({ "why": "test" })))
        }
        "test_tool_with_logging" => Ok(log_three_times(connection)),
        "test_logging_tool" => {
            let level = params["_meta"]["io.modelcontextprotocol/logLevel"].as_str();
            level.into_iter().for_each(|level| connection.log(level, "a message"));
            Ok(content::text("logged"))
        }
        "test_tool_with_progress" => Ok(report_progress(connection, params)),
        "test_sampling" => sample(connection, &params["arguments"]["prompt"]),
        "test_elicitation" => {
            let schema = json!({
                "type": "object",
                "properties": { "username": { "type": "string" }, "email": { "type": "string" } },
                "required": ["username", "email"],
            });
            elicit(connection, &params["arguments"]["message"], &schema)
        }
        "test_elicitation_sep1034_defaults" => {
            elicit(connection, &json!("Check the defaults"), &schema_with_defaults())
        }
        "test_elicitation_sep1330_enums" => {
            elicit(connection, &json!("Choose"), &schema_with_choices())
        }
        "test_missing_capability" => {
            let declared = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            if declared["sampling"].is_object() {
                return Ok(content::text("the client has the capability"));
            }
            let data = json!({ "requiredCapabilities": { "sampling": {} } });
            Err(Failure::new(-32021, "the client lacks a capability").with_data(data))
        }
        other => Err(Failure::new(-32602, format!("there is no tool {other}"))),
    }
}

fn log_three_times(connection: &Connection) -> Value {
    for text in ["the tool has started", "the tool is working", "the tool has ended"] {
        connection.log("info", text);
        thread::sleep(PAUSE);
    }
    content::text("three messages were logged")
}

fn report_progress(connection: &Connection, params: &Value) -> Value {
    let token = &params["_meta"]["progressToken"];
    for progress in [0, 50, 100] {
        if !token.is_null() {
            let report = json!({ "progressToken": token, "progress": progress, "total": 100 });
            connection.notify("notifications/progress", &report);
        }
        thread::sleep(PAUSE);
    }
    content::text("the progress was reported")
}

fn sample(connection: &Connection, prompt: &Value) -> Answer {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = json!({ "messages": [message], "maxTokens": 100 });
    let answer = connection.ask("sampling/createMessage", &params)?;
    let text = answer["content"]["text"].as_str().unwrap_or_default();
    Ok(content::text(format!("The model says: {text}")))
}

fn elicit(connection: &Connection, message: &Value, schema: &Value) -> Answer {
    let params = json!({ "message": message, "requestedSchema": schema });
    let answer = connection.ask("elicitation/create", &params)?;
    Ok(content::text(format!("The user answers: {answer}")))
}

fn schema_with_defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "default": true },
        },
    })
}

fn schema_with_choices() -> Value {
    let titled = |names: [(&str, &str); 3]| {
        names.map(|(value, title)| json!({ "const": value, "title": title }))
    };
    let options = ["option1", "option2", "option3"];
    let values = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled(values) },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled(values) } },
        },
    })
}
