//! `onecall call`: calls one tool from the shell.

pub(super) mod arguments;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use onecall_core::storage::COMMAND_LINE_CLIENT;
use onecall_core::{ToolValue, json_of_text};
use serde_json::value::RawValue;

use crate::cli::{CallArguments, Global};
use crate::commands::run::read;
use crate::commands::{note, say};
use crate::pretty_json::pretty_json;
use crate::setup;
use crate::terminal::print;
use crate::terminal_questions::while_asking;

/// Calls a tool and prints its answer.
pub(crate) fn call(given: &CallArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let json = given.args.as_deref().map(json_arguments).transpose()?;
    let answer = setup::ask_gateway(global, async |gateway| {
        let spec = match gateway.inspect(&given.tool).await {
            Ok(spec) => spec,
            Err(missing) => return Ok(Err(format!("error: {}", missing.explanation()))),
        };
        let arguments = match json {
            Some(arguments) => arguments,
            None => {
                let typed = arguments::read(&given.arguments, &spec.input_schema.value())?;
                serde_json::value::to_raw_value(&typed)?
            }
        };
        let call = gateway.call_tool(&spec.callable, arguments, COMMAND_LINE_CLIENT);
        let answer = while_asking(gateway, global, call).await;
        anyhow::Ok(answer.map_err(|error| error.to_string()))
    })??;
    match answer {
        Ok(value) => {
            print(&match given.json {
                true => as_json(&value)?,
                false => answer_text(&value, given.raw),
            })?;
            if let ToolValue::WithContent { .. } = value {
                note("The answer has more than text: in a program, read .content to get all of it");
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(message) => {
            say(&message);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The arguments as one JSON object: the text itself, `@` and a file, or `-` for standard input.
pub(super) fn json_arguments(text: &str) -> anyhow::Result<Box<RawValue>> {
    let text = match text.strip_prefix('@') {
        Some(file) => read(Path::new(file), "arguments")?,
        None if text == "-" => read(Path::new("-"), "arguments")?,
        None => text.to_owned(),
    };
    let arguments: Box<RawValue> =
        serde_json::from_str(&text).context("the arguments are not JSON")?;
    ensure!(arguments.get().starts_with('{'), "the arguments must be a JSON object");
    Ok(arguments)
}

/// An answer as JSON: a text that is not JSON becomes a string, an empty answer becomes null.
fn as_json(value: &ToolValue) -> anyhow::Result<String> {
    let json = match value {
        ToolValue::WithContent { value, .. } => return as_json(value),
        ToolValue::Nothing => RawValue::NULL.to_owned(),
        ToolValue::Json(json) => json.clone(),
        ToolValue::Text(text) => match json_of_text(text) {
            Some(json) => json.into_owned(),
            None => serde_json::value::to_raw_value(text)?,
        },
    };
    Ok(pretty_json(json.get()))
}

fn answer_text(value: &ToolValue, raw: bool) -> String {
    let json;
    let text = match value {
        ToolValue::WithContent { value, .. } => return answer_text(value, raw),
        ToolValue::Nothing => return String::new(),
        ToolValue::Json(json) => json.get(),
        ToolValue::Text(text) if raw => text,
        ToolValue::Text(text) => {
            json = json_of_text(text);
            json.as_deref().map_or(text.as_str(), RawValue::get)
        }
    };
    match serde_json::from_str::<String>(text) {
        Ok(text) if !raw => format!("{text}\n"),
        _ if raw => format!("{text}\n"),
        _ => pretty_json(text),
    }
}
