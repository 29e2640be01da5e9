//! JSON-RPC over the stdio of a child process: [`Client`] for tests, which can have many requests
//! in progress and has timeouts, and [`BareClient`] for the benchmark, which adds nothing to the
//! two system calls of a round trip.

mod bare;
mod child;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use bare::BareClient;
use child::ChildProcess;

/// How long a client waits for a line before it fails the test.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A JSON-RPC error that the server answered.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// The error code, such as -32602 for invalid parameters.
    pub code: i64,
    /// The error message.
    pub message: String,
    /// The optional `data` member, null if there is none.
    pub data: Value,
}

/// A child process that exchanges JSON-RPC lines. It is killed when this is dropped.
pub struct Client {
    process: ChildProcess,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    timeout: Duration,
    next_id: u64,
    answers: HashMap<u64, Result<Value, RpcError>>,
    notifications: Vec<Value>,
    /// The answers to requests of the server, by method.
    prepared_answers: HashMap<String, Value>,
    server_requests: Vec<Value>,
    unexpected_lines: Vec<String>,
}

impl Client {
    /// Starts the command with pipes on all three streams.
    pub fn spawn(command: Command) -> Self {
        let (process, stdin, stdout) = ChildProcess::spawn(command, child::Stderr::Collected);
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        Self {
            process,
            stdin: Some(stdin),
            lines,
            timeout: TIMEOUT,
            next_id: 1,
            answers: HashMap::new(),
            notifications: Vec::new(),
            prepared_answers: HashMap::new(),
            server_requests: Vec::new(),
            unexpected_lines: Vec::new(),
        }
    }

    /// Answers requests of the server for this method with this result from now on.
    pub fn answer_requests(&mut self, method: &str, result: Value) {
        self.prepared_answers.insert(method.to_owned(), result);
    }

    /// Accepts requests of the server for this method and never answers them.
    pub fn ignore_requests(&mut self, method: &str) {
        self.prepared_answers.insert(method.to_owned(), Value::Null);
    }

    /// The requests of the server so far, oldest first.
    pub fn server_requests(&self) -> &[Value] {
        &self.server_requests
    }

    /// Waits until the server has made this many requests, and returns the last of them.
    pub fn wait_server_request(&mut self, count: usize) -> Value {
        let deadline = Instant::now() + self.timeout;
        let last = |client: &mut Self| client.server_requests.get(count.checked_sub(1)?).cloned();
        match self.read_lines_until(deadline, last) {
            Some(request) => request,
            None => self.fail(&format!("fewer than {count} requests within {:?}", self.timeout)),
        }
    }

    /// Answers a request of the server that was ignored when it came.
    pub fn answer(&mut self, request: &Value, result: &Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.send_line(&answer.to_string());
    }

    /// Sets the timeout for every answer from now on.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Sends a request and waits for its result; panics on a JSON-RPC error.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        match self.try_request(method, params) {
            Ok(result) => result,
            Err(error) => self.fail(&format!("{method} was answered with {error:?}")),
        }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The JSON-RPC error that the server answered.
    pub fn try_request(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.start(method, params);
        self.finish(id)
    }

    /// Sends a request and returns its id at once.
    pub fn start(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_line(&request.to_string());
        id
    }

    /// Waits for the answer to a started request.
    ///
    /// # Errors
    /// The JSON-RPC error that the server answered.
    pub fn finish(&mut self, id: u64) -> Result<Value, RpcError> {
        let timeout = self.timeout;
        match self.finish_within(id, timeout) {
            Some(answer) => answer,
            None => self.fail(&format!("no answer to request {id} within {timeout:?}")),
        }
    }

    /// The answer to a started request; `None` if it does not arrive in this time.
    pub fn finish_within(&mut self, id: u64, timeout: Duration) -> Option<Result<Value, RpcError>> {
        let deadline = Instant::now() + timeout;
        self.read_lines_until(deadline, |client| client.answers.remove(&id))
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        let line = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        self.send_line(&line);
    }

    /// Notifications received so far, oldest first.
    pub fn notifications(&self) -> &[Value] {
        &self.notifications
    }

    /// Waits for a notification of this method, removes and returns it.
    pub fn wait_notification(&mut self, method: &str) -> Value {
        let deadline = Instant::now() + self.timeout;
        let found = self.read_lines_until(deadline, |client| {
            let at = client.notifications.iter().position(|note| note["method"] == method)?;
            Some(client.notifications.remove(at))
        });
        match found {
            Some(notification) => notification,
            None => self.fail(&format!("no {method} within {:?}", self.timeout)),
        }
    }

    /// Lines that were neither answers to requests nor notifications; a correct server sends none.
    pub fn unexpected_lines(&self) -> &[String] {
        &self.unexpected_lines
    }

    /// Sends any text as one line.
    pub fn send_line(&mut self, line: &str) {
        let sent = match &mut self.stdin {
            Some(stdin) => stdin.write_all(format!("{line}\n").as_bytes()),
            None => self.fail("stdin is closed"),
        };
        if let Err(error) = sent {
            self.fail(&format!("could not send: {error}"));
        }
    }

    /// The next line as it was received; `None` at the end of the output.
    pub fn receive_line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(self.timeout) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => self.fail("no line came"),
        }
    }

    /// The id of the process.
    pub fn pid(&self) -> u32 {
        self.process.child.id()
    }

    /// Closes the server's stdin, which asks it to end.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the process to end; `None` if it does not in this time.
    pub fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        self.process.wait(timeout)
    }

    /// Kills the process and waits for it.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// What the process has written to stderr so far.
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// Sorts incoming lines until `found` returns a value.
    fn read_lines_until<T>(
        &mut self,
        deadline: Instant,
        found: impl Fn(&mut Self) -> Option<T>,
    ) -> Option<T> {
        loop {
            if let Some(thing) = found(self) {
                return Some(thing);
            }
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.sort_line(line),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => self.fail("the server closed its output"),
            }
        }
    }

    fn sort_line(&mut self, line: String) {
        let mut message: Value = serde_json::from_str(&line).unwrap_or_default();
        let (id, method) = (message.get("id").cloned(), message.get("method").is_some());
        match (id, method) {
            (Some(id), true) => self.answer_server(&id, &message),
            (None, true) => self.notifications.push(message),
            (Some(id), false) if id.as_u64().is_some_and(|id| id < self.next_id) => {
                let answer = match message.get("error") {
                    Some(error) => Err(RpcError {
                        code: error["code"].as_i64().unwrap_or_default(),
                        message: error["message"].as_str().unwrap_or_default().to_owned(),
                        data: error["data"].clone(),
                    }),
                    None => Ok(message["result"].take()),
                };
                self.answers.insert(id.as_u64().unwrap_or_default(), answer);
            }
            _ => self.unexpected_lines.push(line),
        }
    }

    /// Answers a request of the server: pings, and what was prepared.
    fn answer_server(&mut self, id: &Value, request: &Value) {
        self.server_requests.push(request.clone());
        let method = request["method"].as_str().unwrap_or_default();
        let answer = if method == "ping" {
            json!({ "jsonrpc": "2.0", "id": id, "result": {} })
        } else if let Some(result) = self.prepared_answers.get(method) {
            if result.is_null() {
                return;
            }
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        } else {
            let error = json!({ "code": -32601, "message": "the test client cannot do this" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        };
        self.send_line(&answer.to_string());
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{what}\nstderr of the server:\n{}", self.stderr())
    }
}
