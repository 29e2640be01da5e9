//! Looks callable names up, and routes each call to the server or the local tool that executes it.

use std::sync::Arc;

use onecall_catalog::{AliasMatch, may_be_tool_of};
use onecall_config::LocalTool;
use onecall_core::{
    Answer, BoxFuture, CallHandler, CallResult, CallableName, KnownBy, Resolution,
    ResolutionFuture, ResolvedCall, ServerName, ToolAnnotations, ToolError, ToolName, ToolResolver,
    ToolSpec,
};
use serde_json::json;

use super::Bridge;
use crate::local::LocalTools;
use crate::supervision::pins::QuarantinedTool;
use crate::supervision::server::{CallError, Server};
use crate::supervision::snapshot::Snapshot;

/// How many similar names an error suggests for an unknown one.
const MAX_SUGGESTIONS: usize = 3;

/// How many positional arguments a call of an unknown tool may have.
const MAX_POSITIONAL_ARGUMENTS: usize = 32;

/// The result of looking a name up.
enum ToolTarget {
    Tool(Arc<ToolSpec>, Arc<Server>),
    Local(Arc<ToolSpec>, Arc<LocalTools>),
    Quarantined(QuarantinedTool),
}

impl ToolTarget {
    /// The lookup result for a program. A tool in quarantine resolves to an error with the reason.
    fn resolution(self, name: &CallableName) -> Resolution {
        match self {
            Self::Tool(spec, _) | Self::Local(spec, _) => Resolution::Callable(spec),
            Self::Quarantined(tool) => {
                let error = quarantined(name, &tool);
                let known_by = KnownBy::Definition;
                Resolution::Unavailable { spec: tool.spec, error, known_by }
            }
        }
    }
}

fn quarantined(name: &CallableName, tool: &QuarantinedTool) -> ToolError {
    ToolError::Quarantined { name: name.clone(), why: tool.to_string() }
}

impl Bridge {
    /// Looks a tool up. Waits only while a server that may have the tool is still connecting.
    async fn find(&self, name: &CallableName) -> Option<ToolTarget> {
        if let Some(found) = look_up(&self.snapshot(), name) {
            return Some(found);
        }
        self.start_for_tool(name.as_str());
        let is_known = |snapshot: &Snapshot| {
            look_up(snapshot, name).is_some()
                || !matches!(snapshot.catalog.find_alias(name.as_str()), AliasMatch::Unknown)
                || snapshot
                    .awaits_only_other_installs(|server| may_be_tool_of(name.as_str(), server))
        };
        let snapshot = self.wait_until_settled(is_known).await;
        look_up(&snapshot, name)
    }

    /// The server that may have this tool but has never listed its tools.
    fn unlisted_server(&self, name: &CallableName) -> Option<Arc<Server>> {
        let may_have = |server: &&Arc<Server>| {
            may_be_tool_of(name.as_str(), server.name()) && server.is_unlisted()
        };
        self.fleet().servers().find(may_have).cloned()
    }

    /// The reason why there is no such tool.
    fn absence_reason(&self, name: &CallableName) -> String {
        if let Some(server) = self.unlisted_server(name) {
            return server.unavailable_message();
        }
        match self.fleet().removed_owner(name.as_str()) {
            Some(server) => format!("server '{server}' was removed from the configuration"),
            None => "no connected server has this tool".to_owned(),
        }
    }

    /// The tool that a call goes to: the one that was looked up, or after the tools have changed,
    /// the one that has its name now.
    async fn target(&self, call: &ResolvedCall) -> Result<ToolTarget, ToolError> {
        let spec = call.tool.as_ref().map_err(Clone::clone)?;
        {
            let snapshot = self.snapshot();
            if snapshot.number == call.revision
                && let Some(found) = with_server(&snapshot, spec)
            {
                return Ok(found);
            }
        }
        self.find(&spec.callable).await.ok_or_else(|| {
            let message = self.absence_reason(&spec.callable);
            ToolError::NeverSent { name: call.name.clone(), message }
        })
    }
}

fn look_up(snapshot: &Snapshot, name: &CallableName) -> Option<ToolTarget> {
    match snapshot.catalog.get(name.as_str()) {
        Some(spec) => with_server(snapshot, spec),
        None => snapshot.quarantine.get(name).cloned().map(ToolTarget::Quarantined),
    }
}

/// A tool of the catalog together with the server that has it.
fn with_server(snapshot: &Snapshot, spec: &Arc<ToolSpec>) -> Option<ToolTarget> {
    if spec.server.as_str() == LocalTool::SERVER {
        let local = snapshot.fleet.local()?;
        return Some(ToolTarget::Local(Arc::clone(spec), Arc::clone(local)));
    }
    let server = snapshot.fleet.get(&spec.server)?;
    Some(ToolTarget::Tool(Arc::clone(spec), Arc::clone(server)))
}

impl ToolResolver for Bridge {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        if let Some(found) = look_up(&self.snapshot(), name) {
            return ResolutionFuture::ready(found.resolution(name));
        }
        ResolutionFuture::pending(async move {
            if let Some(found) = self.find(name).await {
                return found.resolution(name);
            }
            let catalog = Arc::clone(&self.snapshot().catalog);
            let reason = Some(self.absence_reason(name));
            match catalog.find_alias(name.as_str()) {
                // The alias resolves to the tool's own name, which is the one that is called.
                AliasMatch::One(spec) => return Resolution::Callable(Arc::clone(spec)),
                AliasMatch::Ambiguous(nearest) => return Resolution::Unknown { nearest, reason },
                AliasMatch::Unknown => {}
            }
            if let Some(server) = self.unlisted_server(name) {
                let message = server.unavailable_message();
                let error = ToolError::NeverSent { name: name.clone(), message };
                let spec = Arc::new(placeholder_spec(name, server.name()));
                let needs_credentials = server.is_owned() && server.waits_for_login();
                let known_by = if needs_credentials { KnownBy::Name } else { KnownBy::Definition };
                return Resolution::Unavailable { spec, error, known_by };
            }
            let nearest = self.eager_catalog().await.nearest(name.as_str(), MAX_SUGGESTIONS);
            Resolution::Unknown { nearest, reason }
        })
    }

    fn revision(&self) -> u64 {
        self.snapshot().number
    }
}

impl CallHandler for Bridge {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let value = match self.target(&call).await? {
                ToolTarget::Tool(spec, server) => {
                    server.call(&spec, &call).await.map_err(|error| match error {
                        CallError::Failed(message) => ToolError::failed(&call.name, message),
                        CallError::Refused { message, refusal } => ToolError::Failed {
                            name: call.name.clone(),
                            message,
                            refusal: Some(refusal),
                        },
                        CallError::NeverSent(message) => {
                            ToolError::NeverSent { name: call.name.clone(), message }
                        }
                    })
                }
                ToolTarget::Local(spec, local) => {
                    let value = local.call(&spec, &call.arguments, call.form).await;
                    value.map_err(|error| ToolError::failed(&call.name, error.to_string()))
                }
                ToolTarget::Quarantined(tool) => Err(quarantined(&call.name, &tool)),
            };
            value.map(Answer::live)
        })
    }
}

/// A placeholder for a tool of a server that could not list its tools. It accepts any arguments, so
/// that a call fails with the reason and not with an error about its arguments.
fn placeholder_spec(name: &CallableName, server: &ServerName) -> ToolSpec {
    let positions =
        (1..=MAX_POSITIONAL_ARGUMENTS).map(|position| (format!("argument_{position}"), json!({})));
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
