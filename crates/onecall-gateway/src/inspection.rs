//! What people look at and decide about on the page: explanations of policies, and changed tools of pinned
//! servers.

use std::path::PathBuf;
use std::sync::Arc;

use onecall_bridge::{DefinitionPart, PinError, PinState, Pins, VersionedPins};
use onecall_catalog::{ToolDefinition, ask_rule, permits};
use onecall_core::{
    AccessPolicy, AccessRequest, AnswerForm, Decision, Digest, Freshness, Language, LogIndex,
    PolicyRule, Principal, ResolvedCall, RunContext, RunId, RunKind, ServerName, ToolError,
    ToolSpec,
};
use onecall_policy::{ExplainedPolicy, ListedPolicy, PolicyWarning, is_function};
use onecall_runtime::UserAccess;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::gateway::shared_servers;
use crate::{Gateway, LastKnownTools};

/// A tool of a pinned server that is not as it was pinned.
#[derive(Clone, Debug)]
pub struct ChangedTool {
    /// The name that the server gives it.
    pub tool: String,
    /// Whether there was no such tool when the server was pinned.
    pub is_new: bool,
    /// The parts that differ, as they were and as they are now.
    pub parts: Vec<ChangedPart>,
}

/// A part of a tool's definition that differs from the pinned one.
#[derive(Clone, Debug)]
pub struct ChangedPart {
    /// The name of the part.
    pub name: String,
    /// The pinned text; empty if there was none.
    pub before: String,
    /// The text now.
    pub now: String,
}

/// The changed tools of a server.
#[derive(Clone, Debug, Default)]
pub struct PinChanges {
    /// The tools.
    pub tools: Vec<ChangedTool>,
    /// Names exactly these changes. It is given back when they are accepted.
    pub digest: String,
}

/// Why the tools of a server were not accepted.
#[derive(Debug, Error)]
pub enum AcceptError {
    /// The server does not exist, or is not pinned.
    #[error("there is no pinned server '{0}'")]
    NotPinned(String),
    /// The tools are not those that were shown.
    #[error("the tools have changed since they were shown; look at them again")]
    Outdated,
    /// The pins cannot be used.
    #[error(transparent)]
    Pins(#[from] PinError),
}

/// How a call would be decided, and what came of each policy.
#[derive(Clone, Debug)]
pub struct CallExplanation {
    /// The decision.
    pub decision: Decision,
    /// The policy that permits the call, if there are policies and one does.
    pub permitted_by: Option<PolicyRule>,
    /// All policies, in the order of the files and lines.
    pub policies: Vec<ExplainedPolicy>,
}

/// A run whose calls are explained and not made. A run of a program has the digest of an empty one.
#[must_use]
pub fn explained_run(principal: Principal, client: &str, kind: RunKind) -> RunContext {
    RunContext {
        id: RunId::from_existing("explained"),
        kind,
        principal: Arc::new(principal),
        client: client.to_owned(),
        program: kind.is_program().then(|| Digest::of("")),
        language: Language::default(),
        caller: None,
    }
}

impl Gateway {
    /// Explains how a call of this run would be decided, as a call that is made is decided.
    #[must_use]
    pub fn explain_call(
        &self,
        run: RunContext,
        tool: &Arc<ToolSpec>,
        known: &LastKnownTools,
        arguments: &RawValue,
    ) -> CallExplanation {
        let principal = Arc::clone(&run.principal);
        let call = ResolvedCall {
            id: 0,
            name: tool.callable.clone(),
            tool: self.callable_tool(tool, known),
            revision: 0,
            arguments: arguments.to_owned(),
            form: AnswerForm::default(),
            freshness: Freshness::default(),
            site: None,
            run: Arc::new(run),
            log_index: LogIndex::default(),
        };
        let policies = self.shared.policies.as_ref().map(|policies| policies.current());
        let policy = policies.clone().map(|policies| policies as Arc<dyn AccessPolicy>);
        let ask = self.config().approvals.as_ref().map(|approvals| approvals.policy());
        let ask = ask.unwrap_or_default();
        let access = UserAccess { principal, policy };
        let (decision, permitted_by) = access.decide(&call, |spec| ask_rule(&ask, spec));
        let request = AccessRequest { run: &call.run, tool, arguments };
        let explained = policies.map(|policies| policies.explain(&request).policies);
        CallExplanation { decision, permitted_by, policies: explained.unwrap_or_default() }
    }

