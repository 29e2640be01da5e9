//! The host of `onecall exec`, as a program sees it: it executes the program's tool calls and knows
//! its tools.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use onecall_catalog::{ASYNC_PREFIX, Catalog, TextResult};
use onecall_core::{
    Answer, BoxFuture, CallHandler, CallResult, CallableName, Resolution, ResolutionFuture,
    ResolvedCall, ServerName, ToolAnnotations, ToolError, ToolName, ToolResolver, ToolSpec,
    ToolValue,
};
use onecall_runtime::{Directory, NameLookup, call_id};
use serde_json::json;
use serde_json::value::RawValue;

use super::calls::Calls;
use super::message::{self, CallStatus, MessageToHost};
use super::outbox::Outbox;

/// How many similar names are suggested for an unknown one.
const MAX_SUGGESTIONS: usize = 3;

/// The host, for one program.
pub(super) struct ExecHost {
    /// The id that the host gave to the program.
    run: String,
    /// The prefix of the ids of its calls.
    prefix: String,
    tools: HostTools,
    calls: Calls,
    outbox: Outbox,
    /// The ids of calls so far. A worker that uses an id twice is compromised.
    used: Mutex<HashSet<u64>>,
}

/// The tools that a program can call.
enum HostTools {
    /// The tools in this list.
    Listed(Box<Catalog>),
    /// Any name, as an attribute of `tools`.
    Any,
}

impl ExecHost {
    pub(super) fn new(
        run: &str,
        prefix: String,
        tools: Option<Vec<ToolSpec>>,
        calls: Calls,
        outbox: Outbox,
    ) -> Self {
        let tools = tools.map_or(HostTools::Any, |tools| {
            HostTools::Listed(Box::new(Catalog::from_specs(tools)))
        });
        Self { run: run.to_owned(), prefix, tools, calls, outbox, used: Mutex::default() }
    }

    /// Refuses a call that should not reach the host.
    fn check(&self, call: &ResolvedCall) -> Result<(), ToolError> {
        if !self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(call.id) {
            let message = "its id was used before".to_owned();
            return Err(ToolError::InvalidCall { name: call.name.clone(), message });
        }
        let HostTools::Listed(tools) = &self.tools else { return Ok(()) };
        match tools.get(call.name.as_str()) {
            Some(_) => Ok(()),
            None => Err(ToolError::NotAvailable { name: call.name.clone() }),
        }
    }

    async fn ask(&self, call: ResolvedCall) -> Result<ToolValue, ToolError> {
        self.check(&call)?;
        let id = call_id(&self.prefix, call.id);
        let mut waiting = self.calls.open(&self.run, id.clone(), &self.outbox);
        let message = MessageToHost::ToolCall {
            id: &self.run,
            tool_call_id: &id,
            tool_name: call.name.as_str(),
            args: &call.arguments,
        };
        let reserved = self.outbox.reserve(&message).await;
        waiting.sent();
        self.outbox.send(reserved);
        match waiting.answer().await {
            Some(answer) => self.value(answer, call.name),
            None => Err(ToolError::failed(&call.name, "the host has closed the connection")),
        }
    }

    fn value(
        &self,
        answer: message::HostAnswer,
        name: CallableName,
    ) -> Result<ToolValue, ToolError> {
        let message::HostAnswer { observation, is_text, end } = answer;
        match end {
            CallStatus::Succeeded => Ok(self.as_declared(observation, is_text, &name)),
            CallStatus::Failed => Err(ToolError::failed(&name, error_text(&observation))),
            CallStatus::NotParsed => {
                Err(ToolError::InvalidCall { name, message: error_text(&observation) })
            }
        }
    }

    /// The value of a call. A string is parsed as JSON if the tool declares that it never returns a
    /// string, or if the host marks it as text and the tool declares nothing.
    fn as_declared(
        &self,
        observation: Box<RawValue>,
        is_text: bool,
        name: &CallableName,
    ) -> ToolValue {
        let is_string = observation.get().starts_with('"');
        let is_parsed = || match self.text_result(name) {
            TextResult::Never => true,
            TextResult::Undeclared => is_text,
            TextResult::Declared => false,
        };
        if is_string
            && is_parsed()
            && let Ok(text) = serde_json::from_str(observation.get())
        {
            return ToolValue::Text(text);
        }
        ToolValue::Json(observation)
    }

