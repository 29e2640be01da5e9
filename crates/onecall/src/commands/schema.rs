//! `onecall schema`: prints the schema of the configuration.

use std::process::ExitCode;

use crate::terminal::print;

/// The format in which the schema is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaFormat {
    JsonSchema,
    Markdown,
}

/// Prints the schema of the configuration.
pub(crate) fn schema(form: SchemaFormat) -> anyhow::Result<ExitCode> {
    match form {
        SchemaFormat::JsonSchema => print(&format!("{:#}\n", onecall_config::json_schema()))?,
        SchemaFormat::Markdown => print(&onecall_config::markdown_reference())?,
    }
    Ok(ExitCode::SUCCESS)
}
