//! Lets calls wait for the audit trail: before they are decided about until there is room for their
//! rows, and before they are sent until the decision is on disk. While the trail cannot be written,
//! calls are refused.

use onecall_core::{BoxFuture, CallHandler, CallResult, CallableName, ResolvedCall, ToolError};

use super::write_ahead::is_read_only;
use crate::audit::{AuditError, RunAudit};

/// Passes calls on once there is room for their rows.
pub(crate) struct AuditRoom<'a, H> {
    inner: H,
    audit: Option<&'a RunAudit<'a>>,
}

impl<'a, H> AuditRoom<'a, H> {
    /// Creates the layer. If the run is not audited, it does nothing.
    pub(crate) fn new(inner: H, audit: Option<&'a RunAudit<'a>>) -> Self {
        Self { inner, audit }
    }
}

impl<H: CallHandler> CallHandler for AuditRoom<'_, H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match self.audit {
            Some(audit) if !audit.has_room() => Box::pin(async move {
                match audit.room().await {
                    Ok(()) => self.inner.call(call).await,
                    Err(error) => Err(not_called(call.name, &error)),
                }
            }),
            _ => self.inner.call(call),
        }
    }
}

/// Passes calls on once the decision about them is on disk. Calls of tools that are read-only do not
/// wait.
pub(crate) struct AuditGate<'a, H> {
    inner: H,
    audit: Option<&'a RunAudit<'a>>,
}

impl<'a, H> AuditGate<'a, H> {
    /// Creates the layer. If the run is not audited, it does nothing.
    pub(crate) fn new(inner: H, audit: Option<&'a RunAudit<'a>>) -> Self {
        Self { inner, audit }
    }
}

impl<H: CallHandler> CallHandler for AuditGate<'_, H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        let Some(audit) = self.audit else { return self.inner.call(call) };
        if call.tool.as_ref().is_ok_and(|spec| is_read_only(spec)) {
            audit.sent(call.id);
            return self.inner.call(call);
        }
        Box::pin(async move {
            match audit.written(call.id).await {
                Ok(()) => {
                    audit.sent(call.id);
                    self.inner.call(call).await
                }
                Err(error) => Err(not_called(call.name, &error)),
            }
        })
    }
}

fn not_called(name: CallableName, error: &AuditError) -> ToolError {
    ToolError::NeverSent { name, message: format!("it was not called, because {error}") }
}
