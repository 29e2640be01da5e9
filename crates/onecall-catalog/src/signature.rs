//! The call of a tool in the language of a program.

use onecall_core::{Language, ToolSpec};

use crate::{python_signature, typescript_signature};

/// The call of a tool as one line of `language`, without remarks about its result.
#[must_use]
pub fn signature(spec: &ToolSpec, language: Language) -> String {
    match language {
        Language::Python => python_signature(spec),
        Language::TypeScript => typescript_signature(spec),
    }
}
