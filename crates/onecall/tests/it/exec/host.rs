//! A host as the tests need it: every message it sends or gets is checked.

use serde_json::{Value, json};
use testkit::rpc::Client;

use super::schema::{Side, violation};
use crate::support::{Home, dedent};

/// A process that runs programs for us.
pub struct Host {
    pub client: Client,
    pub home: Home,
}

impl Host {
    pub fn new() -> Self {
        Self::with(&json!({}), &[])
    }

    /// Starts `onecall exec` with this configuration and these arguments.
    pub fn with(config: &Value, arguments: &[&str]) -> Self {
        let home = Home::with_config(config);
        std::fs::create_dir(home.path("work/kept")).unwrap();
        let mut all = vec!["exec"];
        all.extend(arguments);
        let client = Client::spawn(home.onecall_with_config(&all));
        let mut host = Self { client, home };
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(host.next(), json!({ "type": "ready", "version": version, "protocol": 1 }));
        host
    }

    /// The next message.
    pub fn next(&mut self) -> Value {
        self.next_line().1
    }

    /// The next message and the line that contained it.
    pub fn next_line(&mut self) -> (String, Value) {
        let line = self.client.receive_line().expect("another message");
        let message: Value = serde_json::from_str(&line).expect("a line of JSON");
        assert_eq!(violation(Side::Onecall, &message), None, "{message}");
        (line, message)
    }

    pub fn send(&mut self, message: &Value) {
        assert_eq!(violation(Side::Host, message), None, "{message}");
        self.client.send_line(&message.to_string());
    }

    /// Starts a program, with these fields beside its code.
    pub fn start(&mut self, id: &str, code: &str, more: Value) {
        let mut message = json!({ "type": "execute", "id": id, "code": dedent(code) });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.send(&message);
    }

    pub fn answer(&mut self, call: &Value, observation: Value) {
        let id = &call["tool_call_id"];
        let result =
            json!({ "type": "tool_result", "tool_call_id": id, "observation": observation });
        self.send(&result);
    }

    /// The next message, which must be of this type.
    pub fn expect(&mut self, kind: &str) -> Value {
        let message = self.next();
        assert_eq!(message["type"], kind, "{message}");
        message
    }

    /// Runs a program that calls nothing.
    pub fn run(&mut self, code: &str, more: Value) -> Value {
        self.start("run", code, more);
        self.expect("outcome")
    }

    /// Sends an invalid line and returns the error that answers it.
    pub fn error(&mut self, line: &str) -> Value {
        self.client.send_line(line);
        self.expect("error")
    }

    /// Shows that it still runs programs.
    pub fn still_works(&mut self) {
        assert_eq!(self.run("print('fine')", json!({}))["stdout"], "fine\n");
    }
}
