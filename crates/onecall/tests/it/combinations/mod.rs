//! Features in combination: a cache, progress, traces, exposed tools, plans, sessions and a
//! configuration that changes. Each test goes through the real binary.

mod passing;
mod recording;
mod reloading;

use serde_json::{Value, json};
use testkit::mcp::{CallId, Session, ToolAnswer};
use testkit::process::wait_until;

use crate::support::{Home, ReceivedMessages, TIMEOUT, finish, fixture};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A fixture server behind a gateway, and what the server received.
fn home(config: impl FnOnce(Value) -> Value) -> (Home, ReceivedMessages) {
    let home = Home::new();
    let servers = json!([fixture("fixture", &["--log", &home.text_path("received")])]);
    home.write("config.json", config(servers).to_string());
    let received = ReceivedMessages::in_file(home.path("received"));
    (home, received)
}

/// Calls a tool of ours with something beside its arguments.
fn start(session: &mut Session, name: &str, arguments: &Value, meta: &Value) -> CallId {
    let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
    CallId(session.client().start("tools/call", params))
}

/// The runs, oldest first, once there are so many.
fn runs(home: &Home, count: usize) -> Vec<Value> {
    let mut runs = Vec::new();
    let there = wait_until(TIMEOUT, || {
        let ended = finish(home.onecall_with_config(&["runs", "--json"]));
        runs = serde_json::from_str::<Value>(&ended.stdout).unwrap().as_array().unwrap().clone();
        runs.len() >= count
    });
    assert!(there, "{runs:#?}");
    runs.reverse();
    runs
}

/// Everything that is recorded of a run.
fn show_run(home: &Home, run: &Value) -> Value {
    let id = run["id"].as_str().unwrap();
    let ended = finish(home.onecall_with_config(&["runs", "show", id, "--json"]));
    serde_json::from_str(&ended.stdout).unwrap()
}

/// How a client causes a call of a tool of the server `fixture`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallMethod {
    /// By a program.
    Program,
    /// By a function that an earlier program of a session has defined.
    Session,
    /// By a plan.
    Plan,
    /// The client calls the exposed tool itself.
    Exposed,
}

impl CallMethod {
    const ALL: [Self; 4] = [Self::Program, Self::Session, Self::Plan, Self::Exposed];

    /// Does what has to be done before the first call; how many runs that takes.
    fn prepare(self, session: &mut Session, tool: &str, arguments: &Value) -> usize {
        if self != Self::Session {
            return 0;
        }
        let code =
            format!("async def kept_{tool}():\n    return await {}", python(tool, arguments));
        let defined = session.call_tool("execute_program", self.program(&code));
        assert!(!defined.is_error, "{}", defined.text);
        1
    }

    /// Calls a tool with something beside the arguments: what it answers, or why it does not.
    fn call(
        self,
        session: &mut Session,
        tool: &str,
        arguments: &Value,
        meta: &Value,
    ) -> Result<String, String> {
        let name = format!("mcp__fixture__{tool}");
        let print = |call: &str| self.program(&format!("print(await {call})"));
        let (ours, arguments) = match self {
            Self::Program => ("execute_program", print(&python(tool, arguments))),
            Self::Session => ("execute_program", print(&format!("kept_{tool}()"))),
            Self::Plan => ("proxy", json!({ "target_tool": name, "tool_args": arguments })),
            Self::Exposed => (name.as_str(), arguments.clone()),
        };
        let call = start(session, ours, &arguments, meta);
        let ToolAnswer { text, is_error, .. } =
            session.try_finish_call(call).map_err(|error| error.message)?;
        if is_error {
            return Err(text);
        }
        let output = text.strip_prefix("[Script executed successfully]\n").unwrap_or(&text);
        Ok(output.trim_end().to_owned())
    }

    /// What runs of this kind are recorded as.
    fn kind(self) -> &'static str {
        match self {
            Self::Program | Self::Session => "program",
            Self::Plan => "plan",
            Self::Exposed => "tool",
        }
    }

    /// Whether an answer that is cached will do; what clients call themselves is always asked.
    fn reuses_answers(self) -> bool {
        self != Self::Exposed
    }

    fn session(self) -> Option<&'static str> {
        (self == Self::Session).then_some("s")
    }

    /// The arguments of `execute_program` for a program.
    fn program(self, code: &str) -> Value {
        let mut arguments = json!({ "code": code });
        if let Some(session) = self.session() {
            arguments["session"] = json!(session);
        }
        arguments
    }
}

/// A call in Python, with arguments that are numbers and texts.
fn python(tool: &str, arguments: &Value) -> String {
    format!("mcp__fixture__{tool}(**{arguments})")
}
