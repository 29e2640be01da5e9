//! Checks the arguments of a call against the tool's input schema. Arguments that cannot fit are
//! not sent to the server; if the call fails, mismatches that a lenient server might have accepted
//! are added to its error.

use std::sync::Arc;

use onecall_catalog::{ArgumentMismatch, Strictness, check_arguments, signature};
use onecall_core::{
    BoxFuture, CallHandler, CallResult, Language, ResolvedCall, ServerName, ToolError, ToolSpec,
};

/// How many mismatches a message lists; the others are only counted.
const MAX_LISTED: usize = 10;

/// Checks the arguments of every call. This is the last check before the call is made.
pub(crate) struct ArgumentCheck<H> {
    inner: H,
}

impl<H> ArgumentCheck<H> {
    /// Passes calls on to `inner` if their arguments can fit.
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
                Err(mismatches) => {
                    let message = mismatch_message(&spec, &mismatches, call.run.language);
                    return Err(ToolError::InvalidCall { name: call.name, message });
                }
            };
            self.inner.call(call).await.map_err(|error| with_notes(error, &notes))
        })
    }
}

/// Checks the arguments of a call without making it.
///
/// # Errors
/// If the tool cannot be called, or the arguments cannot fit.
pub(super) fn fit_arguments(call: &ResolvedCall) -> Result<(), ToolError> {
    let spec = call.tool.as_ref().map_err(Clone::clone)?;
    match check_arguments(&spec.input_schema.value(), &call.arguments, strictness(spec)) {
        Ok(_) => Ok(()),
        Err(mismatches) => {
            let message = mismatch_message(spec, &mismatches, call.run.language);
            Err(ToolError::InvalidCall { name: call.name.clone(), message })
        }
    }
}

/// A server may accept more than its schema says, so the check is lenient. The schema of a tool in
/// the configuration is binding.
fn strictness(spec: &ToolSpec) -> Strictness {
    if spec.server.as_str() == ServerName::LOCAL { Strictness::Strict } else { Strictness::Lenient }
}

/// Adds notes that may explain an error of the server.
fn with_notes(mut error: ToolError, notes: &[String]) -> ToolError {
    if let ToolError::Failed { message, .. } | ToolError::InvalidCall { message, .. } = &mut error {
        for note in notes.iter().take(MAX_LISTED) {
            message.push_str("\n  ");
            message.push_str(note);
        }
    }
    error
}

/// The message for a call that was not made.
pub(super) fn mismatch_message(
    spec: &ToolSpec,
    mismatches: &[ArgumentMismatch],
    language: Language,
) -> String {
    let mut text = "it was not called, because its arguments do not fit:".to_owned();
    for mismatch in mismatches.iter().take(MAX_LISTED) {
        text.push_str(&format!("\n  {mismatch}"));
    }
    if mismatches.len() > MAX_LISTED {
        text.push_str(&format!("\n  and {} more", mismatches.len() - MAX_LISTED));
    }
    text.push_str(&format!("\n  {}", signature(spec, language)));
    text
}
