//! A client that runs one program through the load balancer and wants its answer, whatever happens to the
//! gateways. If its connection breaks, it looks for its run and asks for its answer, as a person would do with
//! `onecall runs` and an agent with `continue_program`.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::troubles::LONGEST_CUT;
use crate::durable::kill::programs::TestProgram;
use crate::support::http_gateway::text;
use crate::support::raw_http::{HttpResponse, Request};
use crate::support::{Home, finish};

/// How long a request may take. A client that leaves earlier would cancel its program.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(150);

/// How long a client waits before it tries again.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a client looks for its run before it takes it that no gateway has begun it: what a gateway wrote
/// before its link was cut may arrive when the cut ends.
const LONGEST_SEARCH: Duration = Duration::from_secs(LONGEST_CUT.as_secs() + 3);

/// For how long the list of all runs is good enough.
const LIST_AGE: Duration = Duration::from_millis(500);

/// Every so many programs, a client has a session, which is at one gateway.
const WITH_SESSION: usize = 3;

const WAITING: &str = "[Script waiting for approval]\n";

#[derive(Debug, Default)]
pub struct Counts {
    /// How often a request was not answered.
    pub broken: AtomicU64,
    /// How often a gateway refused a request that it had not begun.
    pub refused: AtomicU64,
    /// How often a gateway answered that it could not use the store.
    pub without_store: AtomicU64,
    /// How often a client found its run in the list of runs.
    pub found: AtomicU64,
    /// How often an answer was asked for with `continue_program`.
    pub continued: AtomicU64,
    /// How often a program was started again, because no gateway had begun it or none could store it.
    pub started_again: AtomicU64,
    /// How often a session was lost with its gateway.
    pub lost_sessions: AtomicU64,
}

/// What all clients share.
pub struct Surroundings<'a> {
    pub load_balancer: SocketAddr,
    /// A home for commands, which reach the database without a link.
    pub operator: &'a Home,
    pub list: RunList,
    pub counts: Counts,
    pub deadline: Instant,
}

/// The outcomes of runs that have not ended.
const UNFINISHED: [&str; 3] = ["running", "waiting", "interrupted"];

/// What a gateway says of a run that the store does not have. The list may have it: runs that failed because their
/// gateway was cut off from the store are recorded later. They cannot have had an effect.
const NEVER_STORED: &str = "there is no run '";

/// What the error of a call says that was not made.
const NOT_SENT: &str = "it was not called, because";

/// The runs that `onecall runs` lists, by their client.
#[derive(Default)]
pub struct RunList(Mutex<Option<(Instant, HashMap<String, ListedRun>)>>);

#[derive(Clone)]
struct ListedRun {
    id: String,
    has_ended: bool,
}

impl RunList {
    /// Finds the run of a client.
    fn find(&self, operator: &Home, client: &str) -> Option<ListedRun> {
        let mut list = self.0.lock().unwrap();
        let is_old = |(at, _): &(Instant, _)| at.elapsed() > LIST_AGE;
        if list.as_ref().is_none_or(is_old) {
            let asked = Instant::now();
            let listed =
                finish(operator.onecall_with_config(&["runs", "--json", "--limit", "100000"]));
            let runs: Vec<Value> = serde_json::from_str(&listed.stdout)
                .unwrap_or_else(|error| panic!("{error}: {listed:?}"));
            let text = |run: &Value, key: &str| run[key].as_str().unwrap_or_default().to_owned();
            let by_client = runs.iter().map(|run| {
                let has_ended = !UNFINISHED.contains(&text(run, "outcome").as_str());
                (text(run, "client"), ListedRun { id: text(run, "id"), has_ended })
            });
            *list = Some((asked, by_client.collect()));
        }
        list.as_ref()?.1.get(client).cloned()
    }
}

/// What a client does next.
enum Step {
    /// Send the program.
    Begin,
    /// Find out whether a gateway has begun the program, since this moment.
    Find(Instant),
    /// Ask for the answer of this run.
    Continue(String),
}

/// What came of a request.
enum Reply {
    Answer(String),
    /// The run waits for a person.
    Waits(String),
    /// The gateway has not begun anything.
    Refused,
    /// The store has never had the run.
    NeverStored,
    /// Nobody knows what has become of the request.
    Unknown,
}

/// The client of one program.
pub struct Client<'a> {
    pub surroundings: &'a Surroundings<'a>,
    pub program: &'a TestProgram,
    /// The name of the client, which no other client has.
    name: String,
    has_session: bool,
    session: Option<String>,
    /// How many requests it has sent: the identifier of the last one.
    requests: u64,
}

impl<'a> Client<'a> {
    pub fn new(
        surroundings: &'a Surroundings<'a>,
        number: usize,
        program: &'a TestProgram,
    ) -> Self {
        let has_session = number.is_multiple_of(WITH_SESSION);
        Self {
            surroundings,
            program,
            name: client_name(number),
            has_session,
            session: None,
            requests: 0,
        }
    }

