//! An agent whose client is connected to every server: each call and each result passes through its
//! model. The workflow decides what the model concludes from them.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use serde_json::{Value, json};
use testkit::mcp::Session;

use super::catalog::{Catalog, RunPaths};
use super::conversation::{Conversation, callable};

pub struct DirectAgent {
    servers: BTreeMap<String, Session>,
    pub conversation: Conversation,
    /// How many independent calls the model makes in one request.
    calls_per_turn: usize,
    /// Results that are in the context: the model uses them instead of calling again.
    known: HashMap<String, Value>,
    /// How long the tools took, in seconds.
    pub seconds: f64,
}

impl DirectAgent {
    /// Connects to every server of the catalog.
    pub fn connect(
        catalog: &Catalog,
        paths: &RunPaths,
        calls_per_turn: usize,
    ) -> Result<Self, String> {
        let mut servers = BTreeMap::new();
        let mut definitions = Vec::new();
        for (name, command) in catalog.commands(paths) {
            let mut session = Session::open(command);
            definitions.push((name.clone(), session.list_tools()));
            servers.insert(name, session);
        }
        let tools: Vec<(&str, Value)> = definitions
            .iter()
            .flat_map(|(server, tools)| tools.iter().map(|tool| (server.as_str(), tool.clone())))
            .collect();
        if tools.len() != catalog.tools {
            return Err(format!("the servers have {} tools, not {}", tools.len(), catalog.tools));
        }
        let conversation = Conversation::new("", &tools);
        let known = HashMap::new();
        Ok(Self { servers, conversation, calls_per_turn, known, seconds: 0.0 })
    }

    /// Calls `service.tool`.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, String> {
        let mut results = self.call_all(vec![(tool, arguments)])?;
        results.pop().ok_or_else(|| "one call has one result".to_owned())
    }

    /// Calls one tool with each of these arguments, which do not depend on each other's results.
    pub fn call_each(
        &mut self,
        tool: &str,
        arguments: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Value>, String> {
        self.call_all(arguments.into_iter().map(|arguments| (tool, arguments)).collect())
    }

    /// Makes independent calls, as many per request as the model does.
    pub fn call_all(&mut self, calls: Vec<(&str, Value)>) -> Result<Vec<Value>, String> {
        let mut new: Vec<(&str, Value)> = Vec::new();
        for call in &calls {
            if !self.known.contains_key(&key(call)) && !new.contains(call) {
                new.push(call.clone());
            }
        }
        for turn in new.chunks(self.calls_per_turn.max(1)) {
            self.turn(turn)?;
        }
        calls
            .iter()
            .map(|call| self.known.get(&key(call)).cloned().ok_or("a call has no result".into()))
            .collect()
    }

    /// Every item under `name` of a tool that answers in pages.
    pub fn pages(
        &mut self,
        tool: &str,
        arguments: Value,
        name: &str,
    ) -> Result<Vec<Value>, String> {
        let mut lists = self.pages_of_each(vec![(tool, arguments)], name)?;
        lists.pop().ok_or_else(|| "one query has one list".to_owned())
    }

    /// Every item of several queries that answer in pages; their next pages are requested together.
    pub fn pages_of_each(
        &mut self,
        queries: Vec<(&str, Value)>,
        name: &str,
    ) -> Result<Vec<Vec<Value>>, String> {
        let mut lists = vec![Vec::new(); queries.len()];
        let mut open: Vec<(usize, (&str, Value))> = queries.into_iter().enumerate().collect();
        while !open.is_empty() {
            let pages = self.call_all(open.iter().map(|(_, query)| query.clone()).collect())?;
            let mut more = Vec::new();
            for ((place, (tool, mut arguments)), page) in open.into_iter().zip(pages) {
                if let (Some(list), Some(items)) = (lists.get_mut(place), page[name].as_array()) {
                    list.extend_from_slice(items);
                }
                if let Value::String(cursor) = &page["next_cursor"] {
                    arguments["cursor"] = json!(cursor);
                    more.push((place, (tool, arguments)));
                }
            }
            open = more;
        }
        Ok(lists)
    }

    fn turn(&mut self, calls: &[(&str, Value)]) -> Result<(), String> {
        let named: Vec<(&str, &str, String, &Value)> = calls
            .iter()
            .filter_map(|(tool, arguments)| {
                let (server, name) = tool.split_once('.')?;
                Some((server, name, callable(server, name), arguments))
            })
            .collect();
        self.conversation
            .call(named.iter().map(|(_, _, callable, arguments)| (callable.as_str(), *arguments)));
        let start = Instant::now();
        let mut started = Vec::new();
        for (server, name, _, arguments) in &named {
            let session =
                self.servers.get_mut(*server).ok_or_else(|| format!("no server '{server}'"))?;
            started.push(session.start_call(name, (*arguments).clone()));
        }
        let mut texts = Vec::new();
        for ((server, ..), call) in named.iter().zip(started) {
            let session =
                self.servers.get_mut(*server).ok_or_else(|| format!("no server '{server}'"))?;
            let answer = session.finish_call(call);
            if answer.is_error {
                return Err(answer.text);
            }
            texts.push(answer.text);
        }
        self.seconds += start.elapsed().as_secs_f64();
        for (call, text) in calls.iter().zip(&texts) {
            self.conversation.result(text);
            let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            self.known.insert(key(call), value);
        }
        Ok(())
    }
}

fn key((tool, arguments): &(&str, Value)) -> String {
    format!("{tool} {arguments}")
}
