//! Keeps tools away from programs that the configuration does not let them have.

use std::sync::Arc;

use onecall_config::ToolPolicy;
use onecall_core::{
    BoxFuture, CallableName, Resolution, Resolving, ToolCall, ToolError, ToolHost, ToolValue,
};

/// Lets only permitted tools through.
pub struct Policy {
    inner: Arc<dyn ToolHost>,
    policy: ToolPolicy,
}

impl Policy {
    /// Applies `policy` to everything that goes to `inner`.
    pub fn new(inner: Arc<dyn ToolHost>, policy: ToolPolicy) -> Self {
        Self { inner, policy }
    }
}

impl ToolHost for Policy {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.inner.resolve(name).map(|resolution| match resolution {
            Resolution::Callable(spec) if self.policy.permits(spec.callable.as_str()) => {
                Resolution::Callable(spec)
            }
            Resolution::Callable(_) | Resolution::Blocked => Resolution::Blocked,
            Resolution::Unknown { mut nearest } => {
                nearest.retain(|near| self.policy.permits(near.as_str()));
                Resolution::Unknown { nearest }
            }
        })
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        if self.policy.permits(call.name.as_str()) {
            self.inner.call(call)
        } else {
            Box::pin(async move { Err(ToolError::NotAvailable { name: call.name }) })
        }
    }
}
