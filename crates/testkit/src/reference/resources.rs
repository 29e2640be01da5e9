//! The resources of the server.

use serde_json::{Value, json};

use super::connection::{Answer, Failure};
use super::content::PIXEL;

/// The resource that clients subscribe to.
pub(super) const WATCHED: &str = "test://watched-resource";

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const TEMPLATE: &str = "test://template/{id}/data";

pub(super) fn list() -> Value {
    json!([
        { "uri": TEXT, "name": "text", "description": "A text.", "mimeType": "text/plain" },
        { "uri": BINARY, "name": "picture", "description": "A pixel.", "mimeType": "image/png" },
        { "uri": WATCHED, "name": "watched", "description": "Changes.", "mimeType": "text/plain" },
    ])
}

pub(super) fn templates() -> Value {
    json!([{
        "uriTemplate": TEMPLATE,
        "name": "data",
        "description": "The data of an id.",
        "mimeType": "application/json",
    }])
}

pub(super) fn read(params: &Value) -> Answer {
    let uri = params["uri"].as_str().unwrap_or_default();
    let content = match uri {
        TEXT => text(uri, "text/plain", "This is the text of the static resource."),
        WATCHED => text(uri, "text/plain", "This resource can be watched."),
        BINARY => json!({ "uri": uri, "mimeType": "image/png", "blob": PIXEL }),
        _ => {
            let (start, end) = TEMPLATE.split_once("{id}").unwrap_or_default();
            let id = uri.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
            let Some(id) = id else {
                let failure = Failure::new(-32602, format!("there is no resource {uri}"));
                return Err(failure.with_data(json!({ "uri": uri })));
            };
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data of {id}") });
            text(uri, "application/json", &data.to_string())
        }
    };
    Ok(json!({ "contents": [content], "ttlMs": 0, "cacheScope": "private" }))
}

fn text(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "uri": uri, "mimeType": mime_type, "text": text })
}
