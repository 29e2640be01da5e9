//! Tells an observer of each call, and counts those that gave a value.

use std::sync::atomic::{AtomicU64, Ordering};

use onecall_core::{BoxFuture, CallableName, Resolution, ToolCall, ToolError, ToolHost, ToolValue};

use crate::Observer;

/// Watches the calls of one program.
pub struct Observed<'a> {
    inner: &'a dyn ToolHost,
    observer: &'a dyn Observer,
    completed: AtomicU64,
}

impl<'a> Observed<'a> {
    /// Reports calls to `inner` to `observer`.
    pub fn new(inner: &'a dyn ToolHost, observer: &'a dyn Observer) -> Self {
        Self { inner, observer, completed: AtomicU64::new(0) }
    }

    /// Calls that gave a value so far.
    pub fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }
}

impl ToolHost for Observed<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> BoxFuture<'a, Resolution> {
        self.inner.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(async move {
            let name = call.name.clone();
            self.observer.call_started(&call);
            let result = self.inner.call(call).await;
            if result.is_ok() {
                self.completed.fetch_add(1, Ordering::Relaxed);
            }
            self.observer.call_ended(&name, &result);
            result
        })
    }
}
