//! A chat service that accepts messages.

use serde_json::{Value, json};

use super::calls::{CallResult, text};

pub(super) fn call(_tool: &str, arguments: &Value) -> CallResult {
    let (channel, message) = (text(arguments, "channel")?, text(arguments, "text")?);
    let stamp = message.bytes().map(u64::from).sum::<u64>();
    Ok(json!({
        "ok": true, "channel": channel, "ts": format!("1774{stamp:06}.000100"),
        "message": {
            "type": "message", "subtype": "bot_message", "text": message, "username": "reports",
            "bot_id": "B07REPORTS", "app_id": "A07REPORTS", "team": "T01ACME",
        },
    }))
}
