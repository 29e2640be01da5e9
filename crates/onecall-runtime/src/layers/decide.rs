//! Decides whether a call may be made, and logs the decision. A call whose name does not resolve to
//! a tool that its run may use ends here, with the error of the lookup; a call that needs an approval
//! waits here for a person (`approval.rs`).

use onecall_core::{BoxFuture, CallHandler, CallResult, Decision, ResolvedCall};

use super::approval::ApprovalStep;
use crate::call_log::LogWriter;

/// Passes on the calls of tools that the run may use, after their approval where one is needed.
pub(crate) struct DecisionLayer<'a, H> {
    inner: H,
    log: LogWriter<'a>,
    approval: Option<ApprovalStep<'a>>,
}

impl<'a, H> DecisionLayer<'a, H> {
    /// Creates the layer: permitted calls go to `inner`, each decision goes to `log`. Without
    /// `approval`, no call needs an approval.
    pub(crate) fn new(inner: H, log: LogWriter<'a>, approval: Option<ApprovalStep<'a>>) -> Self {
        Self { inner, log, approval }
    }
}

impl<H: CallHandler> CallHandler for DecisionLayer<'_, H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        let approval = self.approval.as_ref();
        let decision = Decision::of(&call.tool, |spec| approval.and_then(|it| it.rule(spec)));
        self.log.decide(&call, &decision);
        match (&call.tool, decision, approval) {
            (Err(error), ..) => Box::pin(std::future::ready(Err(error.clone()))),
            (Ok(_), Decision::Ask(rule), Some(approval)) => Box::pin(async move {
                let call = approval.approved(call, &rule).await?;
                self.inner.call(call).await
            }),
            (Ok(_), ..) => self.inner.call(call),
        }
    }
}
