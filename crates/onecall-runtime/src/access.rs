//! The user of a run, and what the policy says about the user's calls.

use std::sync::Arc;

use onecall_catalog::permits;
use onecall_core::{
    AccessDecision, AccessPolicy, AccessRequest, AskRule, Decision, DenyRule, PolicyRule,
    Principal, ResolvedCall, ToolError, ToolPolicy, ToolSpec,
};

/// The user that runs are for, with the policy that decides about their calls.
#[derive(Clone)]
pub struct UserAccess {
    /// The user.
    pub principal: Arc<Principal>,
    /// The policy; without one, every tool that the configuration permits may be called.
    pub policy: Option<Arc<dyn AccessPolicy>>,
}

impl Default for UserAccess {
    fn default() -> Self {
        Self { principal: Arc::new(Principal::local()), policy: None }
    }
}

impl UserAccess {
    /// Whether the user could call this tool, with whatever arguments.
    #[must_use]
    pub fn may_call(&self, tool: &ToolSpec) -> bool {
        self.policy.as_ref().is_none_or(|policy| policy.outlook(&self.principal, tool).may_call)
    }

    /// Whether the policy could have a person asked about a call of this tool.
    #[must_use]
    pub fn may_ask(&self, tool: &ToolSpec) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.outlook(&self.principal, tool).may_ask)
    }

    /// Whether the policy could have a person asked about a call of a tool that is not known yet.
    pub(crate) fn asks(&self) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.asks())
    }

    /// Decides about a call: the policy first, then the rules of `approvals`, which `ask` finds for a tool. The
    /// result has the rule of the policy that permits the call, too.
    pub fn decide(
        &self,
        call: &ResolvedCall,
        ask: impl FnOnce(&ToolSpec) -> Option<AskRule>,
    ) -> (Decision, Option<PolicyRule>) {
        match self.permit(call) {
            Ok(permitted_by) => (Decision::of(&call.tool, ask), permitted_by),
            Err(objection) => (objection, None),
        }
    }

    /// Whether the policy permits a call, and the rule that does; without a policy there is none.
    ///
    /// # Errors
    /// The decision of the policy, if it does not permit the call.
    pub(crate) fn permit(&self, call: &ResolvedCall) -> Result<Option<PolicyRule>, Decision> {
        let (Some(policy), Ok(tool)) = (&self.policy, &call.tool) else { return Ok(None) };
        let request = AccessRequest { run: &call.run, tool, arguments: &call.arguments };
        match policy.decide(&request) {
            AccessDecision::Allow(rule) => Ok(Some(rule)),
            AccessDecision::Deny(rule) => Err(Decision::Deny(DenyRule::Policy(rule))),
            AccessDecision::Ask(rule) => Err(Decision::Ask(AskRule::Policy(rule))),
        }
    }
}

/// Which tools the programs of one user may call.
#[derive(Clone, Default)]
pub struct ToolPermission {
    /// The allow or block list of the configuration.
    pub lists: ToolPolicy,
    /// The user, and the policy.
    pub access: UserAccess,
}

impl ToolPermission {
    /// Whether programs may call this tool, with whatever arguments.
    #[must_use]
    pub fn permits(&self, tool: &ToolSpec) -> bool {
        permits(&self.lists, tool) && self.access.may_call(tool)
    }

    /// Whether programs may call a tool that is not known yet, as far as its name shows.
    #[must_use]
    pub fn permits_name(&self, name: &str) -> bool {
        self.lists.permits(name)
    }
}

/// The error of a call that the policy denies.
pub(crate) fn forbidden(call: &ResolvedCall, rule: &DenyRule) -> ToolError {
    let rule = match rule {
        DenyRule::Policy(rule) => rule.to_string(),
        other => other.name().into_owned(),
    };
    ToolError::Forbidden { name: call.name.clone(), rule }
}
