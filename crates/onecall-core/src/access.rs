//! The policy that decides, for each user, which tools may be called and with which arguments.

use std::fmt;

use serde_json::value::RawValue;

use crate::{Principal, RunContext, ToolSpec};

/// Decides about the calls of all users. Cedar policies implement it.
pub trait AccessPolicy: Send + Sync {
    /// Decides about one call.
    fn decide(&self, request: &AccessRequest<'_>) -> AccessDecision;

    /// What the policy could decide about calls of a tool, whatever their arguments, client and
    /// program are. It never promises less than [`Self::decide`] allows.
    fn outlook(&self, principal: &Principal, tool: &ToolSpec) -> AccessOutlook;

    /// Whether some rule has a person asked, about any call of any user.
    fn asks(&self) -> bool;
}

/// A call that is decided about.
#[derive(Clone, Copy, Debug)]
pub struct AccessRequest<'a> {
    /// The run that makes the call, and the user that it is for.
    pub run: &'a RunContext,
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The arguments, a JSON object.
    pub arguments: &'a RawValue,
}

/// What the policy says about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessDecision {
    /// The call may be made.
    Allow(PolicyRule),
    /// The call may not be made. Where no rule permits it, the rule says so.
    Deny(PolicyRule),
    /// A person has to approve the call.
    Ask(PolicyRule),
}

/// The rule of a policy that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// The name of the rule, as in `team.cedar:12`.
    pub name: String,
    /// The reason that the rule gives to people, if it gives one.
    pub reason: Option<String>,
}

impl fmt::Display for PolicyRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(formatter, "policy {}: {reason}", self.name),
            None => write!(formatter, "policy {}", self.name),
        }
    }
}

/// What could be decided about calls of one tool by one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessOutlook {
    /// Whether some call could be allowed, at least after an approval. A tool without such a call is not
    /// shown to the user.
    pub may_call: bool,
    /// Whether some call could need an approval.
    pub may_ask: bool,
}
