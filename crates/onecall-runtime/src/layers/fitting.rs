//! Sends no arguments to a server that its tool's schema does not take.

use std::sync::Arc;

use onecall_catalog::{Misfit, check_arguments, python_signature};
use onecall_core::{
    BoxFuture, CallableName, Resolution, Resolving, ToolCall, ToolError, ToolHost, ToolSpec,
    ToolValue,
};

/// More misfits than this are only counted.
const MAX_TOLD: usize = 10;

/// Checks the arguments of every call, the last thing before it is made.
pub struct Fitting {
    inner: Arc<dyn ToolHost>,
}

impl Fitting {
    /// Lets only calls through to `inner` that can fit.
    pub fn new(inner: Arc<dyn ToolHost>) -> Self {
        Self { inner }
    }
}

impl ToolHost for Fitting {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.inner.resolve(name)
    }

    fn call(&self, mut call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(async move {
            if let Resolution::Callable(spec) = self.inner.resolve(&call.name).await {
                match check_arguments(&spec.input_schema, &call.arguments) {
                    Ok(None) => {}
                    Ok(Some(arguments)) => call.arguments = arguments,
                    Err(misfits) => {
                        let message = told(&spec, &misfits);
                        return Err(ToolError::NotUnderstood { name: call.name, message });
                    }
                }
            }
            self.inner.call(call).await
        })
    }
}

/// What is said about a call that was not made.
pub(super) fn told(spec: &ToolSpec, misfits: &[Misfit]) -> String {
    let mut text = "it was not called, because its arguments do not fit:".to_owned();
    for misfit in misfits.iter().take(MAX_TOLD) {
        text.push_str(&format!("\n  {misfit}"));
    }
    if misfits.len() > MAX_TOLD {
        text.push_str(&format!("\n  and {} more", misfits.len() - MAX_TOLD));
    }
    text.push_str(&format!("\n  {}", python_signature(spec)));
    text
}