    /// The tool, or why programs cannot call it.
    fn callable_tool(
        &self,
        tool: &Arc<ToolSpec>,
        known: &LastKnownTools,
    ) -> Result<Arc<ToolSpec>, ToolError> {
        let name = tool.callable.clone();
        // The lists are about tools of servers.
        if !is_function(tool) && !permits(&self.config().tools, tool) {
            return Err(ToolError::NotAvailable { name });
        }
        match known.quarantine_of(tool) {
            Some(quarantined) => Err(ToolError::Quarantined { name, why: quarantined.to_string() }),
            None => Ok(Arc::clone(tool)),
        }
    }

    /// What does not fit between the policies and the tools that servers listed last.
    #[must_use]
    pub fn policy_warnings(&self, known: &LastKnownTools) -> Vec<PolicyWarning> {
        let policies = self.shared.policies.as_ref().map(|policies| policies.current());
        policies.map_or(Vec::new(), |policies| policies.recheck(&known.all_tools()))
    }

    /// The policies that are in force, in the order of the files and lines.
    #[must_use]
    pub fn listed_policies(&self) -> Vec<ListedPolicy> {
        self.shared.policies.as_ref().map_or(Vec::new(), |policies| policies.current().list())
    }

    /// The tools of a pinned server that differ from their pins, as far as the server has listed them.
    ///
    /// # Errors
    /// If the server is not pinned, or its pins cannot be read.
    pub fn pin_changes(&self, server: &str) -> Result<PinChanges, AcceptError> {
        let ChangedDefinitions { pins, changed, .. } = self.changed_definitions(server)?;
        let tools: Vec<_> =
            changed.iter().map(|(tool, state)| changed_tool(&pins, tool, state)).collect();
        Ok(PinChanges { digest: Digest::of(format!("{tools:?}")).to_string(), tools })
    }

    /// Accepts the changed tools of a pinned server, if they are still those with this digest. This waits
    /// until the pins are written.
    ///
    /// # Errors
    /// If they are not, or the pins cannot be written.
    pub fn accept_changes(&self, server: &str, digest: &str) -> Result<usize, AcceptError> {
        if self.pin_changes(server)?.digest != digest {
            return Err(AcceptError::Outdated);
        }
        let ChangedDefinitions { file, before, mut pins, changed } =
            self.changed_definitions(server)?;
        changed.iter().for_each(|(tool, _)| pins.accept(tool));
        self.bridge.options().pins.replace(&file, before.as_ref(), &pins)?;
        let config = self.config().clone();
        // The servers are the same; their tools are compared with the new pins.
        self.bridge.reconfigure(shared_servers(&config.servers), config.local_tools);
        Ok(changed.len())
    }

    fn changed_definitions(&self, server: &str) -> Result<ChangedDefinitions, AcceptError> {
        let not_pinned = || AcceptError::NotPinned(server.to_owned());
        let file = {
            let config = self.config();
            let entry = config.servers.iter().find(|it| it.name.as_str() == server);
            entry.and_then(|entry| entry.pins.clone()).ok_or_else(not_pinned)?
        };
        let name = ServerName::new(server);
        let before = self.bridge.options().pins.known(&file)?;
        let pins = before.as_ref().map_or_else(|| Pins::none(&name), |it| (*it.pins).clone());
        let listed = self.bridge.listed(&name).unwrap_or_default();
        let changed = listed
            .iter()
            .map(|tool| (tool.clone(), pins.state(tool)))
            .filter(|(_, state)| *state != PinState::Same)
            .collect();
        Ok(ChangedDefinitions { file, before, pins, changed })
    }
}

/// The tools of a server that are not as they are pinned.
struct ChangedDefinitions {
    file: PathBuf,
    /// The pins as they were read.
    before: Option<VersionedPins>,
    pins: Pins,
    changed: Vec<(ToolDefinition, PinState)>,
}

fn changed_tool(pins: &Pins, tool: &ToolDefinition, state: &PinState) -> ChangedTool {
    let before = pins.definition(&tool.tool);
    let parts = match state {
        PinState::Changed(parts) => parts.as_slice(),
        PinState::New | PinState::Same => DefinitionPart::ALL.as_slice(),
    };
    let part = |part: &DefinitionPart| ChangedPart {
        name: part.to_string(),
        before: before.as_ref().map_or(String::new(), |before| part.readable(before)),
        now: part.readable(tool),
    };
    let is_new = before.is_none();
    ChangedTool { tool: tool.tool.to_string(), is_new, parts: parts.iter().map(part).collect() }
}
