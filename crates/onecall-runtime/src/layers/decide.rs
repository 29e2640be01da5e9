//! Decides whether a call may be made. A call whose name reaches no tool that its run may use ends
//! here, with the reason that the lookup found.

use onecall_core::{BoxFuture, CallHandler, CallResult, ResolvedCall};

/// Lets calls of tools through that the run may use.
pub(crate) struct Decide<H> {
    inner: H,
}

impl<H> Decide<H> {
    /// Calls that may be made go to `inner`.
    pub(crate) fn new(inner: H) -> Self {
        Self { inner }
    }
}

impl<H: CallHandler> CallHandler for Decide<H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match call.tool {
            Ok(_) => self.inner.call(call),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}
