//! Recorded runs as JSON.

use std::time::Duration;

use onecall_core::TokenUsage;
use onecall_core::storage::{ReplayData, RunRecord, RunSummary, StoredCall};
use serde_json::{Value, json};

/// A run without its source and its calls.
pub(super) fn summary(run: &RunSummary) -> Value {
    json!({
        "id": run.id.as_str(),
        "started": run.started.to_string(),
        "client": run.client,
        "kind": run.kind,
        "language": run.language,
        "engine": run.engine,
        "session": run.session,
        "program_sha256": run.program_hash,
        "user": run.user.as_str(),
        "outcome": run.outcome,
        "error": run.error.as_ref().map(|(kind, message)| json!({ "type": kind, "message": message })),
        "duration_seconds": seconds(run.duration),
        "output_bytes": run.output_bytes,
        "output_truncated": run.output_truncated,
        "calls": run.call_count,
        "failed_calls": run.failed_calls,
        "cached_calls": run.cached_calls,
        "tokens": run.tokens().map(tokens),
        "detail": run.detail.name(),
    })
}

/// A run with all details.
pub(super) fn whole(record: &RunRecord) -> Value {
    let mut value = summary(&record.run);
    value["program"] = json!(record.program);
    value["argv"] = json!(record.argv);
    value["output"] = json!(record.output);
    value["replayable"] = json!(matches!(record.replay, ReplayData::Journal(_)));
    value["not_replayable_because"] = match record.replay {
        ReplayData::Impossible(obstacle) => json!(obstacle.explanation()),
        ReplayData::None | ReplayData::Journal(_) => Value::Null,
    };
    value["tool_calls"] = record.calls.iter().map(call).collect();
    value
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

/// The tokens that were used and saved.
pub(crate) fn tokens(tokens: TokenUsage) -> Value {
    json!({
        "direct": tokens.direct,
        "onecall": tokens.onecall,
        "saved": tokens.saved(),
        "estimated": tokens.estimated,
    })
}

/// Seconds, with a precision of microseconds.
fn seconds(span: Duration) -> f64 {
    span.as_micros() as f64 / 1e6
}
