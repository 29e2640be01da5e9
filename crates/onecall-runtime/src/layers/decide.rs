//! Decides whether a call may be made, and logs the decision. A call whose name does not resolve to
//! a tool that its run may use ends here, with the error of the lookup.

use onecall_core::{BoxFuture, CallHandler, CallResult, Decision, ResolvedCall};

use crate::call_log::LogWriter;

/// Passes on the calls of tools that the run may use.
pub(crate) struct Decide<'a, H> {
    inner: H,
    log: LogWriter<'a>,
}

impl<'a, H> Decide<'a, H> {
    /// Creates the layer: permitted calls go to `inner`, each decision goes to `log`.
    pub(crate) fn new(inner: H, log: LogWriter<'a>) -> Self {
        Self { inner, log }
    }
}

impl<H: CallHandler> CallHandler for Decide<'_, H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        self.log.decide(&call, Decision::on(&call.tool));
        match call.tool {
            Ok(_) => self.inner.call(call),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}
