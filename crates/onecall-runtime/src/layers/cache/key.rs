//! What a call asks, as far as the answer depends on it.

use std::sync::Arc;

use onecall_core::{AnswerForm, ServerName, ToolCall, ToolName, ToolSpec};

use super::canonical::canonical;

/// Longer arguments are data and no question; answers to them are not kept.
const MAX_ARGUMENTS: usize = 64 * 1024;

/// Calls with the same key may have the same answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(Arc<Parts>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Parts {
    server: ServerName,
    tool: ToolName,
    arguments: String,
    form: AnswerForm,
}

impl Key {
    /// What `call` asks; nothing if it asks too much to be remembered.
    pub(super) fn of(spec: &ToolSpec, call: &ToolCall) -> Option<Self> {
        let arguments = call.arguments.get();
        if arguments.len() > MAX_ARGUMENTS {
            return None;
        }
        Some(Self(Arc::new(Parts {
            server: spec.server.clone(),
            tool: spec.tool.clone(),
            arguments: canonical(arguments)?,
            form: call.form,
        })))
    }

    pub(super) fn server(&self) -> &ServerName {
        &self.0.server
    }

    /// What it takes to remember it.
    pub(super) fn bytes(&self) -> usize {
        let Parts { server, tool, arguments, .. } = &*self.0;
        server.as_str().len() + tool.as_str().len() + arguments.len()
    }
}
