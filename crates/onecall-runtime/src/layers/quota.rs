//! Counts the calls of a run and refuses those that exceed its quota.

use std::sync::atomic::{AtomicU64, Ordering};

use onecall_core::{BoxFuture, CallHandler, CallResult, ResolvedCall, ToolError};

/// Passes on a limited number of calls in total.
pub(crate) struct Quota<H> {
    inner: H,
    limit: u64,
    made: AtomicU64,
}

impl<H> Quota<H> {
    /// Creates a quota: at most `limit` calls reach `inner`. A continued run has used up `made` of them
    /// before.
    pub(crate) fn new(inner: H, limit: u64, made: u64) -> Self {
        Self { inner, limit, made: AtomicU64::new(made) }
    }
}

impl<H: CallHandler> CallHandler for Quota<H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        if self.made.fetch_add(1, Ordering::Relaxed) < self.limit {
            return self.inner.call(call);
        }
        let error = ToolError::QuotaExceeded { name: call.name, limit: self.limit };
        Box::pin(std::future::ready(Err(error)))
    }
}
