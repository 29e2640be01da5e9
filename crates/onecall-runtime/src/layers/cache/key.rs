//! What a call asks, as far as the answer depends on it.

use onecall_core::{AnswerForm, Hasher, ResolvedCall, ServerName, ToolName, ToolSpec};
use serde_json::json;

use super::canonical::canonical;

/// Longer arguments are data and no question; answers to them are not kept.
const MAX_ARGUMENTS: usize = 64 * 1024;

/// Calls with the same key may have the same answer.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Who answers, and to whom.
    identity: [u8; 32],
    server: ServerName,
    tool: ToolName,
    arguments: String,
    form: AnswerForm,
}

impl Key {
    /// What `call` asks; nothing if it asks too much to be remembered.
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

    /// The key as a hash, together with the definition that the tool has at present.
    pub(super) fn hash(&self, spec: &ToolSpec) -> [u8; 32] {
        let Self { identity, server, tool, arguments, form } = self;
        let definition =
            json!([spec.description, spec.input_schema, spec.output_schema, spec.annotations]);
        let form = match form {
            // Numbered, so that what is kept was made by the present rule for values.
            AnswerForm::Value => "value 2",
            AnswerForm::Whole => "whole",
            AnswerForm::Untouched => "untouched",
        };
        let texts = [server.as_str(), tool.as_str(), arguments, form, &definition.to_string()];
        let mut hasher = Hasher::default();
        hasher.add(identity);
        texts.iter().for_each(|text| hasher.add_part(text));
        hasher.finish().into_bytes()
    }

    pub(super) fn server(&self) -> &ServerName {
        &self.server
    }

    /// What it takes to remember it.
    pub(super) fn bytes(&self) -> usize {
        self.server.as_str().len() + self.tool.as_str().len() + self.arguments.len()
    }
}
