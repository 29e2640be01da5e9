//! What clients use of bridged servers directly: what they get must be what a client gets that talks to
//! the server without us, as far as the rules of the gateway permit it.

mod access;
mod names;
mod notifications;
mod passing;
mod questions;
mod tools;

use serde_json::{Value, json};
use testkit::bins;

use crate::support::Gateway;

const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// The server that the MCP conformance suite expects, in one protocol revision.
fn reference(name: &str, revision: &str) -> Value {
    json!({ "name": name, "command": bins::reference_server(), "args": [revision] })
}

/// A configuration that exposes everything of the reference server under its own names.
fn exposing(revision: &str) -> Value {
    json!({
        "servers": [reference("reference", revision)],
        "expose_tools": ["mcp__reference__*"],
        "expose_resources": ["reference"],
        "expose_prompts": ["reference"],
        "expose_names": "own",
    })
}

/// A configuration that exposes everything of the reference server, with more settings.
fn exposing_with(more: &Value) -> Value {
    let mut config = exposing(HANDSHAKE);
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

/// The members `key` of the entries that a request lists.
fn listed(gateway: &mut Gateway, method: &str, list: &str, key: &str) -> Vec<String> {
    let answer = gateway.session.client().request(method, json!({}));
    let entries = answer[list].as_array().unwrap();
    entries.iter().map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
}

/// The parameters of a request in the revision without a handshake, for a client that can be asked.
fn stateless(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
    params["_meta"]["io.modelcontextprotocol/clientInfo"] =
        json!({ "name": "testkit", "version": "1.0.0" });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    params
}
