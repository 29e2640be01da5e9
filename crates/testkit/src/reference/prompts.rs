//! The prompts of the server.

use serde_json::{Value, json};

use super::connection::{Answer, Failure};
use super::{content, input_required};

/// The completions of the first argument.
const WORDS: [&str; 3] = ["test", "testing", "other"];

pub(super) fn list(has_extra: bool) -> Value {
    let argument = |name: &str| json!({ "name": name, "description": "A text", "required": true });
    let prompt = |name: &str, arguments: Vec<Value>| json!({ "name": name, "description": "A prompt for tests.", "arguments": arguments });
    let mut prompts = vec![
        prompt("test_simple_prompt", Vec::new()),
        prompt("test_prompt_with_arguments", vec![argument("arg1"), argument("arg2")]),
        prompt("test_prompt_with_embedded_resource", vec![argument("resourceUri")]),
        prompt("test_prompt_with_image", Vec::new()),
        prompt(input_required::PROMPT, Vec::new()),
    ];
    if has_extra {
        prompts.push(prompt("test_extra_prompt", Vec::new()));
    }
    prompts.into()
}

pub(super) fn get(params: &Value) -> Answer {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let argument = |name: &str| params["arguments"][name].as_str().unwrap_or_default();
    let contents = match params["name"].as_str().unwrap_or_default() {
        "test_simple_prompt" | "test_extra_prompt" => vec![text("This is a simple prompt.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text(&format!("The arguments are '{first}' and '{second}'."))]
        }
        "test_prompt_with_embedded_resource" => {
            let uri = argument("resourceUri");
            let resource = content::resource(uri, "text/plain", "The text of the resource.");
            vec![resource, text("Please use the resource above.")]
        }
        "test_prompt_with_image" => vec![content::image(), text("Please look at the image above.")],
        input_required::PROMPT => match input_required::prompt_context(params) {
            Some(context) => vec![text(&format!("The context is {context}."))],
            None => return Ok(input_required::ask_prompt_context()),
        },
        other => return Err(Failure::new(-32602, format!("there is no prompt {other}"))),
    };
    let message = |content| json!({ "role": "user", "content": content });
    Ok(json!({ "messages": contents.into_iter().map(message).collect::<Vec<_>>() }))
}

pub(super) fn complete(params: &Value) -> Value {
    let typed = params["argument"]["value"].as_str().unwrap_or_default();
    let values: Vec<&str> = WORDS.into_iter().filter(|word| word.starts_with(typed)).collect();
    json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } })
}