    fn text_result(&self, name: &CallableName) -> TextResult {
        let listed = match &self.tools {
            HostTools::Listed(tools) => tools.get(name.as_str()),
            HostTools::Any => None,
        };
        listed.map_or(TextResult::Undeclared, |spec| TextResult::of(spec))
    }

    fn nearest(&self, name: &str) -> Vec<CallableName> {
        match &self.tools {
            HostTools::Listed(tools) => tools.nearest(name, MAX_SUGGESTIONS),
            HostTools::Any => Vec::new(),
        }
    }
}

/// The text of an error from the host.
fn error_text(observation: &RawValue) -> String {
    match serde_json::from_str::<Option<String>>(observation.get()) {
        Ok(Some(text)) if !text.trim().is_empty() => text,
        Ok(_) => "the host gave no reason".to_owned(),
        Err(_) => observation.get().to_owned(),
    }
}

/// A tool without a definition.
fn any_tool(name: &str) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        callable: CallableName::new(name),
        server: ServerName::new("host"),
        tool: ToolName::new(name),
        description: None,
        input_schema: json!({}).into(),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    })
}

/// The name of a tool as an attribute.
fn identifier(name: &str) -> String {
    let part = |it: char| if it.is_ascii_alphanumeric() || it == '_' { it } else { '_' };
    name.chars().map(part).collect()
}

impl ToolResolver for ExecHost {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        ResolutionFuture::ready(match &self.tools {
            HostTools::Listed(tools) => match tools.get(name.as_str()) {
                Some(spec) => Resolution::Callable(Arc::clone(spec)),
                None => Resolution::unknown(self.nearest(name.as_str())),
            },
            // Only attributes of `tools` are tools; a plain name may be a misspelled variable.
            HostTools::Any => Resolution::Attribute(any_tool(name.as_str())),
        })
    }

    fn revision(&self) -> u64 {
        0
    }
}

impl CallHandler for ExecHost {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move { self.ask(call).await.map(Answer::live) })
    }
}

impl Directory for ExecHost {
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<ToolSpec>>> {
        self.search("", usize::MAX)
    }

    fn known_tools(&self) -> Vec<Arc<ToolSpec>> {
        match &self.tools {
            HostTools::Listed(tools) => tools.tools().cloned().collect(),
            HostTools::Any => Vec::new(),
        }
    }

    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Vec<Arc<ToolSpec>>> {
        Box::pin(async move {
            match &self.tools {
                HostTools::Listed(tools) => {
                    tools.search(query, limit).into_iter().cloned().collect()
                }
                HostTools::Any => Vec::new(),
            }
        })
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, NameLookup> {
        Box::pin(async move {
            let tools = match &self.tools {
                HostTools::Listed(tools) => tools,
                // `tools.async_x` is the tool `x` as a coroutine.
                HostTools::Any if name.starts_with(ASYNC_PREFIX) => {
                    return NameLookup::Unknown(Vec::new());
                }
                HostTools::Any => return NameLookup::Tool(any_tool(name)),
            };
            if let Some(spec) = tools.get(name) {
                return NameLookup::Tool(Arc::clone(spec));
            }
            let written_so = |spec: &&Arc<ToolSpec>| identifier(spec.tool.as_str()) == name;
            let mut found: Vec<_> = tools.tools().filter(written_so).collect();
            if found.is_empty() {
                found = tools.find_by_name(name);
            }
            match found.as_slice() {
                [spec] => NameLookup::Tool(Arc::clone(spec)),
                [] => NameLookup::Unknown(self.nearest(name)),
                several => {
                    NameLookup::Ambiguous(several.iter().map(|it| it.callable.clone()).collect())
                }
            }
        })
    }
}
