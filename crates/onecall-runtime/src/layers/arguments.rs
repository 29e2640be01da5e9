//! Sends no arguments to a server that cannot fit its tool's schema, and says of those that only a
//! lenient server takes what the schema says.

use std::sync::Arc;

use onecall_catalog::{Misfit, Strictness, check_arguments, python_signature};
use onecall_core::{
    BoxFuture, CallHandler, CallResult, ResolvedCall, ServerName, ToolError, ToolSpec,
};

/// More misfits than this are only counted.
const MAX_TOLD: usize = 10;

/// Checks the arguments of every call, the last thing before it is made.
pub(crate) struct ArgumentCheck<H> {
    inner: H,
}

impl<H> ArgumentCheck<H> {
    /// Lets only calls through to `inner` whose arguments can fit.
    pub(crate) fn new(inner: H) -> Self {
        Self { inner }
    }
}

impl<H: CallHandler> CallHandler for ArgumentCheck<H> {
    fn call(&self, mut call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let spec = Arc::clone(call.tool.as_ref().map_err(Clone::clone)?);
            let schema = spec.input_schema.value();
            let notes = match check_arguments(&schema, &call.arguments, strictness(&spec)) {
                Ok(checked) => {
                    call.arguments = checked.arguments.unwrap_or(call.arguments);
                    checked.notes
                }
                Err(misfits) => {
                    let message = told(&spec, &misfits);
                    return Err(ToolError::NotUnderstood { name: call.name, message });
                }
            };
            self.inner.call(call).await.map_err(|error| with_notes(error, &notes))
        })
    }
}

/// A server may take more than its schema says. A tool of the configuration gets what its author
/// has written down.
fn strictness(spec: &ToolSpec) -> Strictness {
    if spec.server.as_str() == ServerName::LOCAL { Strictness::Strict } else { Strictness::Lenient }
}

/// An error of the server, with what may explain it.
fn with_notes(mut error: ToolError, notes: &[String]) -> ToolError {
    if let ToolError::Failed { message, .. } | ToolError::NotUnderstood { message, .. } = &mut error
    {
        for note in notes.iter().take(MAX_TOLD) {
            message.push_str("\n  ");
            message.push_str(note);
        }
    }
    error
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
