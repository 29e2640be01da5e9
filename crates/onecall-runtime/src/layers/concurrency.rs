//! Limits how many calls of a run are in progress at a time.

use onecall_core::{BoxFuture, CallHandler, CallResult, ResolvedCall};
use tokio::sync::Semaphore;

/// Passes a limited number of calls on at a time; the others wait in order.
pub(crate) struct ConcurrencyLimit<H> {
    inner: H,
    permits: Semaphore,
}

impl<H> ConcurrencyLimit<H> {
    /// Creates a limit: at most `limit` calls reach `inner` at once.
    pub(crate) fn new(inner: H, limit: usize) -> Self {
        Self { inner, permits: Semaphore::new(limit.clamp(1, Semaphore::MAX_PERMITS)) }
    }
}

impl<H: CallHandler> CallHandler for ConcurrencyLimit<H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            // The semaphore is never closed, so a permit is always granted in the end.
            let _permit = self.permits.acquire().await;
            self.inner.call(call).await
        })
    }
}
