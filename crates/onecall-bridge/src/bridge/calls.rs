//! Looks callable names up, and routes each call to the server or the local tool that executes it.

use std::sync::Arc;

use onecall_catalog::{Alias, may_name_tool_of};
use onecall_config::LocalTool;
use onecall_core::{
    Answer, BoxFuture, CallHandler, CallResult, CallableName, Resolution, ResolvedCall, Resolving,
    ServerName, ToolAnnotations, ToolError, ToolName, ToolResolver, ToolSpec,
};
use serde_json::json;

use super::Bridge;
use crate::local::LocalTools;
use crate::supervision::pins::Quarantined;
use crate::supervision::server::{CallError, Server};
use crate::supervision::snapshot::Snapshot;

/// How many similar names an error suggests for an unknown one.
const SUGGESTIONS: usize = 3;

/// How many positional arguments a call of an unknown tool may have.
const MAX_POSITIONS: usize = 32;

/// The result of looking a name up.
enum Found {
    Tool(Arc<ToolSpec>, Arc<Server>),
    Local(Arc<ToolSpec>, Arc<LocalTools>),
    Quarantined(Quarantined),
}

impl Found {
    /// The lookup result for a program. A tool in quarantine resolves to an error with the reason.
    fn resolution(self, name: &CallableName) -> Resolution {
        match self {
            Self::Tool(spec, _) | Self::Local(spec, _) => Resolution::Callable(spec),
            Self::Quarantined(tool) => {
                let error = quarantined(name, &tool);
                Resolution::Unavailable { spec: tool.spec, error }
            }
        }
    }
}

fn quarantined(name: &CallableName, tool: &Quarantined) -> ToolError {
    ToolError::Quarantined { name: name.clone(), why: tool.to_string() }
}

impl Bridge {
    /// Looks a tool up. Waits only while a server that may have the tool is still connecting.
    async fn find(&self, name: &CallableName) -> Option<Found> {
        if let Some(found) = found(&self.snapshot.borrow(), name) {
            return Some(found);
        }
        self.need(name.as_str());
        let is_known = |snapshot: &Snapshot| {
            found(snapshot, name).is_some()
                || !matches!(snapshot.catalog.alias(name.as_str()), Alias::Unknown)
                || snapshot
                    .awaits_only_other_installs(|server| may_name_tool_of(name.as_str(), server))
        };
        let snapshot = self.settled(is_known).await;
        found(&snapshot, name)
    }

    /// The server that may have this tool but has never listed its tools.
    fn unheard(&self, name: &CallableName) -> Option<Arc<Server>> {
        let may_have = |server: &&Arc<Server>| {
            may_name_tool_of(name.as_str(), server.name()) && server.is_unheard()
        };
        self.fleet().servers().find(may_have).cloned()
    }

    /// The reason why there is no such tool.
    fn absence(&self, name: &CallableName) -> String {
        if let Some(server) = self.unheard(name) {
            return server.not_running();
        }
        match self.fleet().removed_owner(name.as_str()) {
            Some(server) => format!("server '{server}' was removed from the configuration"),
            None => "no connected server has this tool".to_owned(),
        }
    }

    /// The tool that a call goes to: the one that was looked up, or after the tools have changed,
    /// the one that has its name now.
    async fn target(&self, call: &ResolvedCall) -> Result<Found, ToolError> {
        let spec = call.tool.as_ref().map_err(Clone::clone)?;
        {
            let snapshot = self.snapshot.borrow();
            if snapshot.number == call.revision
                && let Some(found) = owned(&snapshot, spec)
            {
                return Ok(found);
            }
        }
        self.find(&spec.callable).await.ok_or_else(|| {
            let message = self.absence(&spec.callable);
            ToolError::NeverSent { name: call.name.clone(), message }
        })
    }
}

fn found(snapshot: &Snapshot, name: &CallableName) -> Option<Found> {
    match snapshot.catalog.get(name.as_str()) {
        Some(spec) => owned(snapshot, spec),
        None => snapshot.quarantine.get(name).cloned().map(Found::Quarantined),
    }
}

/// A tool of the catalog together with the server that has it.
fn owned(snapshot: &Snapshot, spec: &Arc<ToolSpec>) -> Option<Found> {
    if spec.server.as_str() == LocalTool::SERVER {
        let local = snapshot.fleet.local()?;
        return Some(Found::Local(Arc::clone(spec), Arc::clone(local)));
    }
    let server = snapshot.fleet.get(&spec.server)?;
    Some(Found::Tool(Arc::clone(spec), Arc::clone(server)))
}

impl ToolResolver for Bridge {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        if let Some(found) = found(&self.snapshot.borrow(), name) {
            return Resolving::now(found.resolution(name));
        }
        Resolving::later(async move {
            if let Some(found) = self.find(name).await {
                return found.resolution(name);
            }
            let catalog = Arc::clone(&self.snapshot.borrow().catalog);
            let reason = Some(self.absence(name));
            match catalog.alias(name.as_str()) {
                // The alias resolves to the tool's own name, which is the one that is called.
                Alias::Of(spec) => return Resolution::Callable(Arc::clone(spec)),
                Alias::Ambiguous(nearest) => return Resolution::Unknown { nearest, reason },
                Alias::Unknown => {}
            }
            if let Some(server) = self.unheard(name) {
                let message = server.not_running();
                let error = ToolError::NeverSent { name: name.clone(), message };
                let spec = Arc::new(stand_in(name, server.name()));
                return Resolution::Unavailable { spec, error };
            }
            let nearest = self.usual_catalog().await.nearest(name.as_str(), SUGGESTIONS);
            Resolution::Unknown { nearest, reason }
        })
    }

    fn revision(&self) -> u64 {
        self.snapshot.borrow().number
    }
}

impl CallHandler for Bridge {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let value = match self.target(&call).await? {
                Found::Tool(spec, server) => {
                    server.call(&spec, &call).await.map_err(|error| match error {
                        CallError::Failed(message) => ToolError::failed(&call.name, message),
                        CallError::NeverLeft(message) => {
                            ToolError::NeverSent { name: call.name.clone(), message }
                        }
                    })
                }
                Found::Local(spec, local) => {
                    let value = local.call(&spec, &call.arguments, call.form).await;
                    value.map_err(|error| ToolError::failed(&call.name, error.to_string()))
                }
                Found::Quarantined(tool) => Err(quarantined(&call.name, &tool)),
            };
            value.map(Answer::live)
        })
    }
}

/// A placeholder for a tool of a server that could not list its tools. It accepts any arguments, so
/// that a call fails with the reason and not with an error about its arguments.
fn stand_in(name: &CallableName, server: &ServerName) -> ToolSpec {
    let positions = (1..=MAX_POSITIONS).map(|position| (format!("argument_{position}"), json!({})));
    let properties: serde_json::Map<_, _> = positions.collect();
    ToolSpec {
        callable: name.clone(),
        server: server.clone(),
        tool: ToolName::new(name.as_str()),
        description: None,
        input_schema: json!({ "type": "object", "properties": properties }).into(),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    }
}
