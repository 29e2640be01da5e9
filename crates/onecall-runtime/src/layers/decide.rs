//! Decides whether a call may be made, and logs the decision. A call whose name does not resolve to
//! a tool that its run may use ends here, with the error of the lookup, and so does a call that the
//! policy forbids; a call that needs an approval waits here for a person (`approval.rs`).

use onecall_core::{
    AskRule, BoxFuture, CallHandler, CallResult, Decision, ResolvedCall, ToolError,
};

use super::approval::ApprovalStep;
use crate::access::{UserAccess, forbidden};
use crate::call_log::LogWriter;

/// Passes on the calls of tools that the run may use, after their approval where one is needed.
pub(crate) struct DecisionLayer<'a, H> {
    inner: H,
    log: LogWriter<'a>,
    access: &'a UserAccess,
    approval: Option<ApprovalStep<'a>>,
}

impl<'a, H> DecisionLayer<'a, H> {
    /// Creates the layer: permitted calls go to `inner`, each decision goes to `log`. `access` is the
    /// user of the run with the policy. Without `approval`, nobody can be asked.
    pub(crate) fn new(
        inner: H,
        log: LogWriter<'a>,
        access: &'a UserAccess,
        approval: Option<ApprovalStep<'a>>,
    ) -> Self {
        Self { inner, log, access, approval }
    }

    /// Decides about a call and logs the decision. Lists and pins have decided when the name was looked
    /// up; then the policy decides, then the rules of `approvals`.
    fn decide(&self, call: &ResolvedCall) -> Decision {
        let rule = |spec: &_| self.approval.as_ref().and_then(|it| it.rule(spec));
        let (decision, permitted_by) = self.access.decide(call, rule);
        self.log.decide(call, &decision, permitted_by.as_ref());
        decision
    }

    async fn approved(&self, call: ResolvedCall, rule: &AskRule) -> Result<ResolvedCall, ToolError>
    where
        H: CallHandler,
    {
        let Some(approval) = &self.approval else {
            let message = format!("{} has a person asked, and nobody can be asked", rule.name());
            return Err(ToolError::NeverSent { name: call.name, message });
        };
        let call = approval.approved(call, rule).await?;
        // A person may have edited the arguments. What the policy forbids no person can allow.
        match self.access.permit(&call) {
            Err(Decision::Deny(rule)) => {
                self.log.decide(&call, &Decision::Deny(rule.clone()), None);
                Err(forbidden(&call, &rule))
            }
            _ => Ok(call),
        }
    }
}

impl<H: CallHandler> CallHandler for DecisionLayer<'_, H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match (&call.tool, self.decide(&call)) {
            (Err(error), _) => Box::pin(std::future::ready(Err(error.clone()))),
            (Ok(_), Decision::Deny(rule)) => {
                Box::pin(std::future::ready(Err(forbidden(&call, &rule))))
            }
            (Ok(_), Decision::Ask(rule)) => Box::pin(async move {
                let call = self.approved(call, &rule).await?;
                self.inner.call(call).await
            }),
            (Ok(_), Decision::Allow) => self.inner.call(call),
        }
    }
}
