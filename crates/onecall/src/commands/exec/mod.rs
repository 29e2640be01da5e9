//! `onecall exec`: runs programs for a host that executes their tool calls itself. Both sides
//! exchange lines of JSON on standard input and output.

mod calls;
mod host;
pub(super) mod lines;
mod message;
pub(super) mod outbox;
mod runs;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use onecall_config::{Config, DEFAULT_WORKSPACE_BYTES, LoadedConfig};
use onecall_core::lines::Line;
use onecall_core::storage::AuditTrail;
use onecall_core::{
    BoxFuture, CallHandler, CallResult, CallableName, Resolution, ResolutionFuture, ResolvedCall,
    ToolError, ToolResolver, Workspace, WorkspaceAccess,
};
use onecall_engine::Engines;
use onecall_gateway::{audit_writer, record_settings};
use onecall_runtime::{Recorder, Runtime, Transcript};
use rmcp::transport::io::stdio_pipes;
use tokio::io::AsyncRead;
use tokio::signal::unix::{SignalKind, signal};

use self::calls::Calls;
use self::host::ExecHost;
use self::lines::LineReader;
use self::message::{
    CallStatus, Execute, HostAnswer, InvalidMessage, MessageFromHost, MessageToHost, PROTOCOL,
};
use self::outbox::Outbox;
use self::runs::{AdmittedProgram, Runs};
use crate::cli::{ExecArguments, Global};
use crate::{protection, setup};

