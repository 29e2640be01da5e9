//! An agent whose client is connected to onecall alone: it searches for tools, reads their
//! signatures, and writes programs.

use std::time::Instant;

use serde_json::{Value, json};
use testkit::mcp::Session;
use testkit::rpc::Client;

use super::catalog::{Catalog, RunPaths};
use super::conversation::{Conversation, callable};
use super::workflows::Workflow;

const SERVER: &str = "onecall";
const SUCCESS: &str = "[Script executed successfully]\n";

pub struct OnecallAgent {
    session: Session,
    pub conversation: Conversation,
    can_search: bool,
    /// How long the tools took, in seconds.
    pub seconds: f64,
}

impl OnecallAgent {
    /// Starts onecall with the servers of the catalog and waits until it knows their tools.
    pub fn connect(catalog: &Catalog, paths: &RunPaths) -> Result<Self, String> {
        let mut session = Session::new(Client::spawn(catalog.gateway(paths)?));
        let greeting = session.initialize(testkit::mcp::PROTOCOL);
        let tools: Vec<(&str, Value)> =
            session.list_tools().into_iter().map(|tool| (SERVER, tool)).collect();
        let can_search = tools.iter().any(|(_, tool)| tool["name"] == "search_tools");
        let instructions = greeting["instructions"].as_str().unwrap_or_default();
        let conversation = Conversation::new(instructions, &tools);
        let listed = session.call_tool("list_callable_tools", json!({})).text;
        let names: Vec<String> = serde_json::from_str(&listed).map_err(|e| e.to_string())?;
        if names.len() != catalog.tools {
            return Err(format!("onecall has {} tools, not {}", names.len(), catalog.tools));
        }
        // The first program waits for the test of the sandbox, which is not part of the tools'
        // time.
        session.call_tool("execute_program", json!({ "code": "print()" }));
        Ok(Self { session, conversation, can_search, seconds: 0.0 })
    }

    /// Finds the tools that the workflow needs and their signatures.
    pub fn discover(&mut self, workflow: &Workflow) -> Result<(), String> {
        let mut seen = String::new();
        if self.can_search {
            let searches = workflow.searches.iter();
            let calls = searches.map(|query| ("search_tools", json!({ "query": query })));
            seen = self.call_all(calls.collect())?.join("\n");
        }
        if workflow.tools().any(|tool| !seen.contains(&tool)) {
            seen.push_str(&self.call_all(vec![("list_callable_tools", json!({}))])?.join("\n"));
        }
        let missing = workflow.tools().find(|tool| !seen.contains(tool));
        if let Some(missing) = missing {
            return Err(format!("discovery does not find {missing}"));
        }
        // Tools that were found with their signature need not be inspected.
        let inspections: Vec<(&str, Value)> = workflow
            .tools()
            .filter(|tool| !seen.contains(&format!("{tool}(")))
            .map(|tool| ("inspect_tool", json!({ "tool_name": tool })))
            .collect();
        self.call_all(inspections).map(|_| ())
    }

    /// Runs a program and returns what it printed.
    pub fn run(&mut self, program: &str) -> Result<String, String> {
        let answers = self.call_all(vec![("execute_program", json!({ "code": program }))])?;
        let answer = answers.concat();
        let printed = answer.strip_prefix(SUCCESS).ok_or(answer.as_str())?;
        Ok(printed.trim_end().to_owned())
    }

    /// Calls tools of onecall in one request of the model.
    fn call_all(&mut self, calls: Vec<(&str, Value)>) -> Result<Vec<String>, String> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = calls.iter().map(|(tool, _)| callable(SERVER, tool)).collect();
        let written = names.iter().map(String::as_str).zip(calls.iter().map(|(_, input)| input));
        self.conversation.call(written);
        let start = Instant::now();
        let started: Vec<_> = calls
            .into_iter()
            .map(|(tool, arguments)| self.session.start_call(tool, arguments))
            .collect();
        let mut texts = Vec::new();
        for call in started {
            let answer = self.session.finish_call(call);
            if answer.is_error {
                return Err(answer.text);
            }
            texts.push(answer.text);
        }
        self.seconds += start.elapsed().as_secs_f64();
        for text in &texts {
            self.conversation.result(text);
        }
        Ok(texts)
    }
}
