//! Writes to the journal that a call is about to be sent, before it is sent: after a crash, the
//! journal names every call that may have had effects.

use onecall_core::{BoxFuture, CallHandler, CallResult, ResolvedCall, ToolError, ToolSpec};

use crate::journal::Journal;

/// Passes calls on once their intent is on disk. Calls of tools that are read-only do not wait.
pub(crate) struct WriteAhead<'a, H> {
    inner: H,
    journal: Option<&'a Journal>,
}

impl<'a, H> WriteAhead<'a, H> {
    /// Creates the layer. Without a journal it does nothing.
    pub(crate) fn new(inner: H, journal: Option<&'a Journal>) -> Self {
        Self { inner, journal }
    }
}

impl<H: CallHandler> CallHandler for WriteAhead<'_, H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match self.journal {
            Some(journal) if !call.tool.as_ref().is_ok_and(|spec| is_read_only(spec)) => {
                Box::pin(async move {
                    let _in_flight = journal.in_flight();
                    if let Err(error) = journal.sent(call.id).await {
                        let message = format!(
                            "it was not called, because it cannot be written to the journal first: \
                             {error}"
                        );
                        return Err(ToolError::NeverSent { name: call.name, message });
                    }
                    self.inner.call(call).await
                })
            }
            _ => self.inner.call(call),
        }
    }
}

/// Whether the server says that the tool changes nothing.
pub(super) fn is_read_only(spec: &ToolSpec) -> bool {
    spec.annotations.read_only_hint == Some(true)
}
