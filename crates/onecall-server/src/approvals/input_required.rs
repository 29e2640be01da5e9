//! Results that ask a client of protocol version 2026-07-28 for input, and the request states that
//! such clients send back.

use std::collections::BTreeMap;
use std::sync::Arc;

use onecall_core::storage::StoreError;
use onecall_core::{Digest, RunId, Timestamp, UserName};
use onecall_gateway::{AskedCall, Gateway, QuestionId, StateOwner, StateRefusal};
use rmcp::model::{CallToolRequestParams, InputRequest, InputRequiredResult, InputResponses};
use serde_json::{Value, json};
use thiserror::Error;

use super::form::{Form, FormAnswer, by_client, read_answer};

/// The key of the form among the inputs that a result asks for.
const INPUT: &str = "approval";

/// How often a client is asked in one exchange before it is told to use `continue_program`.
const MAX_ROUNDS: u32 = 8;

/// What an answer of the client does.
#[derive(Debug)]
pub(crate) struct InputState {
    /// The run that the client asks about.
    pub(crate) run: RunId,
    /// How often the client has been asked.
    pub(crate) round: u32,
    /// Whether the client may be asked again.
    pub(crate) asks_again: bool,
}

/// Why a request state is refused. Nothing has been decided or started.
#[derive(Debug, Error)]
pub(crate) enum InputError {
    /// The state is not valid.
    #[error(transparent)]
    Refused(#[from] StateRefusal),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The owner of a request state: the user and the client with their request.
pub(crate) fn state_owner(
    user: &UserName,
    client: &str,
    given: &CallToolRequestParams,
) -> StateOwner {
    let arguments = given.arguments.clone().unwrap_or_default();
    let mut request = String::new();
    write_sorted(&json!([given.name, arguments]), &mut request);
    StateOwner { user: user.clone(), client: client.to_owned(), request: Digest::of(request) }
}

/// Writes JSON with the keys of objects in alphabetical order, because a client may send them in
/// another order.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(entries) => {
            let sorted: BTreeMap<_, _> = entries.iter().collect();
            text.push('{');
            for (key, value) in sorted {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

impl InputState {
    /// The state of a request that begins a run or asks for its state.
    pub(crate) fn first(run: RunId) -> Self {
        Self { run, round: 0, asks_again: true }
    }

    /// Opens the state that a client has sent back, and applies the answers that it brings.
    ///
    /// # Errors
    /// If the state is not valid for this client and request. Nothing is decided then.
    pub(crate) async fn open(
        gateway: &Arc<Gateway>,
        owner: &StateOwner,
        sealed: &str,
        responses: Option<&InputResponses>,
    ) -> Result<Self, InputError> {
        let question = gateway.open_question(sealed, owner).await??;
        let mut state = Self { run: question.run(), round: question.round, asks_again: true };
        let Some(answer) = responses.and_then(|responses| responses.get(INPUT)) else {
            return Ok(state);
        };
        match read_answer(question.calls.into_iter(), answer) {
            FormAnswer::Decided(decisions) => {
                for (item, verdict) in decisions {
                    // The first answer counts: a repeated one changes nothing.
                    gateway
                        .answer_question(item, by_client(verdict, &owner.user, &owner.client))
                        .await?;
                }
            }
            FormAnswer::Dismissed | FormAnswer::Invalid => state.asks_again = false,
        }
        Ok(state)
    }

    /// Whether the client may be asked once more.
    pub(crate) fn can_ask(&self) -> bool {
        self.asks_again && self.round < MAX_ROUNDS
    }

    /// The result that asks the client's user.
    ///
    /// # Errors
    /// If the state cannot be sealed.
    pub(crate) async fn ask(
        &self,
        gateway: &Arc<Gateway>,
        owner: &StateOwner,
        form: &Form,
    ) -> Result<Option<InputRequiredResult>, StoreError> {
        let request = json!({ "method": "elicitation/create", "params": form.params() });
        let Ok(request) = serde_json::from_value::<InputRequest>(request) else { return Ok(None) };
        let calls = form.items().iter().map(AskedCall::from).collect();
        let expires = form.items().iter().map(|item| item.expires).min();
        let expires = expires.unwrap_or_else(Timestamp::now);
        let question = QuestionId::new(&self.run, calls, self.round.saturating_add(1), expires);
        let sealed = gateway.seal_question(&question, owner).await?;
        let requests = BTreeMap::from([(INPUT.to_owned(), request)]);
        Ok(Some(InputRequiredResult::new(Some(requests), Some(sealed))))
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::{ApprovalQuestion, ApprovalWay, CallableName, ItemId, QuestionKind};
    use onecall_gateway::WaitingRun;

    use super::*;

    #[test]
    fn the_order_of_arguments_does_not_matter_and_everything_else_does() {
        let digest = |tool: &'static str, arguments: &str| {
            let mut request = CallToolRequestParams::new(tool);
            request.arguments = serde_json::from_str(arguments).unwrap();
            state_owner(&UserName::local(), "c", &request).request
        };
        let one = digest("t", r#"{"a":1,"b":{"x":[1,2],"y":null}}"#);
        assert_eq!(digest("t", r#"{"b":{"y":null,"x":[1,2]},"a":1}"#), one);
        for other in [
            digest("u", r#"{"a":1,"b":{"x":[1,2],"y":null}}"#),
            digest("t", r#"{"a":1,"b":{"x":[2,1],"y":null}}"#),
            digest("t", r#"{"a":"1","b":{"x":[1,2],"y":null}}"#),
            digest("t", "{}"),
        ] {
            assert_ne!(other, one);
        }
    }

    #[test]
    fn a_form_is_a_valid_input_request() {
        let run = RunId::from_existing("r");
        let question = |call| ApprovalQuestion {
            item: ItemId::of(&run, call),
            run: run.clone(),
            call,
            kind: QuestionKind::Approve,
            name: CallableName::new("mcp__s__t"),
            line: None,
            arguments: "{}".to_owned(),
            rule: String::new(),
            asked: Timestamp(0),
            expires: Timestamp(1),
            ways: ApprovalWay::CONFIGURABLE.to_vec(),
        };
        for items in [vec![question(1)], vec![question(1), question(2)]] {
            let waiting = WaitingRun { run: run.clone(), items, in_place: None };
            let form = Form::about(&waiting).unwrap();
            let request = json!({ "method": "elicitation/create", "params": form.params() });
            assert!(serde_json::from_value::<InputRequest>(request).is_ok());
        }
    }
}
