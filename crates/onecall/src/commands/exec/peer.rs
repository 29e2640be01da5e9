//! The host as a program sees it: whoever executes its tools, and knows which there are.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use onecall_catalog::Catalog;
use onecall_core::{
    BoxFuture, CallableName, Resolution, Resolving, ServerName, ToolAnnotations, ToolCall,
    ToolError, ToolHost, ToolName, ToolSpec, ToolValue,
};
use onecall_runtime::{Directory, Found, call_id};
use serde_json::json;
use serde_json::value::RawValue;

use super::calls::Calls;
use super::message::{Answer, CallEnd, Outgoing};
use super::outbox::Outbox;

/// How many similar names an unknown one is answered with.
const NEAREST: usize = 3;

/// The host, for one program.
pub(super) struct Peer {
    /// The host's name for the program.
    run: String,
    /// How the ids of its calls begin.
    prefix: String,
    tools: Tools,
    calls: Calls,
    outbox: Outbox,
    /// Ids of calls so far. A worker that uses one twice is not ours any more.
    used: Mutex<HashSet<u64>>,
}

/// What a program can call.
enum Tools {
    /// These.
    Listed(Box<Catalog>),
    /// Whatever it names as an attribute of `tools`.
    Any,
}

impl Peer {
    pub(super) fn new(
        run: &str,
        prefix: String,
        tools: Option<Vec<ToolSpec>>,
        calls: Calls,
        outbox: Outbox,
    ) -> Self {
        let tools = tools.map_or(Tools::Any, |tools| Tools::Listed(Box::new(Catalog::of(tools))));
        Self { run: run.to_owned(), prefix, tools, calls, outbox, used: Mutex::default() }
    }

    /// Keeps a call from the host that it should not be troubled with.
    fn check(&self, call: &ToolCall) -> Result<(), ToolError> {
        if !self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(call.id) {
            let message = "its id was used before".to_owned();
            return Err(ToolError::NotUnderstood { name: call.name.clone(), message });
        }
        let Tools::Listed(tools) = &self.tools else { return Ok(()) };
        match tools.get(call.name.as_str()) {
            Some(_) => Ok(()),
            None => Err(ToolError::NotAvailable { name: call.name.clone() }),
        }
    }

    async fn ask(&self, call: ToolCall) -> Result<ToolValue, ToolError> {
        self.check(&call)?;
        let id = call_id(&self.prefix, call.id);
        let mut waiting = self.calls.open(&self.run, id.clone(), &self.outbox);
        let message = Outgoing::ToolCall {
            id: &self.run,
            tool_call_id: &id,
            tool_name: call.name.as_str(),
            args: &call.arguments,
        };
        let reserved = self.outbox.reserve(&message).await;
        waiting.sent();
        self.outbox.put(reserved);
        match waiting.answer().await {
            Some(answer) => value(answer, call.name),
            None => Err(ToolError::failed(&call.name, "the host is gone")),
        }
    }

    fn nearest(&self, name: &str) -> Vec<CallableName> {
        match &self.tools {
            Tools::Listed(tools) => tools.nearest(name, NEAREST),
            Tools::Any => Vec::new(),
        }
    }
}

fn value(answer: Answer, name: CallableName) -> Result<ToolValue, ToolError> {
    let Answer { observation, end } = answer;
    match end {
        CallEnd::Succeeded => Ok(ToolValue::Json(observation)),
        CallEnd::Failed => Err(ToolError::Failed { name, message: in_words(&observation) }),
        CallEnd::NotParsed => {
            Err(ToolError::NotUnderstood { name, message: in_words(&observation) })
        }
    }
}

/// An error as the host gave it.
fn in_words(observation: &RawValue) -> String {
    match serde_json::from_str::<Option<String>>(observation.get()) {
        Ok(Some(text)) if !text.trim().is_empty() => text,
        Ok(_) => "the host gave no reason".to_owned(),
        Err(_) => observation.get().to_owned(),
    }
}

/// A tool that nothing is known about.
fn any_tool(name: &str) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        callable: CallableName::new(name),
        server: ServerName::new("host"),
        tool: ToolName::new(name),
        description: None,
        input_schema: json!({}),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    })
}

/// How a tool's name is written as an attribute.
fn identifier(name: &str) -> String {
    let part = |it: char| if it.is_ascii_alphanumeric() || it == '_' { it } else { '_' };
    name.chars().map(part).collect()
}

impl ToolHost for Peer {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        let listed = match &self.tools {
            Tools::Listed(tools) => tools.get(name.as_str()).cloned(),
            // A misspelt variable is no tool.
            Tools::Any => None,
        };
        Resolving::now(match listed {
            Some(spec) => Resolution::Callable(spec),
            None => Resolution::Unknown { nearest: self.nearest(name.as_str()) },
        })
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(self.ask(call))
    }
}

impl Directory for Peer {
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<ToolSpec>>> {
        self.search("", usize::MAX)
    }

    fn known(&self) -> Vec<Arc<ToolSpec>> {
        match &self.tools {
            Tools::Listed(tools) => tools.tools().cloned().collect(),
            Tools::Any => Vec::new(),
        }
    }

    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Vec<Arc<ToolSpec>>> {
        Box::pin(async move {
            match &self.tools {
                Tools::Listed(tools) => tools.search(query, limit).into_iter().cloned().collect(),
                Tools::Any => Vec::new(),
            }
        })
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Found> {
        Box::pin(async move {
            let tools = match &self.tools {
                Tools::Listed(tools) => tools,
                Tools::Any => return Found::Tool(any_tool(name)),
            };
            if let Some(spec) = tools.get(name) {
                return Found::Tool(Arc::clone(spec));
            }
            let written_so = |spec: &&Arc<ToolSpec>| identifier(spec.tool.as_str()) == name;
            match tools.tools().filter(written_so).collect::<Vec<_>>().as_slice() {
                [spec] => Found::Tool(Arc::clone(spec)),
                [] => Found::Unknown(self.nearest(name)),
                several => Found::Ambiguous(several.iter().map(|it| it.callable.clone()).collect()),
            }
        })
    }
}
