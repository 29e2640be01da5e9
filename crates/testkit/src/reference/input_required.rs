//! Tools and a prompt that answer with questions, in the way of the revision without a handshake: the
//! client repeats its request with the answers.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::connection::{Answer, Failure};
use super::content;

/// The prompt that asks first.
pub(super) const PROMPT: &str = "test_input_required_result_prompt";

/// The names of the tools that ask first.
pub(super) const TOOLS: [&str; 9] = [
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
];

/// Keeps clients from making up states.
const KEY: &str = "a key for tests";

/// Calls one of [`TOOLS`].
pub(super) fn call(params: &Value) -> Answer {
    let state = params["requestState"].as_str();
    let responses = &params["inputResponses"];
    match params["name"].as_str().unwrap_or_default() {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            Ok(match responses["user_name"]["content"]["name"].as_str() {
                Some(name) => content::text(format!("Hello, {name}!")),
                None => asking(json!({ "user_name": form("What is your name?", "name") }), None),
            })
        }
        "test_input_required_result_sampling" => {
            Ok(match responses["capital_question"]["content"]["text"].as_str() {
                Some(answer) => content::text(answer),
                None => {
                    let question = sampling("What is the capital of France?");
                    asking(json!({ "capital_question": question }), None)
                }
            })
        }
        "test_input_required_result_list_roots" => Ok(match &responses["client_roots"]["roots"] {
            Value::Array(roots) => content::text(json!(roots).to_string()),
            _ => asking(json!({ "client_roots": roots() }), None),
        }),
        "test_input_required_result_multiple_inputs" => {
            let keys = ["user_name", "greeting", "client_roots"];
            if state.is_some() && keys.iter().all(|key| responses[*key].is_object()) {
                opened(state, "multiple")?;
                return Ok(content::text("all answers have arrived"));
            }
            let questions = json!({
                "user_name": form("What is your name?", "name"),
                "greeting": sampling("Write a greeting."),
                "client_roots": roots(),
            });
            Ok(asking(questions, Some(&sealed("multiple"))))
        }
        "test_input_required_result_multi_round" => match state {
            None => {
                let questions = json!({ "step1": form("Step 1: What is your name?", "name") });
                Ok(asking(questions, Some(&sealed("round 1"))))
            }
            Some(_) if opened(state, "round 1").is_ok() => {
                let questions = json!({ "step2": form("Step 2: Which color?", "color") });
                Ok(asking(questions, Some(&sealed("round 2"))))
            }
            Some(_) => opened(state, "round 2").map(|()| content::text("both steps are done")),
        },
        "test_input_required_result_capabilities" => {
            let declared = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            let mut questions = json!({});
            if declared["sampling"].is_object() {
                questions["greeting"] = sampling("Write a greeting.");
            }
            if declared["elicitation"].is_object() {
                questions["user_name"] = form("What is your name?", "name");
            }
            Ok(asking(questions, None))
        }
        _ => match state {
            None => Ok(asking(json!({ "confirm": form("Go on?", "ok") }), Some(&sealed("one")))),
            Some(_) => opened(state, "one").map(|()| content::text("state-ok")),
        },
    }
}

/// The answer to the question of the prompt, if the request has it.
pub(super) fn prompt_context(params: &Value) -> Option<&str> {
    params["inputResponses"]["user_context"]["content"]["context"].as_str()
}

pub(super) fn ask_prompt_context() -> Value {
    asking(json!({ "user_context": form("Which context?", "context") }), None)
}

fn asking(questions: Value, state: Option<&str>) -> Value {
    let mut result = json!({ "resultType": "input_required", "inputRequests": questions });
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    result
}

fn form(message: &str, field: &str) -> Value {
    let kind = if field == "ok" { "boolean" } else { "string" };
    json!({
        "method": "elicitation/create",
        "params": {
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": { field: { "type": kind } },
                "required": [field],
            },
        },
    })
}

fn sampling(text: &str) -> Value {
    json!({
        "method": "sampling/createMessage",
        "params": {
            "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
            "maxTokens": 100,
        },
    })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

/// A state that the client cannot change unnoticed.
fn sealed(state: &str) -> String {
    let digest = Sha256::digest(format!("{KEY} {state}"));
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{state}.{digest}")
}

/// Checks that the client sends back this state.
fn opened(given: Option<&str>, state: &str) -> Result<(), Failure> {
    match given {
        Some(given) if given == sealed(state) => Ok(()),
        _ => Err(Failure::new(-32602, "the requestState is not valid")),
    }
}
