//! Exposed resources and prompts in the lists that clients get. A model may read these lists, so
//! invisible characters in them are escaped and long texts are cut.

use onecall_catalog::DESCRIPTION_TOKENS;
use onecall_core::text::readable;
use onecall_gateway::ExposedPrompt;
use rmcp::model::Prompt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Longest title or name in tokens.
const TITLE_TOKENS: usize = 100;

/// The entries of a list that are valid MCP.
pub(super) fn entries<T: DeserializeOwned>(listed: Vec<Map<String, Value>>) -> Vec<T> {
    listed.into_iter().filter_map(entry).collect()
}

/// A prompt under the name that it has for clients; `None` if it is not valid MCP.
pub(super) fn prompt(exposed: ExposedPrompt) -> Option<Prompt> {
    let ExposedPrompt { name, mut fields, .. } = exposed;
    fields.insert("name".to_owned(), name.into());
    for argument in fields.get_mut("arguments").and_then(Value::as_array_mut).into_iter().flatten()
    {
        argument.as_object_mut().into_iter().for_each(make_readable);
    }
    entry(fields)
}

fn entry<T: DeserializeOwned>(mut fields: Map<String, Value>) -> Option<T> {
    make_readable(&mut fields);
    serde_json::from_value(Value::Object(fields)).ok()
}

fn make_readable(fields: &mut Map<String, Value>) {
    for (key, tokens) in [("title", TITLE_TOKENS), ("description", DESCRIPTION_TOKENS)] {
        if let Some(Value::String(text)) = fields.get_mut(key) {
            *text = readable(text, tokens);
        }
    }
}
