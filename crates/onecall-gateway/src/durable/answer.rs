//! The answer of a run in the form that clients get and the store keeps: the result of an MCP tool
//! call.

use onecall_core::text::visible_json;
use onecall_core::{Failure, MediaKind, Outcome, OutcomeDetail, Program, ToolError};
use onecall_runtime::{PlanAnswer, PlanFailure, Transcript, report};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The result of the tool call that started a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunAnswer {
    /// MCP content blocks.
    pub content: Vec<Value>,
    /// The structured content, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the run failed.
    #[serde(default)]
    pub is_error: bool,
    /// Further fields that the server of an exposed tool sent.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl RunAnswer {
    /// An answer that consists of one text.
    #[must_use]
    pub fn text(text: impl Into<String>, is_error: bool) -> Self {
        let content = vec![json!({ "type": "text", "text": text.into() })];
        Self { content, structured_content: None, is_error, meta: None }
    }

    /// The answer of a run that failed without having a result of its own.
    #[must_use]
    pub fn failed(reason: &str) -> Self {
        Self::text(format!("[Script execution failed]\n{reason}"), true)
    }

    /// The answer of a run that was cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::failed(&Failure::Cancelled.to_string())
    }

    /// The answer of a program: its report, the handle of its session and what it displayed.
    fn of_outcome(outcome: &Outcome) -> Self {
        let text = |text: String| json!({ "type": "text", "text": text });
        let mut content = vec![text(report(outcome))];
        let handle = outcome.session.as_ref();
        content.extend(handle.map(|handle| text(format!("session: {}", handle.as_str()))));
        content.extend(outcome.media.iter().map(|shown| {
            let kind = match shown.kind {
                MediaKind::Image => "image",
                MediaKind::Audio => "audio",
            };
            json!({ "type": kind, "data": shown.data, "mimeType": shown.mime_type })
        }));
        Self { content, structured_content: None, is_error: outcome.result.is_err(), meta: None }
    }

    /// The answer of a program, in the detail that it asks for; `file` is where it was saved.
    #[must_use]
    pub fn of_program(outcome: &Outcome, program: &Program, file: Option<&str>) -> Self {
        match program.detail {
            OutcomeDetail::Brief => Self::of_outcome(outcome),
            OutcomeDetail::Whole => Self::of_whole_outcome(outcome, file),
        }
    }

    fn of_whole_outcome(outcome: &Outcome, file: Option<&str>) -> Self {
        let transcript = Transcript::new(outcome, file);
        let mut answer = Self::text(visible_json(&transcript.to_json()), false);
        // Numbers that `serde_json::Value` cannot represent are complete in the text.
        answer.structured_content = serde_json::to_value(&transcript).ok();
        answer
    }

    /// The answer of a plan.
    #[must_use]
    pub fn of_plan(answer: &Result<PlanAnswer, PlanFailure>) -> Self {
        match answer {
            Ok(PlanAnswer { content, structured }) => Self {
                content: content.clone(),
                structured_content: structured.clone(),
                is_error: false,
                meta: None,
            },
            Err(failure) => Self::text(failure.to_string(), true),
        }
    }

    /// The answer of an exposed tool, unchanged.
    #[must_use]
    pub fn of_exposed(answer: &Result<Box<RawValue>, ToolError>) -> Self {
        match answer {
            Ok(result) => serde_json::from_str(result.get()).unwrap_or_else(|error| {
                Self::text(format!("the result of the tool is not valid MCP: {error}"), true)
            }),
            Err(error) => Self::text(error.to_string(), true),
        }
    }

    /// The answer as JSON, as the store keeps it.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads an answer from the store.
    pub(crate) fn from_json(text: &str) -> Self {
        serde_json::from_str(text)
            .unwrap_or_else(|_| Self::failed("the stored result of the run cannot be read"))
    }
}