    /// Runs the program; `None` if it has no answer when the time is over.
    pub fn run(mut self) -> Option<String> {
        let counts = &self.surroundings.counts;
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        let mut step = Step::Begin;
        while Instant::now() < self.surroundings.deadline {
            let reply = match &step {
                Step::Begin => {
                    let (tool, arguments) = &self.program.request;
                    self.call(tool, arguments)
                }
                Step::Find(since) => {
                    thread::sleep(PAUSE);
                    // What the store has a moment after the client began to wait is what it has.
                    if let Some(run) = self.listed_run() {
                        count(&counts.found);
                        step = Step::Continue(run.id);
                    } else if since.elapsed() > LONGEST_SEARCH {
                        count(&counts.started_again);
                        step = Step::Begin;
                    }
                    continue;
                }
                Step::Continue(run) => {
                    count(&counts.continued);
                    let run = json!({ "run": run });
                    self.call("continue_program", &run)
                }
            };
            step = match (reply, step) {
                (Reply::Answer(answer), _) => return Some(answer),
                (Reply::Waits(run), _) => Step::Continue(run),
                (Reply::Unknown, Step::Begin) => Step::Find(Instant::now()),
                (Reply::NeverStored, _) => {
                    count(&counts.started_again);
                    Step::Begin
                }
                (Reply::Refused | Reply::Unknown, step) => {
                    thread::sleep(PAUSE);
                    step
                }
            };
        }
        None
    }

    /// Calls a tool and says what came of it.
    fn call(&mut self, tool: &str, arguments: &Value) -> Reply {
        let counts = &self.surroundings.counts;
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        if self.has_session && self.session.is_none() && !self.open_session() {
            return Reply::Refused;
        }
        let answer = self.send(tool, arguments).and_then(|answer| match answer.status {
            200 => Ok((200, answer.try_message()?)),
            status => Ok((status, json!(answer.text()))),
        });
        let Ok((status, message)) = answer else {
            count(&counts.broken);
            return Reply::Unknown;
        };
        match status {
            404 => {
                // The session was lost with its gateway, and what it did not forward has not begun.
                count(&counts.lost_sessions);
                self.session = None;
                return Reply::Refused;
            }
            503 => {
                count(&counts.refused);
                return Reply::Refused;
            }
            502 => {
                count(&counts.broken);
                return Reply::Unknown;
            }
            200 => {}
            _ => return Reply::Answer(format!("status {status}: {message}")),
        }
        let text = if message["error"].is_null() { text(&message) } else { message.to_string() };
        let is_error = message["result"]["isError"] == true || !message["error"].is_null();
        if let Some(waiting) = text.strip_prefix(WAITING) {
            let run = waiting.lines().find_map(|line| line.strip_prefix("run: "));
            return Reply::Waits(run.expect("a run that waits has an id").to_owned());
        }
        if tool == "continue_program" && text.contains(NEVER_STORED) {
            return Reply::NeverStored;
        }
        // A plan that ended because one of its calls could not be stored first has no other answer.
        let is_final =
            || tool == "continue_program" && self.listed_run().is_some_and(|it| it.has_ended);
        if is_error && is_trouble_of_store(&text) && !(text.contains(NOT_SENT) && is_final()) {
            count(&counts.without_store);
            return Reply::Unknown;
        }
        Reply::Answer(text)
    }

    /// The run of this client, if the store has it.
    fn listed_run(&self) -> Option<ListedRun> {
        let Surroundings { list, operator, .. } = self.surroundings;
        list.find(operator, &listed_name(&self.name))
    }

    /// Opens a session at any gateway.
    fn open_session(&mut self) -> bool {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": self.name, "version": "1" },
        });
        let message =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let message = message.to_string();
        let request = Request::message(&message);
        let Ok(opened) = request.try_send(self.surroundings.load_balancer, REQUEST_TIMEOUT) else {
            return false;
        };
        self.session = opened.header("mcp-session-id").map(str::to_owned);
        let initialized =
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        let Some(session) = &self.session else { return false };
        let request = Request::message(&initialized).header("Mcp-Session-Id", session);
        request
            .try_send(self.surroundings.load_balancer, REQUEST_TIMEOUT)
            .is_ok_and(|answer| answer.status == 202)
    }

    fn send(&mut self, tool: &str, arguments: &Value) -> io::Result<HttpResponse> {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if self.session.is_none() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": self.name, "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.requests += 1;
        let id = self.requests;
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let message = message.to_string();
        let request = Request::message(&message);
        let request = match &self.session {
            Some(session) => request.header("Mcp-Session-Id", session),
            None => request
                .header("MCP-Protocol-Version", "2026-07-28")
                .header("Mcp-Method", "tools/call")
                .header("Mcp-Name", tool),
        };
        request.try_send(self.surroundings.load_balancer, REQUEST_TIMEOUT)
    }
}

/// The name of the client of the program with this number.
fn client_name(number: usize) -> String {
    format!("client-{number}")
}

/// The client of a run as the store has it: its name and its version.
fn listed_name(client: &str) -> String {
    format!("{client} 1")
}

/// Whether the client of the program with this number must have a run in the store, because it got this answer. A
/// run that was refused may not be there.
pub fn has_run(stored: &HashSet<String>, number: usize, answer: &str) -> bool {
    answer.contains(NOT_SENT) || stored.contains(&listed_name(&client_name(number)))
}

/// Whether an error says that the gateway could not use the store, so that the answer is to be asked for again.
fn is_trouble_of_store(text: &str) -> bool {
    let first = text.lines().nth(1).unwrap_or(text);
    first.contains("has to be stored first") || first.contains("the store 'postgres://")
}
