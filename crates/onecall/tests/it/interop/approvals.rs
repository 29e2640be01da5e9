//! Published clients whose users decide about the calls of a program: each plays the scenario that
//! is in `tests/interop/approvals`. A server writes down what it receives, so that every effect is
//! counted.
//!
//! Up to revision 2025-11-25, the form is a request to the client; from 2026-07-28 on, a result asks
//! for it. The SDKs of version 1 know only the former. FastMCP answers the latter by itself and has
//! no way of its own to keep a request state; the SDKs of version 2 have, and do it by hand, too.

use serde_json::{Value, json};

use super::clients::run;
use crate::approvals::files;
use crate::support::http_gateway::HttpGateway;
use crate::support::installed::{bounded, installed, interop_file};
use crate::support::{Home, ReceivedMessages};

/// The last revision with a handshake, and the first without.
const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Where the server writes down what it receives.
const RECEIVED: &str = "received";

/// What a program reads about a call that was denied without a reason.
const NOT_APPROVED: &str = "'mcp__files__delete' was denied: no reason was given";

#[test]
fn python_sdk_1() {
    let Some(client) = PublishedClient::python("SDK_1", "sdk_1.py") else { return };
    client.check("legacy", HANDSHAKE);
    client.check_exposed("legacy", HANDSHAKE);
}

#[test]
fn python_sdk_2() {
    let Some(client) = PublishedClient::python("SERVERS", "sdk_2.py") else { return };
    client.check("legacy", HANDSHAKE);
    client.check("auto", STATELESS);
    client.check_exposed("legacy", HANDSHAKE);
    client.check_exposed("auto", STATELESS);
    client.check_by_hand();
}

#[test]
fn fastmcp() {
    let Some(client) = PublishedClient::python("FASTMCP", "fastmcp_client.py") else { return };
    client.check("legacy", HANDSHAKE);
    client.check("auto", STATELESS);
    client.check_exposed("legacy", HANDSHAKE);
    client.check_exposed("auto", STATELESS);
}

#[test]
fn typescript_sdk_1() {
    let Some(client) = PublishedClient::node("sdk_1.mjs") else { return };
    client.check("legacy", HANDSHAKE);
}

#[test]
fn typescript_sdk_2() {
    let Some(client) = PublishedClient::node("sdk_2.mjs") else { return };
    client.check("legacy", HANDSHAKE);
    client.check("auto", STATELESS);
    client.check_by_hand();
}

#[test]
fn by_hand_over_http() {
    let python = PublishedClient::python("SERVERS", "sdk_2.py");
    for client in [python, PublishedClient::node("sdk_2.mjs")].into_iter().flatten() {
        let place = Place::new(&json!({}));
        let gateway = HttpGateway::with_settings(&place.config);
        let url = format!("http://{}/mcp", gateway.address);
        let seen = client.play("by_hand", "auto", &place.home, &[&url]);
        assert_eq!(seen, by_hand(), "{}", client.driver);
        assert_eq!(place.deleted(), ["/by_hand/yes"]);
    }
}

#[test]
fn over_http() {
    let clients = [
        (PublishedClient::python("SDK_1", "sdk_1.py"), "legacy", HANDSHAKE),
        (PublishedClient::python("SERVERS", "sdk_2.py"), "legacy", HANDSHAKE),
        (PublishedClient::python("SERVERS", "sdk_2.py"), "auto", STATELESS),
        (PublishedClient::python("FASTMCP", "fastmcp_client.py"), "legacy", HANDSHAKE),
        (PublishedClient::python("FASTMCP", "fastmcp_client.py"), "auto", STATELESS),
        (PublishedClient::node("sdk_1.mjs"), "legacy", HANDSHAKE),
        (PublishedClient::node("sdk_2.mjs"), "legacy", HANDSHAKE),
        (PublishedClient::node("sdk_2.mjs"), "auto", STATELESS),
    ];
    for (client, mode, protocol) in clients {
        let Some(client) = client else { continue };
        let place = Place::new(&json!({}));
        let gateway = HttpGateway::with_settings(&place.config);
        let url = format!("http://{}/mcp", gateway.address);
        let seen = client.play("decisions", mode, &place.home, &[&url]);
        assert_eq!(seen, decisions(protocol), "{} {mode}", client.driver);
        assert_eq!(place.deleted(), ["/in_turn/yes", "/together/yes"]);
    }
}

/// A client library: what runs its driver.
struct PublishedClient {
    interpreter: Vec<String>,
    driver: &'static str,
}

