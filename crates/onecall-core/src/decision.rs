//! The decision whether a call may be made, and the rule behind it, as logs and spans record it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::{AskRule, PolicyRule, ToolError, ToolSpec};

/// The decision on one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The call may be made.
    Allow,
    /// The call is rejected because of this rule.
    Deny(DenyRule),
    /// A person has to approve the call because of this rule.
    Ask(AskRule),
}

/// A rule that rejects a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DenyRule {
    /// The allow or block list of the configuration excludes the tool.
    ToolLists,
    /// The definition of the tool differs from the pinned one.
    Pins,
    /// No tool has the name, or its server cannot be used.
    NoTool,
    /// The policy does not permit the call.
    Policy(PolicyRule),
}

impl Decision {
    /// Decides by the result of the tool lookup; `ask` returns the rule by which a call of the tool
    /// needs an approval, if there is one.
    pub fn of(
        tool: &Result<Arc<ToolSpec>, ToolError>,
        ask: impl FnOnce(&ToolSpec) -> Option<AskRule>,
    ) -> Self {
        match tool {
            Ok(spec) => ask(spec).map_or(Self::Allow, Self::Ask),
            Err(ToolError::NotAvailable { .. }) => Self::Deny(DenyRule::ToolLists),
            Err(ToolError::Quarantined { .. }) => Self::Deny(DenyRule::Pins),
            Err(_) => Self::Deny(DenyRule::NoTool),
        }
    }

    /// The rule that rejects the call, if it is rejected.
    #[must_use]
    pub fn denied_by(&self) -> Option<&DenyRule> {
        match self {
            Self::Allow | Self::Ask(_) => None,
            Self::Deny(rule) => Some(rule),
        }
    }
}

impl DenyRule {
    /// The rule as records and spans name it.
    #[must_use]
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Self::ToolLists => "tools".into(),
            Self::Pins => "pin".into(),
            Self::NoTool => "no tool".into(),
            Self::Policy(rule) => format!("policy {}", rule.name).into(),
        }
    }
}
