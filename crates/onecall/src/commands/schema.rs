//! `onecall schema`: prints the schema of the configuration.

use std::process::ExitCode;

use crate::terminal::print;

/// The format in which the schema is printed.
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
