//! A local tool that starts a command for each call. Its arguments become the command line or the
//! standard input; its standard output becomes the value.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use onecall_config::{CommandInput, CommandOutput, CommandTool, LocalTool};
use onecall_core::ToolValue;
use onecall_core::text::one_line;
use rustix::fs::{Access, access};
use serde_json::value::RawValue;
use thiserror::Error;
use tracing::info;

use super::answer::json;
use super::arguments::{ArgumentError, Arguments};
use super::argv::{argv, fill};
use super::process::{FinishedCommand, RunError, run};
use crate::error::StartError;
use crate::supervision::guard::Guard;
use crate::supervision::status::SERVER_LOG_TARGET;
use crate::transport::child;

/// The longest part of a command's output that an error quotes, in characters.
const MAX_QUOTED_OUTPUT: usize = 2_000;

/// Why a call of a command failed. The display text is what the program reads.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    #[error(
        "the arguments are too long for a command line; the tool's configuration can pass \
         them with 'stdin'"
    )]
    LongCommandLine,
    #[error(transparent)]
    NotStarted(StartError),
    #[error("it did not end within {}s, so onecall killed it", limit.as_secs_f64())]
    TimedOut { limit: Duration },
    #[error(
        "its output is longer than {limit} bytes, so onecall killed it; ask for less at a time"
    )]
    TooMuchOutput { limit: usize },
    /// The command exited with an error; the text has its exit status and its output.
    #[error("{0}")]
    Unsuccessful(String),
    #[error("its output is not text: byte {at} is not UTF-8")]
    NotText { at: usize },
    #[error("its output is not JSON: {0}")]
    NotJson(serde_json::Error),
    #[error(transparent)]
    NoJson(#[from] serde_json::Error),
}

pub(super) async fn call(
    tool: &LocalTool,
    command: &CommandTool,
    arguments: &RawValue,
    guard: Guard,
) -> Result<ToolValue, CommandError> {
    let arguments = Arguments::read(arguments, &command.input_schema)?;
    let mut process = child::command(&command.program, &command.env, command.cwd.as_deref());
    process.args(argv(&command.arguments, &arguments)?);
    let input = match &command.stdin {
        CommandInput::None => {
            process.stdin(Stdio::null());
            String::new()
        }
        CommandInput::Json => arguments.to_json()?,
        CommandInput::Text(template) => fill(template, &arguments)?.unwrap_or_default(),
    };
    let (limit, max_output) = (command.timeout, command.max_output_bytes);
    let run = run(process, input.into_bytes(), limit, max_output, guard).await;
    let FinishedCommand { status, stdout, stderr } =
        run.map_err(|error| failure(command, error))?;
    if !status.success() {
        return Err(CommandError::Unsuccessful(exit_text(status, &stderr, &stdout)));
    }
    for line in output_end(&stderr).lines() {
        info!(target: SERVER_LOG_TARGET, server = LocalTool::SERVER, tool = %tool.name, "{line}");
    }
    value(command.output, stdout)
}

/// Why the command cannot be started at present, if so.
pub(super) fn problem(command: &CommandTool) -> Option<String> {
    let cwd = command.cwd.as_ref().filter(|cwd| !cwd.is_dir());
    if let Some(path) = cwd {
        return Some(StartError::NoWorkingDirectory { path: path.clone() }.to_string());
    }
    let shown = command.program.display().to_string();
    let candidates = candidates(command);
    if candidates.iter().any(|path| path.is_file() && access(path, Access::EXEC_OK).is_ok()) {
        return None;
    }
    Some(if candidates.iter().any(|path| path.is_file()) {
        StartError::NotExecutable { command: shown }.to_string()
    } else {
        StartError::CommandNotFound { command: shown }.to_string()
    })
}

/// The paths at which the program may be.
fn candidates(command: &CommandTool) -> Vec<PathBuf> {
    if command.program.is_absolute() {
        return vec![command.program.clone()];
    }
    let own = command.env.get("PATH").map(|path| OsString::from(path.reveal()));
    let search = own.or_else(|| env::var_os("PATH")).unwrap_or_default();
    let base = command.cwd.as_deref().unwrap_or(Path::new(""));
    env::split_paths(&search).map(|folder| base.join(folder).join(&command.program)).collect()
}

fn failure(command: &CommandTool, error: RunError) -> CommandError {
    match error {
        RunError::NotStarted(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
            CommandError::LongCommandLine
        }
        RunError::NotStarted(error) => {
            let program = command.program.display().to_string();
            CommandError::NotStarted(child::explain(error, &program, command.cwd.as_deref()))
        }
        RunError::TimedOut => CommandError::TimedOut { limit: command.timeout },
        RunError::TooMuchOutput => CommandError::TooMuchOutput { limit: command.max_output_bytes },
    }
}

/// The exit status of a command together with its output.
fn exit_text(status: ExitStatus, stderr: &[u8], stdout: &[u8]) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => status.to_string(),
    };
    // Many commands print their errors to stdout.
    let output = [stderr, stdout].into_iter().map(output_end).find(|output| !output.is_empty());
    match output {
        Some(output) => format!("{how}: {output}"),
        None => how,
    }
}

/// The end of a command's output, safe to show.
fn output_end(bytes: &[u8]) -> String {
    // A character takes at most four bytes in UTF-8.
    let end = bytes.get(bytes.len().saturating_sub(4 * MAX_QUOTED_OUTPUT)..).unwrap_or_default();
    let text = String::from_utf8_lossy(end);
    let text = text.trim();
    let lines = text.lines().map(|line| one_line(line, usize::MAX));
    let text = lines.collect::<Vec<_>>().join("\n");
    let surplus = text.chars().count().saturating_sub(MAX_QUOTED_OUTPUT);
    match text.char_indices().nth(surplus) {
        Some((start, _)) if surplus > 0 => format!("… {}", text.get(start..).unwrap_or_default()),
        _ => text,
    }
}

fn value(form: CommandOutput, stdout: Vec<u8>) -> Result<ToolValue, CommandError> {
    let text = String::from_utf8(stdout)
        .map_err(|error| CommandError::NotText { at: error.utf8_error().valid_up_to() })?;
    match form {
        CommandOutput::Auto => Ok(ToolValue::Text(text)),
        CommandOutput::Text => Ok(json(&text)?),
        CommandOutput::Json => serde_json::from_str::<&RawValue>(text.trim_ascii())
            .map(|json| ToolValue::Json(json.to_owned()))
            .map_err(CommandError::NotJson),
    }
}