impl PublishedClient {
    fn python(environment: &str, driver: &'static str) -> Option<Self> {
        let python = installed(&format!("ONECALL_INTEROP_{environment}"))?.join("bin/python");
        // With `-B`, Python writes no compiled files beside the drivers.
        let interpreter = vec![python.to_string_lossy().into_owned(), "-B".to_owned()];
        Some(Self { interpreter, driver })
    }

    fn node(driver: &'static str) -> Option<Self> {
        let node = installed("ONECALL_INTEROP_NODE")?;
        installed("ONECALL_INTEROP_NPM")?;
        Some(Self { interpreter: vec![node.to_string_lossy().into_owned()], driver })
    }

    /// Plays a part of the scenario with a server; the result is what the client saw.
    fn play(&self, part: &str, mode: &str, home: &Home, server: &[&str]) -> Value {
        let (program, options) = self.interpreter.split_first().expect("a program");
        let mut command = bounded(program);
        command.args(options).arg(interop_file("approvals").join(self.driver));
        command.args([part, mode]).args(server).env("HOME", home.path("home"));
        serde_json::from_str(&run(command)).expect("a driver prints JSON")
    }

    /// Plays a part with a server that the client starts.
    fn play_with_command(&self, part: &str, mode: &str, place: &Place) -> Value {
        let serve = place.home.onecall_with_config(&["serve"]);
        let words = std::iter::once(serve.get_program()).chain(serve.get_args());
        let words: Vec<_> = words.map(|word| word.to_str().expect("paths are text")).collect();
        self.play(part, mode, &place.home, &words)
    }

    /// The user approves, denies, declines and closes forms, and answers too late.
    fn check(&self, mode: &str, protocol: &str) {
        let place = Place::new(&json!({}));
        let seen = self.play_with_command("decisions", mode, &place);
        assert_eq!(seen, decisions(protocol), "{} {mode}", self.driver);
        assert_eq!(place.deleted(), ["/in_turn/yes", "/together/yes"]);

        // After a form is closed, the request waits for an answer from elsewhere.
        let place = Place::new(&json!({ "wait_seconds": 3 }));
        let seen = self.play_with_command("closed", mode, &place);
        assert_eq!(seen, later("closed", protocol), "{} {mode}", self.driver);
        assert_eq!(place.deleted(), ["/closed/yes"]);

        let place = Place::new(&json!({ "wait_seconds": 3 }));
        let seen = self.play_with_command("hesitating", mode, &place);
        if protocol == STATELESS {
            // No request waits while the user thinks.
            let both = success("deleted\ndeleted\n");
            let forms = [form_about_both("hesitating")];
            let expected =
                json!({ "protocol": protocol, "forms": forms, "first": both, "answer": both });
            assert_eq!(seen, expected, "{} {mode}", self.driver);
            assert_eq!(place.deleted(), ["/hesitating/no", "/hesitating/yes"]);
        } else {
            // The form was taken back, and its answer decides nothing.
            assert_eq!(seen, later("hesitating", protocol), "{} {mode}", self.driver);
            assert_eq!(place.deleted(), ["/hesitating/yes"]);
        }
    }

    /// The client calls a tool directly that declares its result, and whose calls wait.
    fn check_exposed(&self, mode: &str, protocol: &str) {
        let place = Place::with_typed_tools();
        let seen = self.play_with_command("exposed", mode, &place);
        let answer = json!(["deleted", false]);
        let expected = json!({ "protocol": protocol, "waits": true, "answer": answer });
        assert_eq!(seen, expected, "{} {mode}", self.driver);
        assert_eq!(place.deleted(), ["/exposed/yes"]);
    }

    /// The client keeps the request state and answers by hand, when another process serves it.
    fn check_by_hand(&self) {
        let place = Place::new(&json!({}));
        let seen = self.play_with_command("by_hand", "auto", &place);
        assert_eq!(seen, by_hand(), "{}", self.driver);
        assert_eq!(place.deleted(), ["/by_hand/yes"]);
    }
}

/// A configuration in which deleting needs an approval.
struct Place {
    home: Home,
    config: Value,
}

impl Place {
    /// With these settings of approvals besides.
    fn new(more: &Value) -> Self {
        let home = Home::new();
        let mut approvals = json!({ "ask": ["mcp__files__delete"] });
        for (key, value) in more.as_object().into_iter().flatten() {
            approvals[key] = value.clone();
        }
        let servers = [files(&home.text_path(RECEIVED))];
        let config = json!({ "servers": servers, "approvals": approvals });
        home.write("config.json", config.to_string());
        Self { home, config }
    }

