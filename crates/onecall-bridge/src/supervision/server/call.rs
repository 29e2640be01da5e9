//! Calls to the tools of a server: sending them, answering the server's questions, retrying, and
//! the errors while the server is down.

use std::time::{Duration, Instant};

use onecall_core::text::one_line;
use onecall_core::{AnswerForm, ResolvedCall, Schema, ServerRefusal, ToolSpec, ToolValue};
use tokio::time::timeout;
use tracing::warn;

use super::Server;
use super::state::seconds_until;
use crate::error::{RequestError, SendError};
use crate::protocol::input::{self, InputAnswers, InputError, InputRequired, MAX_ROUNDS};
use crate::protocol::reply::Reply;
use crate::protocol::request::{ProtocolMode, Request};
use crate::protocol::request_origin::RequestOrigin;
use crate::protocol::result::{Decoded, ResultError, tool_value, untouched, whole_answer};
use crate::supervision::status::{NextStart, ServerState};

/// How long a repeatable call waits for a server that is about to restart.
const RESTART_WAIT: Duration = Duration::from_secs(2);

/// Why a call failed; the text is what the program reads.
pub(crate) enum CallError {
    /// The call was not sent to the server.
    NeverSent(String),
    /// The server may have received the call.
    Failed(String),
    /// The server refused the call.
    Refused { message: String, refusal: Box<ServerRefusal> },
}

