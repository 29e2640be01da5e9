//! Calls to a server, and what they say while it is down.

use std::time::{Duration, Instant};

use onecall_core::{AnswerForm, ToolSpec, ToolValue};
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::{Server, seconds_until};
use crate::error::{RequestError, SendError};
use crate::request::Request;
use crate::result::{tool_value, whole_answer};
use crate::status::{NextStart, ServerState};

/// How long a call that may be repeated waits for a server that is about to start.
const IMMINENT: Duration = Duration::from_secs(2);

/// Why a call has no value; the text is what the program reads.
enum CallError {
    /// The server has not seen the call.
    NeverLeft(String),
    Failed(String),
}

impl Server {
    /// Calls one of its tools; an error is what the program reads.
    ///
    /// A call that never left is made once more, if the tool says that this does no
    /// harm and the server is about to be up again.
    pub async fn call(
        &self,
        spec: &ToolSpec,
        arguments: &RawValue,
        form: AnswerForm,
    ) -> Result<ToolValue, String> {
        let mut answer = self.call_once(spec, arguments, form).await;
        if matches!(answer, Err(CallError::NeverLeft(_)))
            && is_repeatable(spec)
            && self.comes_up_soon().await
        {
            answer = self.call_once(spec, arguments, form).await;
        }
        answer.map_err(|error| match error {
            CallError::NeverLeft(message) | CallError::Failed(message) => message,
        })
    }

    async fn call_once(
        &self,
        spec: &ToolSpec,
        arguments: &RawValue,
        form: AnswerForm,
    ) -> Result<ToolValue, CallError> {
        let (peer, parameters) = {
            let now = self.lock();
            (now.peer.clone(), now.parameters.clone())
        };
        let Some(peer) = peer else {
            return Err(CallError::NeverLeft(self.not_running()));
        };
        let tool = &spec.tool;
        let mirrored = parameters.map(|parameters| parameters.mirrored(tool, arguments));
        let mirrored = mirrored.as_deref().unwrap_or_default();
        let request = Request::CallTool { tool, arguments, mirrored };
        let decode = match form {
            AnswerForm::Value => tool_value,
            AnswerForm::Whole => whole_answer,
        };
        match peer.request(request, Some(self.config.call_timeout), decode).await {
            Ok(value) => value.map_err(CallError::Failed),
            Err(RequestError::NeverLeft { .. }) => Err(CallError::NeverLeft(self.not_running())),
            Err(error @ RequestError::NotSent(SendError::Closed)) => {
                Err(CallError::NeverLeft(error.to_string()))
            }
            Err(error) => Err(CallError::Failed(error.to_string())),
        }
    }

    /// Waits for a server that is about to be up again, but not for long.
    async fn comes_up_soon(&self) -> bool {
        let is_imminent = match self.lock().state {
            ServerState::Failed { next_start: NextStart::At(at), .. } => {
                at.saturating_duration_since(Instant::now()) < IMMINENT
            }
            ServerState::Failed { next_start, .. } => next_start == NextStart::Now,
            _ => false,
        };
        if !is_imminent {
            return false;
        }
        let mut is_up = self.is_up.subscribe();
        let up = is_up.wait_for(|is_up| *is_up);
        timeout(IMMINENT.min(self.config.call_timeout), up).await.is_ok_and(|up| up.is_ok())
    }

    /// What a program reads about a call that found nobody.
    pub fn not_running(&self) -> String {
        let name = &self.config.name;
        let now = self.lock();
        let ServerState::Failed { reason, next_start, .. } = &now.state else {
            return format!("server '{name}' is not connected");
        };
        let outlook = match next_start {
            NextStart::Never => return format!("server '{name}' {}", now.stopped.farewell()),
            NextStart::AfterLogin => return format!("server '{name}' {reason}"),
            NextStart::Now => "it is being started again".to_owned(),
            NextStart::At(at) => format!("it is started again in {} s", seconds_until(*at)),
        };
        format!("server '{name}' is not running: {reason}; {outlook}")
    }
}

/// Whether a second call like the first does no more than the first, if the tool
/// tells the truth.
fn is_repeatable(spec: &ToolSpec) -> bool {
    let hints = &spec.annotations;
    hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true)
}
