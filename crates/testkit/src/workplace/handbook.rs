//! The handbook of a company: its sections are resources, and it has a prompt for answering
//! questions from it.

use serde_json::{Value, json};

use super::calls::{CallResult, text};

const TEXT: &str = include_str!("../../data/files/docs/handbook.md");

/// Each section with its title.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = TEXT.split("\n## ").skip(1);
    sections.filter_map(|section| section.split_once('\n'))
}

fn address(title: &str) -> String {
    format!("handbook://{}", title.to_lowercase().replace(' ', "-"))
}

pub(super) fn call(_tool: &str, arguments: &Value) -> CallResult {
    let words = text(arguments, "words")?.to_lowercase();
    let found = sections().filter(|(_, text)| text.to_lowercase().contains(&words));
    let pages: Vec<String> = found.map(|(title, _)| address(title)).collect();
    Ok(json!({ "pages": pages }))
}

/// The answers to methods other than tool calls.
pub(super) fn answer_other_method(method: &str, params: &Value) -> Option<Value> {
    Some(match method {
        "resources/list" => {
            let resource = |(title, _)| json!({ "uri": address(title), "name": title, "mimeType": "text/markdown" });
            json!({ "resources": sections().map(resource).collect::<Vec<_>>() })
        }
        "resources/read" => {
            let uri = &params["uri"];
            let (_, text) = sections().find(|(title, _)| *uri == address(title))?;
            let part = json!({ "uri": uri, "mimeType": "text/markdown", "text": text.trim() });
            json!({ "contents": [part] })
        }
        "prompts/list" => json!({ "prompts": [{
            "name": "answer", "description": "How to answer a question of a colleague",
            "arguments": [{ "name": "question", "required": true }],
        }] }),
        "prompts/get" => {
            let question = params["arguments"]["question"].as_str()?;
            let text = format!(
                "Answer in one sentence, from the handbook alone, and name the section.\nQuestion: {question}"
            );
            let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
            json!({ "messages": [message] })
        }
        _ => return None,
    })
}