/// The longest line in bytes: what a worker accepts, and the fields around it.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// How long to wait until the host has read the last messages.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves the host until it closes stdin or exits, or a signal arrives.
pub(crate) fn exec(arguments: &ExecArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let LoadedConfig { mut config, source, .. } = setup::read(global)?;
    if let Some(folder) = &arguments.workspace {
        let path = std::path::absolute(folder)
            .with_context(|| format!("the workspace '{}' cannot be used", folder.display()))?;
        let max_bytes = match config.workspace.map(|workspace| workspace.access) {
            Some(WorkspaceAccess::ReadWrite { max_bytes }) => max_bytes,
            _ => DEFAULT_WORKSPACE_BYTES,
        };
        let access = WorkspaceAccess::ReadWrite { max_bytes };
        config.workspace = Some(Workspace { path, access });
    }
    protection::check(&config, source.as_deref())?;
    let runtime = setup::tokio_runtime()?;
    let served = runtime.block_on(serve(&config, source.as_deref()));
    // A thread that still reads stdin would delay the end of the process.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(config: &Config, source: Option<&Path>) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let setup::Stores { complete, writer: store } = setup::stores(config);
    let audit = complete.map(|store| -> Arc<dyn AuditTrail> { store });
    let recorder = Recorder::start(record_settings(config), store.clone());
    let audit = audit_writer(config, audit);
    let engines = Arc::new(setup::engines(config, source, None)?);
    let warming = tokio::spawn(warm_up(Arc::clone(&engines)));
    let runtime = Runtime::new(engines, Arc::new(NoTools), config.execution.clone())
        .with_session_limits(config.sessions)
        .with_recorder(recorder.clone())
        .with_audit(audit.clone());
    let (outbox, waiting) = Outbox::new();
    let version = env!("CARGO_PKG_VERSION");
    outbox.send_now(&MessageToHost::Ready { version, protocol: PROTOCOL });
    let (stdin, stdout) = stdio_pipes();
    let mut writing = tokio::spawn(waiting.write_to(stdout));
    let connection = Arc::new(HostConnection {
        runtime,
        outbox,
        calls: Calls::default(),
        runs: Runs::default(),
    });
    tokio::select! {
        () = connection.listen(stdin) => {}
        // The host does not read any more, so it is gone.
        _ = &mut writing => return Ok(()),
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    connection.runs.close();
    warming.abort();
    // When the last program has ended, no sender is left and the writer ends.
    drop(connection);
    _ = tokio::time::timeout(FLUSH_TIMEOUT, writing).await;
    audit.inspect(|audit| _ = audit.close(FLUSH_TIMEOUT));
    recorder.inspect(|recorder| recorder.close(FLUSH_TIMEOUT));
    store.inspect(|store| _ = store.close(FLUSH_TIMEOUT));
    Ok(())
}

/// Starts the engine, so that the first program does not have to wait for it. If that fails, each
/// program gets the same error.
async fn warm_up(engines: Arc<Engines>) {
    if let Err(error) = engines.warm_up().await {
        tracing::error!("no program can run: {error}");
    }
}

/// What all programs and messages of one host share.
struct HostConnection {
    runtime: Runtime,
    outbox: Outbox,
    calls: Calls,
    runs: Runs,
}

impl HostConnection {
    /// Handles the messages of the host until its input ends.
    async fn listen(self: &Arc<Self>, source: impl AsyncRead + Unpin) {
        let mut lines = LineReader::new(source, MAX_LINE);
        // An error on a pipe has the same meaning as its end.
        while let Ok(Some(line)) = lines.next().await {
            let handled = match line {
                Line::Whole(line) if line.trim_ascii().is_empty() => Ok(()),
                Line::Whole(line) => self.handle_line(line),
                Line::TooLong(edges) => self.reject_long_line(&edges.head),
            };
            if let Err(InvalidMessage { id, message }) = handled {
                let error = MessageToHost::Error { id: id.as_deref(), message: &message };
                self.outbox.send(self.outbox.reserve_error(&error).await);
            }
        }
    }

    fn handle_line(self: &Arc<Self>, line: &[u8]) -> Result<(), InvalidMessage> {
        match message::read(line)? {
            MessageFromHost::Execute(execute) => {
                let id = execute.id.clone();
                let about = |message| InvalidMessage { id: Some(id.clone()), message };
                let admitted = self.runs.admit(&id, line.len()).map_err(about)?;
                tokio::spawn(Arc::clone(self).run(*execute, admitted));
                Ok(())
            }
            MessageFromHost::ToolResult { tool_call_id, answer } => self
                .calls
                .answer(&tool_call_id, answer)
                .map_err(|message| InvalidMessage { id: None, message }),
            MessageFromHost::Cancel { id } => {
                self.runs.cancel(&id).map_err(|message| InvalidMessage { id: Some(id), message })
            }
        }
    }

    /// A line that is too long fails the call that it answers.
    fn reject_long_line(&self, head: &[u8]) -> Result<(), InvalidMessage> {
        let message = format!("a line of more than {} MiB", MAX_LINE >> 20);
        if let Some(id) = message::answered_call(head)
            && let Ok(observation) = serde_json::value::to_raw_value(&message)
        {
            let answer = HostAnswer { observation, is_text: false, end: CallStatus::Failed };
            _ = self.calls.answer(&id, answer);
        }
        Err(InvalidMessage { id: None, message })
    }

    async fn run(self: Arc<Self>, execute: Execute, admitted: AdmittedProgram) {
        let Execute { id, program, tools, filename, .. } = execute;
        let saved = match &filename {
            Some(name) => self.runtime.save(&program, name).await,
            None => Ok(None),
        };
        let file = match saved {
            Ok(path) => path.map(|path| path.display().to_string()),
            Err(error) => {
                let message = error.to_string();
                let error = MessageToHost::Error { id: Some(&id), message: &message };
                let reserved = self.outbox.reserve_error(&error).await;
                self.runs.remove(&id);
                return self.outbox.send(reserved);
            }
        };
        let AdmittedProgram { number, cancel_signal } = admitted;
        let prefix = format!("call_{number}");
        let (calls, outbox) = (self.calls.clone(), self.outbox.clone());
        let host = Arc::new(ExecHost::new(&id, prefix.clone(), tools, calls, outbox));
        let outcome =
            self.runtime.run_with_own_tools(&*host, &*host, &program, &cancel_signal).await;
        let transcript = Transcript::with_call_ids(&outcome, file.as_deref(), &prefix);
        let reserved =
            self.outbox.reserve(&MessageToHost::Outcome { id: &id, transcript: &transcript }).await;
        // A host that has read the outcome may use the id again.
        self.runs.remove(&id);
        self.outbox.send(reserved);
    }
}

/// A host without tools.
pub(super) struct NoTools;

impl ToolResolver for NoTools {
    fn resolve<'a>(&'a self, _name: &'a CallableName) -> ResolutionFuture<'a> {
        ResolutionFuture::ready(Resolution::unknown(Vec::new()))
    }

    fn revision(&self) -> u64 {
        0
    }
}

impl CallHandler for NoTools {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(std::future::ready(Err(ToolError::NotAvailable { name: call.name })))
    }
}
