//! A gateway that is served over HTTP, and clients of it.

use std::fs::File;
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::{Value, json};
use testkit::process::wait_until;

use super::raw_http::{HttpResponse, Request};
use super::{Home, ReceivedMessages, TIMEOUT, fixture};

/// A running `onecall serve --http`, which is ended when this is dropped.
pub struct HttpGateway {
    pub address: SocketAddr,
    pub home: Home,
    child: Child,
}

impl HttpGateway {
    /// Starts a gateway on a free port of this machine.
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// Starts a gateway on a free port with more arguments.
    pub fn with(arguments: &[&str]) -> Self {
        Self::start(arguments, |_| {}).0
    }

    /// Starts a gateway on a free port; also returns the messages that its fixture server receives.
    pub fn start(
        arguments: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> (Self, ReceivedMessages) {
        Self::listen("127.0.0.1:0", arguments, prepare)
    }

    /// Starts a gateway whose configuration also has these keys. With `servers`, these are used
    /// instead of the fixture server.
    pub fn with_settings(settings: &Value) -> Self {
        Self::serve("127.0.0.1:0", &[], settings, |_| {}).0
    }

    /// Starts a gateway at this address.
    pub fn listen(
        address: &str,
        arguments: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> (Self, ReceivedMessages) {
        Self::serve(address, arguments, &json!({}), prepare)
    }

    /// Starts a gateway at this address, with more arguments and configuration keys; `prepare`
    /// changes its command.
    pub fn serve(
        address: &str,
        arguments: &[&str],
        settings: &Value,
        prepare: impl FnOnce(&mut Command),
    ) -> (Self, ReceivedMessages) {
        let home = Home::new();
        let received = home.path("received");
        let servers = [fixture("fixture", &["--log", &home.text_path("received")])];
        let mut config = settings.clone();
        if config.get("servers").is_none() {
            config["servers"] = json!(servers);
        }
        home.write("config.json", config.to_string());
        let mut command = home.onecall_with_config(&["serve", "--http", address]);
        let stderr = File::create(home.path("stderr")).expect("a file");
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        prepare(&mut command);
        let child = command.spawn().expect("onecall starts");
        let mut gateway = Self { address: SocketAddr::from(([0; 4], 0)), home, child };
        let mut found = None;
        wait_until(TIMEOUT, || {
            let said = gateway.stderr();
            let url = said.lines().find_map(|line| line.strip_prefix("listening on http://"));
            found = url.and_then(|url| url.strip_suffix("/mcp")?.parse().ok());
            found.is_some()
        });
        gateway.address =
            found.unwrap_or_else(|| panic!("it does not listen: {}", gateway.stderr()));
        (gateway, ReceivedMessages::in_file(received))
    }

    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.home.path("stderr")).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status().expect("kill runs");
        assert!(status.success());
    }

    /// Waits until the gateway ends by itself, and returns its exit status.
    pub fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until(TIMEOUT, || {
            status = self.child.try_wait().expect("our own child can be waited for");
            status.is_some()
        });
        status.expect("it ends")
    }

    /// A client with a session.
    pub fn client(&self) -> Client {
        Client::open(self.address, &[])
    }

    /// Runs a program as a client of the revision without sessions does.
    pub fn start_stateless(&self, id: u64, code: &str) -> HttpResponse {
        let message = stateless(id, code);
        stateless_request(&message).send(self.address)
    }
}

impl Drop for HttpGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A `tools/call` of the revision without sessions.
pub fn stateless(id: u64, code: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    call(id, code, &meta).to_string()
}

/// A request with this message and the headers of the revision without sessions.
pub fn stateless_request(message: &str) -> Request<'_> {
    Request::message(message)
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "execute_program")
}

/// An `initialize` of a client that cannot be asked anything.
pub fn initialize() -> String {
    initialize_with(&json!({}))
}

/// An `initialize` of a client with these capabilities.
fn initialize_with(capabilities: &Value) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": { "name": "test", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
}

/// A `tools/call` that runs a program.
pub fn call(id: u64, code: &str, meta: &Value) -> Value {
    let arguments = json!({ "code": code });
    let params = json!({ "name": "execute_program", "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// A client with a session.
pub struct Client {
    address: SocketAddr,
    pub session: String,
    token: Option<String>,
}

impl Client {
    pub fn open(address: SocketAddr, authorization: &[&str]) -> Self {
        Self::open_with(address, authorization, &initialize())
    }

    /// A client with these capabilities.
    pub fn with_capabilities(address: SocketAddr, capabilities: &Value) -> Self {
        Self::open_with(address, &[], &initialize_with(capabilities))
    }

    fn open_with(address: SocketAddr, authorization: &[&str], initialize: &str) -> Self {
        let token = authorization.first().map(|&token| token.to_owned());
        let mut request = Request::message(initialize);
        if let Some(token) = &token {
            request = request.header("Authorization", token);
        }
        let answer = request.send(address);
        assert_eq!(answer.status, 200);
        let session = answer.header("mcp-session-id").expect("it opens a session").to_owned();
        assert_eq!(answer.message()["result"]["serverInfo"]["name"], "onecall");
        let client = Self { address, session, token };
        client.notify(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// The same client, whose requests reach another gateway.
    pub fn through(&self, gateway: &HttpGateway) -> Self {
        let (session, token) = (self.session.clone(), self.token.clone());
        Self { address: gateway.address, session, token }
    }

    /// Sends any request within the session.
    pub fn send(&self, mut request: Request<'_>) -> HttpResponse {
        request = request.header("Mcp-Session-Id", &self.session);
        if let Some(token) = &self.token {
            request = request.header("Authorization", token);
        }
        request.send(self.address)
    }

    pub fn notify(&self, notification: &Value) {
        let message = notification.to_string();
        assert_eq!(self.send(Request::message(&message)).status, 202);
    }

    /// Starts a program and asks for progress.
    pub fn start(&self, id: u64, code: &str, progress: &str) -> HttpResponse {
        self.post(&call(id, code, &json!({ "progressToken": progress })))
    }

    /// Sends a request whose answer is a stream of events.
    pub fn post(&self, message: &Value) -> HttpResponse {
        let message = message.to_string();
        let answer = self.send(Request::message(&message));
        assert_eq!(answer.status, 200);
        answer
    }

    /// Opens a stream of events, the one that this event was part of if it is given.
    pub fn listen(&self, last_event: Option<&str>) -> HttpResponse {
        let mut request = Request::new("GET", "/mcp").header("Accept", "text/event-stream");
        if let Some(id) = last_event {
            request = request.header("Last-Event-ID", id);
        }
        let answer = self.send(request);
        assert_eq!(answer.status, 200);
        answer
    }

    /// Runs a program and returns the text of its answer.
    pub fn run(&self, id: u64, code: &str) -> String {
        let message = self.start(id, code, "t").message();
        assert_eq!(message["id"], id);
        text(&message)
    }
}

/// The text of an answer to `execute_program`.
pub fn text(message: &Value) -> String {
    message["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
