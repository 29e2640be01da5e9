//! Keeps the number of calls under way within a program's share.

use onecall_core::{BoxFuture, CallableName, Resolving, ToolCall, ToolError, ToolHost, ToolValue};
use tokio::sync::Semaphore;

/// Lets a limited number of calls through at a time; the others wait in order.
pub struct Parallel<'a> {
    inner: &'a dyn ToolHost,
    places: Semaphore,
}

impl<'a> Parallel<'a> {
    /// At most `limit` calls reach `inner` at once.
    pub fn new(inner: &'a dyn ToolHost, limit: usize) -> Self {
        Self { inner, places: Semaphore::new(limit.clamp(1, Semaphore::MAX_PERMITS)) }
    }
}

impl ToolHost for Parallel<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.inner.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(async move {
            // The semaphore is never closed, so there is always a place in the end.
            let _place = self.places.acquire().await;
            self.inner.call(call).await
        })
    }
}
