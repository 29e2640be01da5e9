//! The answers of servers to requests that clients make of them directly.

use onecall_core::ToolError;
use onecall_core::text::readable;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, InputRequiredResult};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::handler::FAILURE_TOKENS;

/// The answer of a server to a request of a client.
pub(crate) enum ServerAnswer<T> {
    /// The result.
    Complete(T),
    /// The server asks questions first, which the client answers by repeating the request.
    InputRequired(InputRequiredResult),
}

impl<T> ServerAnswer<T> {
    /// Reads the questions of a server; `None` if the answer is a result.
    pub(crate) fn questions(answer: &Value) -> Option<Result<Self, serde_json::Error>> {
        let asks = answer.get("resultType").is_some_and(|kind| kind == "input_required");
        asks.then(|| serde_json::from_value(answer.clone()).map(Self::InputRequired))
    }

    /// The answer in the form that rmcp sends.
    pub(crate) fn into_response<R: From<T> + From<InputRequiredResult>>(self) -> R {
        match self {
            Self::Complete(result) => result.into(),
            Self::InputRequired(questions) => questions.into(),
        }
    }
}

impl<T: DeserializeOwned> ServerAnswer<T> {
    /// Reads an answer.
    ///
    /// # Errors
    /// If the answer is not valid MCP.
    pub(crate) fn read(answer: &RawValue) -> Result<Self, serde_json::Error> {
        let mut answer: Value = serde_json::from_str(answer.get())?;
        if let Some(questions) = Self::questions(&answer) {
            return questions;
        }
        if let Some(answer) = answer.as_object_mut() {
            // rmcp sends this field only to clients whose protocol version has it.
            answer.insert("resultType".to_owned(), json!("complete"));
        }
        serde_json::from_value(answer).map(Self::Complete)
    }
}

/// The error response for a client: that of the server if it refused the request, or else one that
/// says why there is no answer.
pub(crate) fn protocol_error(error: &ToolError) -> ErrorData {
    let Some(refusal) = error.refusal() else {
        let message = readable(&error.to_string(), FAILURE_TOKENS);
        return match error {
            ToolError::NotAvailable { .. }
            | ToolError::Forbidden { .. }
            | ToolError::Denied { .. }
            | ToolError::InvalidCall { .. } => ErrorData::invalid_params(message, None),
            _ => ErrorData::internal_error(message, None),
        };
    };
    let code = i32::try_from(refusal.code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    let message = readable(&refusal.message, FAILURE_TOKENS);
    ErrorData::new(code, message, refusal.data.clone())
}
