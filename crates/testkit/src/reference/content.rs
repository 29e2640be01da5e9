//! Results of tools, and the smallest files of their kinds.

use serde_json::{Value, json};

/// A picture of one red pixel, PNG in Base64.
pub(super) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A recording without any sample, WAV in Base64.
pub(super) const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// A result that consists of one text.
pub(super) fn text(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

pub(super) fn image() -> Value {
    json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" })
}

pub(super) fn audio() -> Value {
    json!({ "type": "audio", "data": SILENCE, "mimeType": "audio/wav" })
}

/// A resource as a part of a result or a prompt.
pub(super) fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({
        "type": "resource",
        "resource": { "uri": uri, "mimeType": mime_type, "text": text },
    })
}
