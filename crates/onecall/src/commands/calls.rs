//! `onecall calls`: executes single tool calls for generated code, with lines of JSON on standard
//! input and output.
//!
//! `{"id":1,"tool":"mcp__time__now","arguments":{}}` is answered with `{"id":1,"value":…}` or
//! `{"id":1,"error":"…"}`, in the order in which tools answer. Values are the same as for a
//! program; if an answer has images, audio or resources as well, `content` contains all blocks.
//! `{"id":2,"clear":"list_orders"}` removes the cached answers of tools whose names contain that
//! text, before later lines are read. The end of the input ends the process.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use onecall_core::lines::Line;
use onecall_core::{CallableName, ToolError, ToolValue, json_of_text};
use onecall_gateway::Gateway;
use rmcp::transport::io::stdio_pipes;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use tokio::io::AsyncRead;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use super::exec::lines::LineReader;
use super::exec::outbox::Outbox;
use crate::cli::Global;
use crate::setup;

/// The name of the client in the records of these calls.
const CLIENT: &str = "generated code";

/// The longest line in bytes.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// How many calls are read ahead of those that run.
const MAX_WAITING: usize = 10_000;

/// How long to wait until the last answers are read.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Levels of nesting that every JSON library can read.
const MAX_NESTING: usize = 900;

#[derive(Deserialize)]
#[serde(try_from = "RequestFields")]
enum CallRequest {
    /// Execute a tool.
    Call { id: u64, tool: String, arguments: Box<RawValue> },
    /// Remove the cached answers of tools whose names contain this text.
    Clear { id: u64, text: String },
}

#[derive(Deserialize)]
struct RequestFields {
    id: u64,
    tool: Option<String>,
    arguments: Option<Box<RawValue>>,
    clear: Option<String>,
}

impl TryFrom<RequestFields> for CallRequest {
    type Error = &'static str;

    fn try_from(fields: RequestFields) -> Result<Self, Self::Error> {
        let RequestFields { id, tool, arguments, clear } = fields;
        match (tool, arguments, clear) {
            (Some(tool), Some(arguments), None) => Ok(Self::Call { id, tool, arguments }),
            (None, None, Some(text)) => Ok(Self::Clear { id, text }),
            _ => Err("it has neither 'tool' and 'arguments' nor 'clear'"),
        }
    }
}

#[derive(Serialize)]
struct CallResponse<'a> {
    /// The first field, so that it is found even if the rest cannot be parsed.
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Serves until the input ends or a signal arrives.
pub(crate) fn calls(global: &Global) -> anyhow::Result<ExitCode> {
    let loaded = setup::load(global)?;
    let runtime = setup::tokio_runtime()?;
    let served = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
        let gateway = setup::gateway(loaded)?;
        let (outbox, waiting) = Outbox::new();
        let (stdin, stdout) = stdio_pipes();
        let mut writing = tokio::spawn(waiting.write_to(stdout));
        tokio::select! {
            () = listen(stdin, &gateway, &outbox) => {}
            _ = &mut writing => {}
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        drop(outbox);
        gateway.shutdown().await;
        if !writing.is_finished() {
            _ = tokio::time::timeout(FLUSH_TIMEOUT, writing).await;
        }
        anyhow::Ok(())
    });
    // A thread that still reads stdin would delay the end of the process.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// Executes requests until the input ends.
async fn listen(source: impl AsyncRead + Unpin, gateway: &Arc<Gateway>, outbox: &Outbox) {
    let parallel = Arc::new(Semaphore::new(gateway.limits().max_parallel_calls));
    let waiting = Arc::new(Semaphore::new(MAX_WAITING));
    let mut lines = LineReader::new(source, MAX_LINE);
    // Calls that still run when the input ends are cancelled.
    let mut running = tokio::task::JoinSet::new();
    while let Ok(Some(line)) = lines.next().await {
        while running.try_join_next().is_some() {}
        let request = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => match serde_json::from_slice(line) {
                Ok(request) => request,
                Err(error) => {
                    tracing::error!("received a line that is not a call: {error}");
                    break;
                }
            },
            Line::TooLong(_) => {
                tracing::error!("received a call of more than {} MiB", MAX_LINE >> 20);
                break;
            }
        };
        let (id, tool, arguments) = match request {
            CallRequest::Call { id, tool, arguments } => (id, tool, arguments),
            CallRequest::Clear { id, text } => {
                let forgotten = to_raw_value(&gateway.clear_cache(&text).await).unwrap_or_default();
                let answer =
                    CallResponse { id, value: Some(&forgotten), content: None, error: None };
                outbox.send(outbox.reserve(&answer).await);
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&waiting).acquire_owned().await else { break };
        let (gateway, outbox) = (Arc::clone(gateway), outbox.clone());
        let parallel = Arc::clone(&parallel);
        running.spawn(async move {
            let _turn = parallel.acquire().await;
            let answered = call(&tool, arguments, &gateway).await;
            let answer = match &answered {
                Ok((value, content)) => CallResponse {
                    id,
                    value: Some(value),
                    content: content.as_deref(),
                    error: None,
                },
                Err(error) => {
                    CallResponse { id, value: None, content: None, error: Some(&error.to_string()) }
                }
            };
            outbox.send(outbox.reserve(&answer).await);
            drop(permit);
        });
    }
}

/// The value of a call, and all of its content if there is more than the value.
async fn call(
    tool: &str,
    arguments: Box<RawValue>,
    gateway: &Gateway,
) -> Result<(Box<RawValue>, Option<Box<RawValue>>), ToolError> {
    let name = gateway.callable_name(tool).await?;
    match gateway.call_tool(&name, arguments, CLIENT).await? {
        ToolValue::WithContent { value, content } => Ok((plain(*value, &name)?, Some(content))),
        value => Ok((plain(value, &name)?, None)),
    }
}

/// The value that a program would get, as JSON.
fn plain(value: ToolValue, name: &CallableName) -> Result<Box<RawValue>, ToolError> {
    let failed = |message: String| ToolError::failed(name, message);
    let json = match value {
        ToolValue::WithContent { value, .. } => return plain(*value, name),
        ToolValue::Nothing => to_raw_value(&()),
        ToolValue::Json(json) if nesting(json.get()) <= MAX_NESTING => Ok(json),
        ToolValue::Json(_) => {
            return Err(failed(format!("its answer is nested deeper than {MAX_NESTING} levels")));
        }
        ToolValue::Text(text) if nesting(&text) <= MAX_NESTING => {
            json_of_text(&text).map_or_else(|| to_raw_value(&text), |json| Ok(json.into_owned()))
        }
        ToolValue::Text(text) => to_raw_value(&text),
    };
    json.map_err(|error| failed(error.to_string()))
}

/// The depth of nested lists and objects.
fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string) = (0_usize, 0, false);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_string => _ = bytes.next(),
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
