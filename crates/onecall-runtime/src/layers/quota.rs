//! Counts a program's calls and refuses those over its quota.

use std::sync::atomic::{AtomicU64, Ordering};

use onecall_core::{BoxFuture, CallableName, Resolving, ToolCall, ToolError, ToolHost, ToolValue};

/// Lets a limited number of calls through in all.
pub struct Quota<'a> {
    inner: &'a dyn ToolHost,
    limit: u64,
    made: AtomicU64,
}

impl<'a> Quota<'a> {
    /// At most `limit` calls reach `inner`.
    pub fn new(inner: &'a dyn ToolHost, limit: u64) -> Self {
        Self { inner, limit, made: AtomicU64::new(0) }
    }
}

impl ToolHost for Quota<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.inner.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        if self.made.fetch_add(1, Ordering::Relaxed) < self.limit {
            return self.inner.call(call);
        }
        Box::pin(
            async move { Err(ToolError::QuotaExceeded { name: call.name, limit: self.limit }) },
        )
    }
}
