//! An MCP client on top of [`Client`]: handshake, tools, progress, cancellation.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::rpc::{Client, RpcError};

/// The protocol version that [`Session::open`] requests.
pub const PROTOCOL: &str = "2025-11-25";

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// The text blocks of the answer, joined with newlines.
    pub text: String,
    /// Whether the tool reports an error.
    pub is_error: bool,
    /// The whole `result`.
    pub raw: Value,
}

impl ToolAnswer {
    fn new(raw: Value) -> Self {
        let blocks = raw["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        Self { text: texts.join("\n"), is_error: raw["isError"] == true, raw }
    }
}

/// A call in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the answer to a call is read only when the call is finished"]
pub struct CallId(pub u64);

/// A connection to an MCP server over stdio. The server is killed when this is dropped.
pub struct Session {
    client: Client,
}

impl Session {
    /// Starts a server and does the handshake.
    pub fn open(command: Command) -> Self {
        let mut session = Self::new(Client::spawn(command));
        session.initialize(PROTOCOL);
        session
    }

    /// Starts a server for a client that can be asked questions: its `capabilities`, and its
    /// answers to requests of each method.
    pub fn open_with_capabilities(
        command: Command,
        capabilities: &Value,
        answers: &[(&str, Value)],
    ) -> Self {
        let mut session = Self::new(Client::spawn(command));
        for (method, answer) in answers {
            session.client.answer_requests(method, answer.clone());
        }
        session.initialize_with(PROTOCOL, capabilities);
        session
    }

    /// A session whose handshake has not been done yet.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Does the handshake and returns the server's answer.
    pub fn initialize(&mut self, protocol_version: &str) -> Value {
        self.initialize_with(protocol_version, &json!({}))
    }

    /// Does the handshake for a client with these capabilities, and returns the server's answer.
    pub fn initialize_with(&mut self, protocol_version: &str, capabilities: &Value) -> Value {
        let params = json!({
            "protocolVersion": protocol_version,
            "capabilities": capabilities,
            "clientInfo": { "name": "testkit", "version": "1.0.0" },
        });
        let answer = self.client.request("initialize", params);
        self.client.notify("notifications/initialized", json!({}));
        answer
    }

    /// All tool definitions, from all pages.
    pub fn list_tools(&mut self) -> Vec<Value> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = self.client.request("tools/list", params);
            if let Value::Array(more) = page["tools"].take() {
                tools.extend(more);
            }
            match page["nextCursor"].take() {
                Value::String(cursor) => params = json!({ "cursor": cursor }),
                _ => return tools,
            }
        }
    }

    /// The names of all tools, in the server's order.
    pub fn tool_names(&mut self) -> Vec<String> {
        let tools = self.list_tools();
        tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
    }

    /// Calls a tool and waits for its answer; panics on a JSON-RPC error.
    pub fn call_tool(&mut self, name: &str, arguments: Value) -> ToolAnswer {
        let call = self.start_call(name, arguments);
        self.finish_call(call)
    }

    /// Calls a tool and waits for its answer.
    ///
    /// # Errors
    /// The JSON-RPC error that the server answered.
    pub fn try_call_tool(&mut self, name: &str, arguments: Value) -> Result<ToolAnswer, RpcError> {
        let call = self.start_call(name, arguments);
        self.try_finish_call(call)
    }

    /// Starts a call; others can be started before it is finished.
    pub fn start_call(&mut self, name: &str, arguments: Value) -> CallId {
        let params = json!({ "name": name, "arguments": arguments });
        CallId(self.client.start("tools/call", params))
    }

    /// Starts a call that asks for progress under this token.
    pub fn start_call_with_progress(
        &mut self,
        name: &str,
        arguments: Value,
        token: &str,
    ) -> CallId {
        let meta = json!({ "progressToken": token });
        let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
        CallId(self.client.start("tools/call", params))
    }

    /// Waits for the answer to a started call; panics on a JSON-RPC error.
    pub fn finish_call(&mut self, call: CallId) -> ToolAnswer {
        match self.try_finish_call(call) {
            Ok(answer) => answer,
            Err(error) => panic!(
                "the call was answered with {error:?}\nstderr of the server:\n{}",
                self.client.stderr()
            ),
        }
    }

    /// Waits for the answer to a started call.
    ///
    /// # Errors
    /// The JSON-RPC error that the server answered.
    pub fn try_finish_call(&mut self, call: CallId) -> Result<ToolAnswer, RpcError> {
        self.client.finish(call.0).map(ToolAnswer::new)
    }

    /// The answer to a started call; `None` if it does not arrive in this time.
    pub fn finish_call_within(
        &mut self,
        call: CallId,
        timeout: Duration,
    ) -> Option<Result<ToolAnswer, RpcError>> {
        self.client.finish_within(call.0, timeout).map(|answer| answer.map(ToolAnswer::new))
    }

    /// Cancels a started call.
    pub fn cancel(&mut self, call: CallId) {
        let params = json!({ "requestId": call.0, "reason": "cancelled by the test" });
        self.client.notify("notifications/cancelled", params);
    }

    /// The parameters of the progress notifications for this token so far.
    pub fn progress(&self, token: &str) -> Vec<Value> {
        self.client
            .notifications()
            .iter()
            .filter(|note| note["method"] == "notifications/progress")
            .map(|note| note["params"].clone())
            .filter(|params| params["progressToken"] == token)
            .collect()
    }

    /// The underlying client.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }
}
