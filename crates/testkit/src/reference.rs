//! A server on stdio with the tools, prompts and resources that the scenarios of the MCP conformance
//! suite use. It speaks one protocol revision: `2025-11-25`, with a handshake, or `2026-07-28`,
//! without one.

mod connection;
mod content;
mod input_required;
mod prompts;
mod resources;
mod tools;

use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use connection::{Answer, Connection, Failure, Incoming};

/// A protocol revision that the server can speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Revision {
    Handshake,
    Stateless,
}

const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// What can change while the server runs.
#[derive(Default)]
struct Server {
    connection: Connection,
    /// Whether the list of tools has one more tool.
    has_extra_tool: AtomicBool,
    /// Whether the list of prompts has one more prompt.
    has_extra_prompt: AtomicBool,
}

/// Serves on stdio until stdin closes.
///
/// # Errors
/// If the revision is not known, or stdin cannot be read.
pub fn run(revision: Option<&str>) -> io::Result<()> {
    let revision = match revision {
        None | Some(HANDSHAKE) => Revision::Handshake,
        Some(STATELESS) => Revision::Stateless,
        Some(other) => return Err(io::Error::other(format!("unknown revision '{other}'"))),
    };
    let server = Server::default();
    thread::scope(|scope| {
        for line in io::stdin().lock().lines() {
            let line = line?;
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            match Incoming::read(message) {
                Incoming::Answer { id, answer } => server.connection.take_answer(&id, answer),
                Incoming::Notification(notification) => server.notified(&notification),
                Incoming::Request(request) => {
                    let server = &server;
                    // A tool may wait for an answer of the client, so it runs on another thread.
                    scope.spawn(move || {
                        let id = request["id"].clone();
                        match server.answer(revision, &request) {
                            Ok(Some(result)) => server.connection.answer(&id, &result),
                            Ok(None) => {}
                            Err(failure) => server.connection.refuse(&id, &failure),
                        }
                    });
                }
            }
        }
        // Tools that still wait must not keep the process alive.
        std::process::exit(0)
    })
}

impl Server {
    fn notified(&self, notification: &Value) {
        if notification["method"] == "notifications/cancelled" {
            self.connection.stop_listening(&notification["params"]["requestId"]);
        }
    }

    /// The result of a request; `None` if it stays open.
    fn answer(&self, revision: Revision, request: &Value) -> Result<Option<Value>, Failure> {
        let params = &request["params"];
        let method = request["method"].as_str().unwrap_or_default();
        let result = match (method, revision) {
            ("initialize", Revision::Handshake) => self.initialize(),
            ("ping", Revision::Handshake) => json!({}),
            ("logging/setLevel", Revision::Handshake) => self.connection.set_level(params),
            ("resources/subscribe", Revision::Handshake) => {
                self.connection.watch(params["uri"].as_str().unwrap_or_default());
                json!({})
            }
            ("resources/unsubscribe", Revision::Handshake) => {
                self.connection.unwatch(params["uri"].as_str().unwrap_or_default());
                json!({})
            }
            ("server/discover", Revision::Stateless) => self.discover(),
            ("subscriptions/listen", Revision::Stateless) => {
                self.connection.listen(&request["id"], &params["notifications"]);
                return Ok(None);
            }
            ("tools/list", _) => {
                json!({ "tools": tools::definitions(self.has_extra_tool.load(Ordering::Relaxed)) })
            }
            ("tools/call", _) => self.call(revision, request)?,
            ("resources/list", _) => json!({ "resources": resources::list() }),
            ("resources/templates/list", _) => {
                json!({ "resourceTemplates": resources::templates() })
            }
            ("resources/read", _) => resources::read(params)?,
            ("prompts/list", _) => {
                json!({ "prompts": prompts::list(self.has_extra_prompt.load(Ordering::Relaxed)) })
            }
            ("prompts/get", _) => prompts::get(params)?,
            ("completion/complete", _) => prompts::complete(params),
            _ => return Err(Failure::new(-32601, format!("there is no method {method}"))),
        };
        Ok(Some(match revision {
            Revision::Handshake => result,
            Revision::Stateless => complete(result),
        }))
    }

    fn call(&self, revision: Revision, request: &Value) -> Answer {
        let params = &request["params"];
        match params["name"].as_str().unwrap_or_default() {
            "test_trigger_tool_change" => {
                self.has_extra_tool.fetch_xor(true, Ordering::Relaxed);
                let method = "notifications/tools/list_changed";
                self.connection.announce(revision, method, "toolsListChanged");
            }
            "test_trigger_prompt_change" => {
                self.has_extra_prompt.fetch_xor(true, Ordering::Relaxed);
                let method = "notifications/prompts/list_changed";
                self.connection.announce(revision, method, "promptsListChanged");
            }
            "test_trigger_resource_update" => {
                self.connection.announce_update(resources::WATCHED);
            }
            _ => {
                return tools::call(&self.connection, request);
            }
        }
        Ok(content::text("done"))
    }

    fn capabilities() -> Value {
        json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "logging": {},
            "completions": {},
        })
    }

    fn initialize(&self) -> Value {
        json!({
            "protocolVersion": HANDSHAKE,
            "capabilities": Self::capabilities(),
            "serverInfo": { "name": "reference", "version": "1.0.0" },
        })
    }

    fn discover(&self) -> Value {
        json!({
            "supportedVersions": [STATELESS],
            "capabilities": Self::capabilities(),
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {
                "io.modelcontextprotocol/serverInfo": { "name": "reference", "version": "1.0.0" },
            },
        })
    }
}

/// A result as the revision without a handshake writes it.
fn complete(mut result: Value) -> Value {
    if result.get("resultType").is_none() {
        result["resultType"] = json!("complete");
    }
    result
}
