//! `onecall schema`: what a configuration may say.

use std::process::ExitCode;

use crate::terminal::print;

/// How it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    JsonSchema,
    Markdown,
}

/// Prints the schema of the configuration.
pub(crate) fn schema(form: Form) -> anyhow::Result<ExitCode> {
    match form {
        Form::JsonSchema => print(&format!("{:#}\n", onecall_config::json_schema()))?,
        Form::Markdown => print(&onecall_config::reference())?,
    }
    Ok(ExitCode::SUCCESS)
}
