//! The words for problems that the check finds in programs of every language.

use onecall_core::{CallableName, ToolSpec};

/// A tool that programs may not call.
pub(super) fn blocked(name: &str) -> String {
    format!("'{name}' is not available in execute_program")
}

/// A name after `tools.` that no tool has.
pub(super) fn no_tool(name: &str, nearest: &[CallableName]) -> String {
    format!("there is no tool '{name}'{}", did_you_mean(nearest))
}

/// A call with these problems in its arguments.
pub(super) fn arguments(spec: &ToolSpec, problems: &[String]) -> String {
    format!("{}(): {}", spec.callable, problems.join("; "))
}

/// A result that is used before it has arrived.
pub(super) fn unawaited_result(tool: &str) -> String {
    format!("the result of {tool}() is used and was never awaited; write (await {tool}(...))")
}

/// A question that names similar tools; empty if there are none.
pub(super) fn did_you_mean(nearest: &[CallableName]) -> String {
    let nearest: Vec<String> = nearest.iter().map(|near| format!("'{near}'")).collect();
    match nearest.is_empty() {
        true => String::new(),
        false => format!(". Did you mean: {}?", nearest.join(" or ")),
    }
}
