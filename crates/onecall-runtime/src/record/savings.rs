//! Measures what a model reads and writes with direct tool calls and with onecall.
//!
//! Direct calls are measured as a client would put them into the model's context: the definitions
//! of all tools once, and each call with its arguments and its result. With onecall, these are
//! onecall's own definitions, the program and its answer. Tokens are estimated from the sizes where
//! they are shown.

use std::sync::Arc;

use onecall_core::{TextSizes, ToolSpec};

use super::recording::FinishedRun;
use crate::call_log::{LoggedCall, LoggedCalls};

/// The JSON around the name, the description and the schema of a definition, in bytes.
const AROUND_DEFINITION: usize = r#"{"name":"","description":"","input_schema":}"#.len();

/// Measures a run that could have called these tools directly. `own_definitions` is the size of
/// onecall's own tool definitions in bytes.
pub(super) fn text_sizes(
    run: &FinishedRun,
    tools: &[Arc<ToolSpec>],
    own_definitions: usize,
) -> TextSizes {
    let log = &run.log;
    let definitions: usize = tools.iter().map(|spec| definition_bytes(spec)).sum();
    let calls: usize = log.calls.iter().map(|call| call_bytes(log, call)).sum();
    // Calls beyond the limit of the log are counted with the mean size of the others.
    let mean = calls / log.calls.len().max(1);
    let more = usize::try_from(log.unlogged_calls).unwrap_or(usize::MAX).saturating_mul(mean);
    let to_u64 = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    TextSizes {
        direct: to_u64(definitions.saturating_add(calls).saturating_add(more)),
        onecall: to_u64(own_definitions + run.header.code.len() + log.answer_bytes),
    }
}

/// The size of a tool's definition in bytes, as clients show it to their models.
fn definition_bytes(spec: &ToolSpec) -> usize {
    let description = spec.description.as_ref().map_or(0, |text| text.len());
    let name = spec.callable.as_str().len();
    AROUND_DEFINITION + name + description + spec.input_schema.text().len()
}

/// The size of a call and its answer in bytes.
fn call_bytes(log: &LoggedCalls, call: &LoggedCall) -> usize {
    let answered = match call.end.as_ref().map(|end| &end.result) {
        Some(Ok((_, location)) | Err(location)) => log.text(*location).bytes,
        None => 0,
    };
    call.name.as_str().len() + log.text(call.arguments).bytes + answered
}
