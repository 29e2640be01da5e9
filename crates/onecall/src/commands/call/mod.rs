//! `onecall call`: one tool from the shell.

mod arguments;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use onecall_core::{AnswerForm, ToolValue};
use serde_json::value::RawValue;

use crate::cli::{CallArguments, Global};
use crate::commands::run::read;
use crate::commands::say;
use crate::layout::laid_out;
use crate::setup;
use crate::terminal::print;

/// Calls a tool and prints what it answers.
pub(crate) fn call(given: &CallArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let json = given.json.as_deref().map(json_arguments).transpose()?;
    let answer = setup::ask_gateway(global, async |gateway| {
        let spec = match gateway.inspect(&given.tool).await {
            Ok(spec) => spec,
            Err(not_found) => return Ok(Err(not_found.to_string())),
        };
        let arguments = match json {
            Some(arguments) => arguments,
            None => {
                let typed = arguments::read(&given.arguments, &spec.input_schema)?;
                serde_json::value::to_raw_value(&typed)?
            }
        };
        let answer = gateway.call_tool(&spec.callable, arguments, AnswerForm::Value).await;
        anyhow::Ok(answer.map_err(|error| error.to_string()))
    })??;
    match answer {
        Ok(value) => {
            print(&shown(&value, given.raw))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(said) => {
            say(&said);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The arguments as one JSON object: the text itself, or `-` for standard input.
fn json_arguments(text: &str) -> anyhow::Result<Box<RawValue>> {
    let text = if text == "-" { read(Path::new("-"), "arguments")? } else { text.to_owned() };
    let arguments: Box<RawValue> =
        serde_json::from_str(&text).context("the arguments are not JSON")?;
    ensure!(arguments.get().starts_with('{'), "the arguments must be a JSON object");
    Ok(arguments)
}

fn shown(value: &ToolValue, raw: bool) -> String {
    let text = match value {
        ToolValue::Nothing => return String::new(),
        ToolValue::Json(json) => json.get(),
        ToolValue::Text(text) => text,
    };
    match serde_json::from_str::<String>(text) {
        Ok(text) if !raw => format!("{text}\n"),
        _ if raw => format!("{text}\n"),
        _ => laid_out(text),
    }
}
