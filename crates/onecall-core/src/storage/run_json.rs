//! Recorded runs as JSON, for scripts and for the file that the page exports.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ReplayData, RunRecord, RunSummary, StoredCall};
use crate::{Picture, TokenUsage};

impl RunSummary {
    /// A run without its source and its calls.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "started": self.started.to_string(),
            "client": self.client,
            "kind": self.kind,
            "language": self.language,
            "engine": self.engine,
            "session": self.session,
            "program_sha256": self.program_hash,
            "user": self.user.as_str(),
            "outcome": self.outcome,
            "error": self.error.as_ref().map(|(kind, message)| json!({ "type": kind, "message": message })),
            "duration_seconds": seconds(self.duration),
            "output_bytes": self.output_bytes,
            "output_truncated": self.output_truncated,
            "calls": self.call_count,
            "failed_calls": self.failed_calls,
            "cached_calls": self.cached_calls,
            "tokens": self.tokens().map(TokenUsage::to_json),
            "detail": self.detail.name(),
        })
    }
}

impl RunRecord {
    /// A run with all details.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = self.run.to_json();
        value["program"] = json!(self.program);
        value["argv"] = json!(self.argv);
        value["error_line"] = json!(self.error_line);
        value["output"] = json!(self.output);
        value["pictures"] =
            self.pictures.iter().map(|picture| picture.as_ref().map(picture_json)).collect();
        value["replayable"] = json!(matches!(self.replay, ReplayData::Journal(_)));
        value["not_replayable_because"] = match self.replay {
            ReplayData::Impossible(obstacle) => json!(obstacle.explanation()),
            ReplayData::None | ReplayData::Journal(_) => Value::Null,
        };
        value["tool_calls"] = self.calls.iter().map(call).collect();
        value
    }
}

fn picture_json(picture: &Picture) -> Value {
    json!({ "media_type": picture.format().media_type(), "base64": picture.data() })
}

fn call(call: &StoredCall) -> Value {
    json!({
        "name": call.name,
        "server": call.server,
        "start_seconds": seconds(call.started),
        "duration_seconds": call.duration.map(seconds),
        "error": call.error,
        "cached": call.cached,
        "denied_by": call.denied_by,
        "arguments_sha256": call.arguments_hash,
        "arguments_bytes": call.arguments_bytes,
        "result_bytes": call.result_bytes,
        "tokens": call.tokens(),
        "arguments": call.arguments,
        "result": call.result.as_ref().map(|(_, text)| text),
    })
}

impl TokenUsage {
    /// The tokens that were used and saved.
    #[must_use]
    pub fn to_json(self) -> Value {
        json!({
            "direct": self.direct,
            "onecall": self.onecall,
            "saved": self.saved(),
            "estimated": self.estimated,
        })
    }
}

/// Seconds, with a precision of microseconds.
fn seconds(span: Duration) -> f64 {
    span.as_micros() as f64 / 1e6
}
