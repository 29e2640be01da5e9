//! Input requests of servers without a handshake. Such a server cannot send requests of its own: it
//! answers a call with its questions, and the call is repeated with the answers (revision
//! 2026-07-28).

use std::borrow::Cow;

use onecall_core::text::one_line;
use onecall_core::{
    AnswerForm, Caller, ClientInput, ResolvedCall, ServerName, ServerQuestionError,
    ServerQuestionKind,
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::protocol::question;

/// The type of a result that consists of questions.
const INPUT_REQUIRED: &str = "input_required";

/// How often a server may answer one call with questions.
pub(crate) const MAX_ROUNDS: usize = 10;

/// The largest number of questions in one round.
const MAX_QUESTIONS: usize = 16;

/// Why a call cannot continue after the server asked questions about it. The display text is what
/// the program reads.
#[derive(Debug, Error)]
pub(crate) enum InputError {
    #[error("the tool asks more than {MAX_QUESTIONS} questions at once")]
    TooManyQuestions,
    #[error("the tool asked for input more than {MAX_ROUNDS} times")]
    TooManyRounds,
    #[error("the tool asks for input in a way that is not valid: {0}")]
    Unreadable(serde_json::Error),
    #[error("the tool asks for '{method}', which no client can answer")]
    UnknownQuestion { method: String },
    #[error("the tool asks for more input ('{method}'): {refusal}")]
    Refused { method: String, refusal: ServerQuestionError },
    #[error(transparent)]
    NoJson(#[from] serde_json::Error),
}

/// The questions that a server wants answered before it continues a call.
#[derive(Debug)]
pub(crate) struct InputRequired {
    requests: Vec<(String, Box<RawValue>)>,
    state: Option<Box<RawValue>>,
}

/// The answers that a repeated request carries, as members of its parameters.
pub(crate) type InputAnswers = ClientInput;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResult<'a> {
    #[serde(borrow)]
    result_type: Option<Cow<'a, str>>,
    input_requests: Option<Map<String, Value>>,
    #[serde(borrow)]
    request_state: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireRequest {
    method: String,
    params: Option<Value>,
}

impl InputRequired {
    /// Parses the questions in a result; `None` if it is an ordinary result.
    pub fn read(result: &RawValue) -> Option<Self> {
        let json = result.get();
        if !json.starts_with('{') || !json.contains(INPUT_REQUIRED) {
            return None;
        }
        let wire: WireResult<'_> = serde_json::from_str(json).ok()?;
        wire.result_type.filter(|kind| kind == INPUT_REQUIRED)?;
        let requests = wire.input_requests.unwrap_or_default();
        let requests = requests.into_iter().take(MAX_QUESTIONS + 1);
        let requests = requests.map(|(key, request)| Some((key, to_raw_value(&request).ok()?)));
        Some(Self {
            requests: requests.collect::<Option<_>>()?,
            state: wire.request_state.map(ToOwned::to_owned),
        })
    }

    /// Asks the client all questions, one after the other. An error is the reason why the call
    /// cannot continue.
    pub async fn ask_client(
        self,
        server: &ServerName,
        caller: Option<&Caller>,
    ) -> Result<InputAnswers, InputError> {
        if self.requests.len() > MAX_QUESTIONS {
            return Err(InputError::TooManyQuestions);
        }
        let mut responses = Map::new();
        for (key, request) in self.requests {
            let answer = ask(server, caller, &request).await?;
            responses.insert(key, serde_json::from_str(answer.get())?);
        }
        let responses = (!responses.is_empty()).then(|| to_raw_value(&responses)).transpose()?;
        Ok(InputAnswers { responses, state: self.state })
    }
}

impl InputRequired {
    /// The questions as a result for a client that answers them itself, with their texts made safe to
    /// show.
    pub fn for_client(self, server: &ServerName) -> Result<Box<RawValue>, InputError> {
        if self.requests.len() > MAX_QUESTIONS {
            return Err(InputError::TooManyQuestions);
        }
        let mut result = Map::new();
        result.insert("resultType".to_owned(), INPUT_REQUIRED.into());
        let mut requests = Map::new();
        for (key, request) in self.requests {
            let WireRequest { method, params } =
                serde_json::from_str(request.get()).map_err(InputError::Unreadable)?;
            let shown = one_line(&method, 100);
            let Some(subject) = ServerQuestionKind::from_method(&method) else {
                return Err(InputError::UnknownQuestion { method: shown });
            };
            let params = params.map(|params| to_raw_value(&params)).transpose()?;
            let question = question::parse(server, subject, params.as_deref())
                .map_err(|refusal| InputError::Refused { method: shown, refusal })?;
            let params: Value = serde_json::from_str(question.params.get())?;
            requests.insert(key, json!({ "method": method, "params": params }));
        }
        if !requests.is_empty() {
            result.insert("inputRequests".to_owned(), Value::Object(requests));
        }
        if let Some(state) = self.state {
            result.insert("requestState".to_owned(), serde_json::from_str(state.get())?);
        }
        Ok(to_raw_value(&result)?)
    }
}

/// The input that a request brings for its server, if the questions of the server are answered by the
/// client itself.
pub(crate) fn client_input(call: &ResolvedCall) -> Option<&InputAnswers> {
    let is_direct = call.form == AnswerForm::Untouched;
    call.run.caller.as_deref().filter(|_| is_direct)?.input.as_deref()
}

async fn ask(
    server: &ServerName,
    caller: Option<&Caller>,
    request: &RawValue,
) -> Result<Box<RawValue>, InputError> {
    let request: WireRequest =
        serde_json::from_str(request.get()).map_err(InputError::Unreadable)?;
    let method = one_line(&request.method, 100);
    let Some(subject) = ServerQuestionKind::from_method(&request.method) else {
        return Err(InputError::UnknownQuestion { method });
    };
    let params = request.params.unwrap_or_else(|| Value::Object(Map::new()));
    let params = to_raw_value(&params)?;
    let answer = match (question::parse(server, subject, Some(&params)), caller) {
        (Err(refusal), _) => Err(refusal),
        (Ok(_), None) => Err(ServerQuestionError::Unanswerable("there is no client to ask")),
        (Ok(question), Some(caller)) => question::ask_client(caller, question).await,
    };
    answer.or_else(|refusal| {
        question::fallback_result(subject, &refusal).ok_or(InputError::Refused { method, refusal })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<InputRequired> {
        InputRequired::read(&RawValue::from_string(json.to_owned()).unwrap())
    }

    #[test]
    fn only_a_result_that_says_so_asks_for_input() {
        assert!(read(r#"{"content":[{"type":"text","text":"input_required"}]}"#).is_none());
        assert!(read(r#"{"resultType":"complete","content":[]}"#).is_none());
        let asking = read(
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"x"}"#,
        );
        let asking = asking.unwrap();
        assert_eq!((asking.requests.len(), asking.state.unwrap().get()), (1, "\"x\""));
    }
}
