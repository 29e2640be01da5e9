//! The key of a cached answer: everything in a call that the answer depends on.

use onecall_core::{AnswerForm, DigestBuilder, ResolvedCall, ServerName, ToolName, ToolSpec};
use serde_json::json;

use super::canonical::canonical;

/// Bytes of arguments; answers to calls with longer ones are not cached.
const MAX_ARGUMENTS: usize = 64 * 1024;

/// The key of an answer. Calls with equal keys may share an answer.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    /// The identity of the server and of the account that it is used with.
    identity: [u8; 32],
    server: ServerName,
    tool: ToolName,
    arguments: String,
    form: AnswerForm,
}

impl CacheKey {
    /// The key of a call; `None` if its arguments are too long or nested too deeply.
    pub(super) fn of(identity: [u8; 32], spec: &ToolSpec, call: &ResolvedCall) -> Option<Self> {
        let arguments = call.arguments.get();
        if arguments.len() > MAX_ARGUMENTS {
            return None;
        }
        Some(Self {
            identity,
            server: spec.server.clone(),
            tool: spec.tool.clone(),
            arguments: canonical(arguments)?,
            form: call.form,
        })
    }

    /// The key as a hash, combined with the present definition of the tool.
    pub(super) fn hash(&self, spec: &ToolSpec) -> [u8; 32] {
        let Self { identity, server, tool, arguments, form } = self;
        let definition = json!([
            spec.description.as_deref(),
            spec.input_schema,
            spec.output_schema,
            spec.annotations
        ]);
        let form = match form {
            // The number changes whenever the conversion of values does, so that older answers are
            // not used.
            AnswerForm::Value => "value 2",
            AnswerForm::Whole => "whole",
            AnswerForm::Untouched => "untouched",
        };
        let texts = [server.as_str(), tool.as_str(), arguments, form, &definition.to_string()];
        let mut hasher = DigestBuilder::default();
        hasher.add(identity);
        texts.iter().for_each(|text| hasher.add_part(text));
        hasher.finish().into_bytes()
    }

    pub(super) fn server(&self) -> &ServerName {
        &self.server
    }

    /// The bytes that the key takes.
    pub(super) fn bytes(&self) -> usize {
        self.server.as_str().len() + self.tool.as_str().len() + self.arguments.len()
    }
}