    /// With tools that clients call directly, and that declare their results.
    fn with_typed_tools() -> Self {
        let Self { home, mut config } = Self::new(&json!({ "wait_seconds": 1 }));
        config["expose_tools"] = json!(["mcp__files__delete"]);
        let script = &mut config["servers"][0]["args"][1];
        let mut typed: Value = serde_json::from_str(script.as_str().expect("text")).expect("JSON");
        for tool in typed["tools"].as_array_mut().expect("tools") {
            tool["outputSchema"] = json!({
                "type": "object",
                "properties": { "result": { "type": "string" } },
                "required": ["result"],
            });
        }
        let content = json!([{ "type": "text", "text": "deleted" }]);
        let answer = json!({ "content": content, "structuredContent": { "result": "deleted" } });
        typed["on"]["tools/call delete"] = json!([{ "answer": answer }]);
        *script = json!(typed.to_string());
        home.write("config.json", config.to_string());
        Self { home, config }
    }

    /// What the server was told to delete, in alphabetical order.
    fn deleted(&self) -> Vec<String> {
        let received = ReceivedMessages::in_file(self.home.path(RECEIVED)).messages();
        let calls = received.iter().filter(|message| message["params"]["name"] == "delete");
        let path = |call: &Value| call["params"]["arguments"]["path"].as_str().map(str::to_owned);
        let mut paths: Vec<_> = calls.filter_map(path).collect();
        paths.sort();
        paths
    }
}

/// What a client sees whose user decides.
fn decisions(protocol: &str) -> Value {
    let (approved, refused) = ("/in_turn/yes", "/in_turn/no");
    json!({
        "protocol": protocol,
        "together": { "forms": [form_about_both("together")], "answer": one_of_two() },
        "in_turn": {
            "forms": [form_about_one(approved), form_about_one(refused)],
            "answer": success("deleted\n'mcp__files__delete' was denied: not today\n"),
        },
        "declined": {
            "forms": [form_about_both("declined")],
            "answer": success(&format!("{NOT_APPROVED}\n{NOT_APPROVED}\n")),
        },
    })
}

/// What a client sees whose user does not answer the form, but a later one.
fn later(part: &str, protocol: &str) -> Value {
    let [yes, no] = calls_of_both(part);
    let text = format!(
        "[Script waiting for approval]\nrun: RUN\n{yes}\n{no}\n\
         A person has to decide about this before the program goes on (in a terminal: `onecall \
         approvals list`); do not decide for them. Then call continue_program with run \"RUN\": it \
         waits for the decision and returns the result of the program."
    );
    json!({
        "protocol": protocol,
        "forms": [form_about_both(part)],
        "first": [text, false],
        "answer": one_of_two(),
    })
}

/// What a client sees that keeps the request state and sends it twice.
fn by_hand() -> Value {
    json!({
        "protocol": STATELESS,
        "forms": [form_about_both("by_hand")],
        "answer": one_of_two(),
        "repeated": one_of_two(),
    })
}

/// The answer after one of two calls was denied in a form about both.
fn one_of_two() -> Value {
    success(&format!("deleted\n{NOT_APPROVED}\n"))
}

fn success(output: &str) -> Value {
    json!([format!("[Script executed successfully]\n{output}"), false])
}

fn calls_of_both(part: &str) -> [String; 2] {
    ["yes", "no"].map(|it| format!(r#"mcp__files__delete, line 4: {{"path":"/{part}/{it}"}}"#))
}

fn form_about_both(part: &str) -> Value {
    let [yes, no] = calls_of_both(part);
    json!({
        "message": format!("A program wants to make these calls:\n{yes}\n{no}"),
        "schema": {
            "type": "object",
            "properties": { "call_1": decision(&yes), "call_2": decision(&no) },
            "required": ["call_1", "call_2"],
        },
    })
}

fn form_about_one(path: &str) -> Value {
    let call = if path.ends_with("yes") { "call_1" } else { "call_2" };
    let line = format!(r#"mcp__files__delete, line 3: {{"path":"{path}"}}"#);
    json!({
        "message": format!("A program wants to make this call:\n{line}"),
        "schema": {
            "type": "object",
            "properties": {
                call: decision("Decision"),
                "reason": { "type": "string", "title": "Reason, if you deny it" },
            },
            "required": [call],
        },
    })
}

fn decision(title: &str) -> Value {
    json!({ "type": "string", "title": title, "enum": ["approve", "deny"] })
}