impl CallError {
    fn failed(error: impl std::error::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The answer of a server to a call.
enum CallAnswer {
    Value(Result<Decoded, ResultError>),
    /// The server asks questions first.
    Required(InputRequired),
}

impl CallAnswer {
    /// The answer, or an error if its value is larger than a program may get.
    fn limited_to(self, limit_bytes: usize) -> Self {
        let bytes = match &self {
            Self::Value(Ok(decoded)) => decoded.value.size(),
            Self::Value(Err(_)) | Self::Required(_) => 0,
        };
        if bytes <= limit_bytes {
            return self;
        }
        Self::Value(Err(ResultError::TooLarge(RequestError::TooLarge { limit_bytes })))
    }
}

impl Server {
    /// Calls a tool of this server; an error is what the program reads.
    ///
    /// A call that was not sent is retried once, if the tool declares that repeating it is harmless
    /// and the server is about to restart.
    pub async fn call(&self, spec: &ToolSpec, call: &ResolvedCall) -> Result<ToolValue, CallError> {
        let _in_use = self.start_for_request().await;
        let mut answer = self.call_once(spec, call).await;
        if matches!(answer, Err(CallError::NeverSent(_)))
            && is_repeatable(spec)
            && self.restarts_soon().await
        {
            answer = self.call_once(spec, call).await;
        }
        answer
    }

    async fn call_once(
        &self,
        spec: &ToolSpec,
        call: &ResolvedCall,
    ) -> Result<ToolValue, CallError> {
        let started = Instant::now();
        let origin = RequestOrigin::of(&call.name, call.run.caller.as_ref());
        let client_input = input::client_input(call);
        let first = self.send_call(spec, call, origin.as_ref(), client_input).await?;
        let required = match first {
            CallAnswer::Value(decoded) => return self.value(spec, decoded),
            CallAnswer::Required(required) if client_input.is_some() => {
                let questions = required.for_client(&self.config.name);
                return questions.map(ToolValue::Json).map_err(CallError::failed);
            }
            CallAnswer::Required(required) => required,
        };
        let rounds = self.answer_and_repeat(spec, call, origin.as_ref(), required);
        // All rounds together share the time limit of one call.
        let Some(limit) = self.config.call_timeout else { return rounds.await };
        let value = timeout(limit.saturating_sub(started.elapsed()), rounds).await;
        value.unwrap_or_else(|_| Err(CallError::failed(RequestError::NoAnswer { limit })))
    }

    /// Answers the server's questions and repeats the call until there is a value.
    async fn answer_and_repeat(
        &self,
        spec: &ToolSpec,
        call: &ResolvedCall,
        origin: Option<&RequestOrigin>,
        mut required: InputRequired,
    ) -> Result<ToolValue, CallError> {
        for _ in 0..MAX_ROUNDS {
            let input = required.ask_client(&self.config.name, call.run.caller.as_deref()).await;
            let input = input.map_err(CallError::failed)?;
            match self.send_call(spec, call, origin, Some(&input)).await? {
                CallAnswer::Value(decoded) => return self.value(spec, decoded),
                CallAnswer::Required(more) => required = more,
            }
        }
        Err(CallError::failed(InputError::TooManyRounds))
    }

    /// The value of an answer. If the answer violates the tool's output schema, the first such
    /// answer of the tool is logged.
    fn value(
        &self,
        spec: &ToolSpec,
        decoded: Result<Decoded, ResultError>,
    ) -> Result<ToolValue, CallError> {
        let Decoded { value, breaks_schema } = decoded.map_err(CallError::failed)?;
        if breaks_schema && self.lock().breaking_schema.insert(spec.tool.clone()) {
            warn!(
                server = %self.config.name, user = self.options.user_field(), tool = one_line(spec.tool.as_str(), 100),
                "the tool declares a result wrapped as {{\"result\": …}} and sent something else; \
                 programs get its answers as they are sent"
            );
        }
        Ok(value)
    }

    async fn send_call(
        &self,
        spec: &ToolSpec,
        call: &ResolvedCall,
        origin: Option<&RequestOrigin>,
        input: Option<&InputAnswers>,
    ) -> Result<CallAnswer, CallError> {
        let (peer, parameters) = {
            let data = self.lock();
            (data.peer.clone(), data.parameters.clone())
        };
        let Some(peer) = peer else {
            return Err(CallError::NeverSent(self.unavailable_message()));
        };
        let (tool, arguments) = (&spec.tool, &call.arguments);
        let header_arguments =
            parameters.map(|parameters| parameters.header_arguments(tool, arguments));
        let header_arguments = header_arguments.as_deref().unwrap_or_default();
        let request = Request::CallTool { tool, arguments, header_arguments, origin, input };
        let (mode, form) = (peer.protocol_mode(), call.form);
        let output = spec.output_schema.as_ref().map(Schema::output_form);
        let decode = move |reply: Reply<'_>| {
            let required = match mode {
                ProtocolMode::Handshake => None,
                ProtocolMode::Stateless => InputRequired::read(reply.result),
            };
            if let Some(required) = required {
                return CallAnswer::Required(required);
            }
            CallAnswer::Value(match form {
                AnswerForm::Value => tool_value(reply, output),
                AnswerForm::Whole => whole_answer(reply),
                AnswerForm::Untouched => untouched(reply),
            })
        };
        match peer.request_reply(request, self.config.call_timeout, decode).await {
            Ok(answer) => Ok(answer.limited_to(self.options.limits.max_result_bytes)),
            Err(RequestError::ClosedBeforeSending { .. }) => {
                Err(CallError::NeverSent(self.unavailable_message()))
            }
            Err(error @ RequestError::NotSent(SendError::Closed)) => {
                Err(CallError::NeverSent(error.to_string()))
            }
            Err(error) => {
                let message = self.request_failure(&error);
                Err(match error.refusal() {
                    Some(refusal) => CallError::Refused { message, refusal },
                    None => CallError::Failed(message),
                })
            }
        }
    }

    /// Waits a short time for a server that is about to restart; returns whether it is up.
    async fn restarts_soon(&self) -> bool {
        let is_imminent = match self.lock().state {
            ServerState::Failed { next_start: NextStart::At(at), .. } => {
                at.saturating_duration_since(Instant::now()) < RESTART_WAIT
            }
            ServerState::Failed { next_start, .. } => next_start == NextStart::Now,
            _ => false,
        };
        if !is_imminent {
            return false;
        }
        let mut is_up = self.is_up.subscribe();
        let up = is_up.wait_for(|is_up| *is_up);
        let wait = self.config.call_timeout.map_or(RESTART_WAIT, |limit| limit.min(RESTART_WAIT));
        timeout(wait, up).await.is_ok_and(|up| up.is_ok())
    }

    /// The error text for a call while the server is not connected.
    pub fn unavailable_message(&self) -> String {
        let name = &self.config.name;
        let (state, stopped) = {
            let data = self.lock();
            (data.state.clone(), data.stopped)
        };
        let (reason, failure_kind, next_start) = match &state {
            ServerState::Failed { reason, failure_kind, next_start, .. } => {
                (reason, *failure_kind, *next_start)
            }
            ServerState::Installing { .. } => {
                return format!(
                    "server '{name}' is installing for the first time, which can take minutes; \
                     try again later"
                );
            }
            _ => return format!("server '{name}' is not connected"),
        };
        if next_start != NextStart::Never
            && let Some(hint) = self.access_hint(failure_kind)
        {
            return format!("server '{name}' {hint}");
        }
        let outlook = match next_start {
            NextStart::Never => return format!("server '{name}' {}", stopped.status_phrase()),
            NextStart::AfterLogin => return format!("server '{name}' {reason}"),
            NextStart::AfterReload | NextStart::WhenNeeded => {
                return format!("server '{name}' is not running: {reason}");
            }
            NextStart::Now | NextStart::At(_) if !self.promises_restart() => {
                return format!("server '{name}' is not running: {reason}");
            }
            NextStart::Now => "onecall is starting it again".to_owned(),
            NextStart::At(at) => format!("onecall starts it again in {} s", seconds_until(at)),
        };
        format!("server '{name}' is not running: {reason}; {outlook}")
    }
}

/// Whether the tool declares that repeating a call has no further effect.
fn is_repeatable(spec: &ToolSpec) -> bool {
    let hints = &spec.annotations;
    hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true)
}
