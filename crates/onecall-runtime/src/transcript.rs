//! An outcome as JSON, for applications that embed this crate. The form of the JSON is a contract.

use std::borrow::Cow;
use std::time::Duration;

use onecall_core::{CallEnd, CallRecord, Outcome, Output, RecordedResult, ToolValue, json_of_text};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::report::TRUNCATION_MARK;

/// Everything about a program that has ended, ready to be serialized.
#[derive(Debug, Serialize)]
pub struct Transcript<'a> {
    success: bool,
    execution_time_seconds: f64,
    timeout_limit_seconds: f64,
    stdout: String,
    stderr: String,
    tool_calls: Vec<CallEntry<'a>>,
    tool_results: Vec<ResultEntry<'a>>,
    return_value: Option<&'a RawValue>,
    error: Option<ErrorDetails>,
    file_path: Option<&'a str>,
    displayed: Vec<Displayed<'a>>,
}

#[derive(Debug, Serialize)]
struct CallEntry<'a> {
    tool_name: &'a str,
    args: Box<RawValue>,
    tool_call_id: String,
    parsed: bool,
    has_error: bool,
    start_seconds: f64,
    /// The duration of the call; `None` if the program ended first.
    duration_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct ResultEntry<'a> {
    tool_call_id: String,
    observation: ObservedValue<'a>,
    has_error: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ObservedValue<'a> {
    Json(Cow<'a, RawValue>),
    Text(&'a str),
    Nothing,
}

#[derive(Debug, Serialize)]
struct ErrorDetails {
    #[serde(rename = "type")]
    kind: String,
    message: String,
    traceback: String,
    line: Option<u64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Displayed<'a> {
    data: &'a str,
    mime_type: &'a str,
}

impl<'a> Transcript<'a> {
    /// The transcript of an outcome; `file_path` is the file that the program was saved to.
    #[must_use]
    pub fn new(outcome: &'a Outcome, file_path: Option<&'a str>) -> Self {
        Self::with_call_ids(outcome, file_path, "call")
    }

    /// The transcript of an outcome with call ids that begin with `prefix`, which distinguishes the
    /// calls of programs that run at the same time.
    #[must_use]
    pub fn with_call_ids(outcome: &'a Outcome, file_path: Option<&'a str>, prefix: &str) -> Self {
        let records = &outcome.calls.records;
        let displayed = |shown: &'a onecall_core::Media| Displayed {
            data: &shown.data,
            mime_type: &shown.mime_type,
        };
        Self {
            success: outcome.result.is_ok(),
            execution_time_seconds: seconds(outcome.duration),
            timeout_limit_seconds: outcome.timeout.as_secs_f64(),
            stdout: output_text(&outcome.stdout),
            stderr: output_text(&outcome.stderr),
            tool_calls: records.iter().map(|record| CallEntry::of(record, prefix)).collect(),
            tool_results: records
                .iter()
                .filter_map(|record| ResultEntry::of(record, prefix))
                .collect(),
            return_value: outcome.value.as_deref(),
            error: outcome.result.as_ref().err().map(|failure| {
                let summary = failure.summary();
                ErrorDetails {
                    kind: summary.kind,
                    message: summary.message,
                    traceback: failure.to_string(),
                    line: summary.line,
                }
            }),
            file_path,
            displayed: outcome.media.iter().map(displayed).collect(),
        }
    }

    /// The transcript as one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl<'a> CallEntry<'a> {
    fn of(record: &'a CallRecord, prefix: &str) -> Self {
        let args =
            record.has_all_arguments.then(|| RawValue::from_string(record.arguments.clone()).ok());
        let unknown = || to_raw_value(&record.arguments).unwrap_or_default();
        Self {
            tool_name: record.name.as_str(),
            args: args.flatten().unwrap_or_else(unknown),
            tool_call_id: call_id(prefix, record.id),
            parsed: record.end.as_ref().is_none_or(|end| end.sent),
            has_error: record.end.as_ref().is_none_or(CallEnd::has_failed),
            start_seconds: seconds(record.started),
            duration_seconds: record.end.as_ref().map(|end| seconds(end.duration)),
        }
    }
}

impl<'a> ObservedValue<'a> {
    /// The value as a program would see it.
    fn of(value: &'a ToolValue) -> Self {
        match value {
            ToolValue::Nothing => Self::Nothing,
            ToolValue::Json(json) => Self::Json(Cow::Borrowed(json)),
            ToolValue::Text(text) => json_of_text(text).map_or(Self::Text(text), Self::Json),
            ToolValue::WithContent { value, .. } => Self::of(value),
        }
    }
}

impl<'a> ResultEntry<'a> {
    fn of(record: &'a CallRecord, prefix: &str) -> Option<Self> {
        let end = record.end.as_ref()?;
        let observation = match &end.result {
            RecordedResult::Value(value) => ObservedValue::of(value),
            RecordedResult::NotKept => ObservedValue::Text("(not kept: it is too large)"),
            RecordedResult::Failed(message) => ObservedValue::Text(message),
        };
        let has_error = end.has_failed();
        Some(Self { tool_call_id: call_id(prefix, record.id), observation, has_error })
    }
}

/// The id of a call in a transcript with this prefix.
#[must_use]
pub fn call_id(prefix: &str, id: u64) -> String {
    format!("{prefix}_{id}")
}

fn output_text(output: &Output) -> String {
    let mut text = output.text.clone();
    if output.truncated {
        text.push_str(TRUNCATION_MARK);
    }
    text
}

/// Seconds, rounded to microseconds.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e6
}
