//! One worker process, from its fork to the end of its program.
//!
//! The worker runs untrusted code, so nothing that it sends is trusted: with an invalid frame it
//! can end itself, and nothing else.

use std::collections::BTreeSet;
use std::ops::ControlFlow::{Break, Continue};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_core::text::visible;
use onecall_core::{
    BoxFuture, CallSite, CallableName, DeniedResource, ErrorSummary, Failure, OutcomeDetail,
    Program, ProgramHost, Resolution, RunLimits, SPAN_TARGET, ToolError, ToolValue,
};
use onecall_jail::{ProgramLimits, Property};
use serde_json::json;
use thiserror::Error;
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tracing::{Instrument, info_span};

use crate::admission::AdmissionPermit;
use crate::calls::PendingCalls;
use crate::connection::Connection;
use crate::control::{HeldCalls, Journalled, PausableTime, RunControl};
use crate::files::packets::MalformedPacket;
use crate::files::protected_snapshot::ProtectedFilesSnapshot;
use crate::pool::WorkerPool;
use crate::protocol::{
    AnswerPayload, Condition, ExceptionSummary, FromWorker, ProtocolError, RunOptions, ToWorker,
    ValueReport,
};
use crate::sandbox_report::{EscapeAttempt, SandboxReport};
use crate::scratch::{self, ScratchFolder, ScratchSlot};
use crate::workspace::Quota;
use crate::zygote::{WorkerExit, Zygote, signal_name};

/// After each step of a program that runs alone, the gateway polls for this long: waking up an idle
/// processor takes longer than the answer of a fast server.
const SPIN: Duration = Duration::from_micros(100);

/// How often a program is started at most, if its zygote dies before the program has sent anything.
const MAX_ATTEMPTS: u32 = 3;

/// The processor time of all programs of one session.
const SESSION_CPU: Duration = Duration::from_secs(60 * 60);

/// Bytes of an exception's class and message that are kept.
const MAX_SUMMARY_BYTES: usize = 64 * 1024;

/// How long to wait for the zygote's report on how a worker, or the zygote itself, died. Only a
/// worker that closes its socket and continues to run can cause such a wait.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes that are kept of a worker's text about how its program diverges.
const MAX_DIFFERENCE_BYTES: usize = 4 * 1024;

/// Bytes that the number of a nested task may take.
const LONGEST_TASK: usize = 1024;

const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;
const SIGSYS: i32 = 31;

/// Receives the output of a program as it arrives.
pub trait ProgramOutput: Send {
    /// The program printed this.
    fn stdout(&mut self, bytes: &[u8]);
    /// The program wrote this to stderr.
    fn stderr(&mut self, bytes: &[u8]);
    /// The program displays an MCP content block. The JSON comes from a worker and is not trusted.
    fn show(&mut self, block: &str);
    /// The program is queued until other programs end; `before` others are ahead of it.
    fn queued(&mut self, before: usize);
    /// Waits until there is room for the program's output. The program has been admitted, and does
    /// not begin before.
    fn wait_for_room(&mut self) -> BoxFuture<'_, ()>;
    /// A remark of the gateway for the author of the program, one line.
    fn remark(&mut self, line: String);
}

/// An admitted program, and everything for its run.
#[derive(Clone, Copy)]
pub(crate) struct ProgramRun<'a> {
    pub(crate) program: &'a Program,
    pub(crate) limits: &'a RunLimits,
    pub(crate) host: &'a dyn ProgramHost,
    /// The permit to run, which the admission control has issued.
    pub(crate) permit: &'a AdmissionPermit,
    pub(crate) control: RunControl<'a>,
}

/// The result of a program that did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// The program ran to its end.
    Finished {
        /// The value of its last expression as JSON, if it was requested and is plain data.
        value: Option<String>,
    },
    /// The program was not run because these modules are missing, one per line.
    MissingModules(String),
}

impl ProgramEnd {
    /// The value of the last expression, if there is one.
    pub(crate) fn value(self) -> Option<String> {
        match self {
            Self::Finished { value } => value,
            Self::MissingModules(_) => None,
        }
    }
}

impl WorkerPool {
    /// Runs one program to its end, if its `condition` is met, in the worker that was kept for it
    /// or in a new one. A worker is kept if the program belongs to a session and the process
    /// survives. Dropping the future kills the worker.
    pub(crate) async fn run_in(
        self: &Arc<Self>,
        kept: &mut Option<Worker>,
        run: ProgramRun<'_>,
        condition: Condition<'_>,
        output: &mut dyn ProgramOutput,
    ) -> Result<ProgramEnd, Failure> {
        let mut attempts = 1;
        let has_variables = kept.is_some();
        loop {
            let mut worker = match kept.take() {
                Some(worker) => worker,
                None => {
                    let start = info_span!(target: SPAN_TARGET, "start worker");
                    self.take_worker().instrument(start).await.map_err(|error| error.failure())?
                }
            };
            let before = self.protected_snapshot().await;
            let result = self.run_on(&mut worker, run, condition, output).await;
            if let (Some(before), Some(after)) = (before, self.protected_snapshot().await)
                && let Some(line) = before.compare(&after)
            {
                output.remark(line);
            }
            self.replenish();
            let lost = matches!(result, Err(Failure::WorkerDied { .. }))
                && worker.was_lost_before_first_frame();
            // A program that can write files may have done so without any frame to the gateway.
            let repeatable = !has_variables && self.quota.is_none();
            if lost && repeatable && attempts < MAX_ATTEMPTS {
                attempts += 1;
                continue;
            }
            let survived = match &result {
                Ok(ProgramEnd::Finished { .. }) => true,
                // To report this, the worker has dropped its variables in order to free memory.
                Err(Failure::Raised { error, .. }) => error.kind != "MemoryError",
                _ => false,
            };
            if survived && run.program.session.is_some() {
                *kept = Some(worker);
            }
            return result;
        }
    }

    /// The protected files of a workspace to which programs write without asking the gateway.
    async fn protected_snapshot(&self) -> Option<ProtectedFilesSnapshot> {
        let quota = self.quota.as_ref().filter(|_| self.files.is_none())?;
        let folder = quota.path().to_owned();
        tokio::task::spawn_blocking(move || ProtectedFilesSnapshot::take(&folder)).await.ok()
    }

    async fn run_on(
        &self,
        worker: &mut Worker,
        run: ProgramRun<'_>,
        condition: Condition<'_>,
        output: &mut dyn ProgramOutput,
    ) -> Result<ProgramEnd, Failure> {
        let ProgramRun { program, limits, .. } = run;
        let granted = self.grant_scratch(worker, run);
        let options = RunOptions {
            keep_worker: program.session.is_some(),
            value_report: match program.detail {
                OutcomeDetail::Whole => ValueReport::Whole,
                OutcomeDetail::Brief if run.control.names_value_type => ValueReport::Type,
                OutcomeDetail::Brief => ValueReport::None,
            },
        };
        let file_bytes = match &self.quota {
            Some(quota) => quota.left().await,
            // The limit of a process cannot be raised later, and a later program of the session may
            // have a scratch folder.
            None if options.keep_worker => ScratchFolder::of(limits.memory_bytes).bytes,
            None => granted.bytes(),
        };
        // The processor time limit of a process cannot be reset, so a session gets all of it at
        // once.
        let seconds = if options.keep_worker { SESSION_CPU } else { limits.timeout };
        let limited = ProgramLimits {
            memory_bytes: limits.memory_bytes.saturating_sub(granted.bytes()),
            cpu_seconds: seconds.as_secs().saturating_add(1),
            file_bytes,
        };
        let (condition, code) = (condition.text(), program.code.as_str());
        let scratch_bytes = granted.bytes();
        let argv = program.argv.join("\0");
        let start = ToWorker::Program {
            limits: limited,
            scratch_bytes,
            options,
            condition,
            argv: &argv,
            fast_names: if options.keep_worker { "" } else { run.control.fast_names },
            journal: run.control.journal.as_ref().map(Journalled::start),
            code,
        };
        let mut result = tokio::select! {
            result = worker.run(&start, run, output) => result,
            full = exceeded(self.quota.as_ref()) => {
                // The program has not noticed, and must not go on to write after its end was reported.
                worker.kill().await;
                Err(full)
            }
        };
        if let Err(failure) = &mut result
            && let Some(reason) = granted.refused().or_else(|| worker.slot.failure())
            && let Some(line) = scratch::explain(failure, reason)
        {
            output.remark(line);
        }
        result
    }
}

/// Why a worker cannot take a program, or cannot test its sandbox.
#[derive(Debug, Error)]
pub(crate) enum StartError {
    /// The process has ended.
    #[error("{reason}")]
    Died {
        /// How the process ended.
        reason: String,
    },
    /// The worker's own code has failed.
    #[error("{traceback}")]
    Raised {
        /// The traceback of the failure.
        traceback: String,
    },
    /// The worker has sent an invalid frame.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The worker's report about its sandbox cannot be parsed.
    #[error(transparent)]
    Report(#[from] serde_json::Error),
}

impl StartError {
    fn raised(traceback: &str) -> Self {
        Self::Raised { traceback: traceback.to_owned() }
    }
}

/// A worker process. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    id: u64,
    connection: Connection,
    /// Answers its file requests, until it violates the protocol.
    files: Option<JoinHandle<Result<(), MalformedPacket>>>,
    /// The scratch folder of its programs.
    slot: Arc<ScratchSlot>,
    exit: oneshot::Receiver<WorkerExit>,
    zygote: Arc<Zygote>,
    /// Whether its program has sent anything yet.
    has_sent_frame: bool,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.zygote.kill(self.id);
        if let Some(files) = &self.files {
            files.abort();
        }
    }
}

impl Worker {
    pub(crate) fn new(
        id: u64,
        stream: UnixStream,
        files: Option<JoinHandle<Result<(), MalformedPacket>>>,
        slot: Arc<ScratchSlot>,
        exit: oneshot::Receiver<WorkerExit>,
        zygote: Arc<Zygote>,
    ) -> Self {
        let connection = Connection::new(stream);
        Self { id, connection, files, slot, exit, zygote, has_sent_frame: false }
    }

    /// The scratch folder of its programs.
    pub(crate) fn slot(&self) -> &ScratchSlot {
        &self.slot
    }

    /// Why a wall of this worker's sandbox is missing; `None` if it was built.
    pub(crate) fn missing_wall(&self, name: &str) -> Option<String> {
        self.zygote.sandbox_report.get()?.missing(name).map(str::to_owned)
    }

    /// Waits until the worker has completed its sandbox. If it is still warming up, it is asked to
    /// stop that.
    pub(crate) async fn ready(&mut self) -> Result<(), StartError> {
        let at_once = tokio::select! {
            biased;
            ready = self.ready_frame() => Some(ready),
            () = std::future::ready(()) => None,
        };
        match at_once {
            Some(ready) => ready?,
            None => {
                self.connection.send(&ToWorker::SkipWarmUp)?;
                self.ready_frame().await?;
            }
        }
        // The worker may have been idle for a while, and killed in the meantime.
        if self.connection.is_closed() { Err(self.died().await) } else { Ok(()) }
    }

    async fn ready_frame(&mut self) -> Result<(), StartError> {
        self.wait_for_frame(|frame| match frame {
            FromWorker::Ready => Some(Ok(())),
            FromWorker::Raised { traceback, .. } => Some(Err(StartError::raised(traceback))),
            _ => None,
        })
        .await?
    }

    /// Makes the worker test its sandbox. If the sandbox works, the last test kills the worker.
    pub(crate) async fn test_sandbox(&mut self) -> Result<SandboxReport, StartError> {
        self.connection.send(&ToWorker::TestSandbox)?;
        let report = self.wait_for_frame(|frame| match frame {
            FromWorker::SandboxTested { report } => {
                Some(serde_json::from_str(report).map_err(StartError::from))
            }
            FromWorker::Raised { traceback, .. } => Some(Err(StartError::raised(traceback))),
            _ => None,
        });
        let mut sandbox_report: SandboxReport = report.await??;
        let killed = tokio::time::timeout(EXIT_TIMEOUT, &mut self.exit).await;
        let held = matches!(killed, Ok(Ok(WorkerExit::Ended(status)))
            if status.signal() == Some(SIGSYS));
        sandbox_report.attempts.push(EscapeAttempt {
            property: Property::Processes.name().to_owned(),
            tried: "be traced".to_owned(),
            broke: (!held).then(|| "it was not killed for it".to_owned()),
        });
        Ok(sandbox_report)
    }

    /// Waits for the first frame for which `take` returns a value.
    async fn wait_for_frame<T>(
        &mut self,
        mut take: impl FnMut(FromWorker<'_>) -> Option<T>,
    ) -> Result<T, StartError> {
        loop {
            match self.connection.take_frame(&mut take) {
                Ok(Some(Some(taken))) => return Ok(taken),
                Ok(Some(None)) => {}
                Ok(None) if self.connection.exchange().await => {}
                Ok(None) => return Err(self.died().await),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Kills the process, and waits for its end.
    async fn kill(&mut self) {
        self.zygote.kill(self.id);
        _ = tokio::time::timeout(EXIT_TIMEOUT, &mut self.exit).await;
    }

    /// Whether the zygote and this worker died before the program sent anything. The program has
    /// had no effect then, and another worker may run it.
    fn was_lost_before_first_frame(&self) -> bool {
        !self.has_sent_frame && self.zygote.is_gone()
    }

    async fn run(
        &mut self,
        start: &ToWorker<'_>,
        run: ProgramRun<'_>,
        output: &mut dyn ProgramOutput,
    ) -> Result<ProgramEnd, Failure> {
        let ProgramRun { limits, host, permit, control, .. } = run;
        let now = tokio::time::Instant::now();
        let mut time = PausableTime::new(limits.timeout);
        let mut deadline = pin!(tokio::time::sleep_until(time.deadline(now)));
        let can_wait_for_person = control.held.is_some();
        let mut held = pin!(next_held(control.held.map(HeldCalls::watch)));
        let mut held_ids = BTreeSet::new();
        let mut site = None;
        self.has_sent_frame = false;
        self.connection.send(start).map_err(|error| {
            Failure::refused("SyntaxError", format!("the program is too large: {error}"))
        })?;
        let mut calls = PendingCalls::default();
        let mut last_step = Instant::now();
        let mut resolving: Option<BoxFuture<'_, Resolution>> = None;
        loop {
            while resolving.is_none() && calls.has_room() {
                let step = self.connection.take_frame(|frame| {
                    match frame {
                        FromWorker::Stdout(bytes) => output.stdout(bytes),
                        FromWorker::Stderr(bytes) => output.stderr(bytes),
                        FromWorker::Call { id, name, arguments, freshness } => {
                            let call = (id, name, arguments, freshness);
                            if let Err(error) = calls.start(call, site.take(), host) {
                                return Break(Err(protocol_violation(&error.to_string())));
                            }
                        }
                        FromWorker::CallNode { id, node, arguments } => {
                            let call = (id, node, arguments);
                            if let Err(error) = calls.start_node(call, site.take(), host) {
                                return Break(Err(protocol_violation(&error.to_string())));
                            }
                        }
                        FromWorker::Ask { id, question } => {
                            if let Err(error) = calls.ask(id, question, host) {
                                return Break(Err(protocol_violation(&error.to_string())));
                            }
                        }
                        FromWorker::CancelCall { id } => calls.cancel(id),
                        FromWorker::Site { line, column, task } if control.journal.is_some() => {
                            if task.len() > LONGEST_TASK {
                                return Break(Err(protocol_violation("a task nested too deeply")));
                            }
                            site = Some(CallSite { task: task.to_owned(), line, column });
                        }
                        FromWorker::Observed(bytes) if let Some(journal) = control.journal => {
                            journal.sink.observed(bytes);
                        }
                        FromWorker::Replayed if let Some(journal) = control.journal => {
                            journal.sink.replayed();
                        }
                        FromWorker::Diverged { difference }
                            if let Some(journal) = control.journal =>
                        {
                            let end = difference.floor_char_boundary(MAX_DIFFERENCE_BYTES);
                            let difference = difference.get(..end).unwrap_or_default();
                            journal.sink.diverged(difference);
                            return Break(Err(Failure::refused(
                                "ReplayError",
                                visible(difference),
                            )));
                        }
                        FromWorker::InPlaceOnly { reason }
                            if let Some(journal) = control.journal =>
                        {
                            match serde_json::from_str(reason) {
                                Ok(reason) => journal.sink.in_place_only(reason),
                                Err(_) => {
                                    return Break(Err(protocol_violation("an unknown reason")));
                                }
                            }
                        }
                        FromWorker::Resolve { name } => {
                            let name = (name.len() <= CallableName::MAX_BYTES)
                                .then(|| CallableName::new(name));
                            resolving = Some(Box::pin(async move {
                                match name {
                                    Some(name) => host.resolve(&name).await,
                                    None => Resolution::unknown(Vec::new()),
                                }
                            }));
                        }
                        FromWorker::Show { block } => output.show(block),
                        FromWorker::Finished { value } => {
                            let value = (!value.is_empty()).then(|| value.to_owned());
                            return Break(Ok(ProgramEnd::Finished { value }));
                        }
                        FromWorker::MissingModules { modules } => {
                            return Break(Ok(ProgramEnd::MissingModules(modules.to_owned())));
                        }
                        FromWorker::Raised { summary, traceback } => {
                            return Break(Err(raised(summary, traceback)));
                        }
                        FromWorker::Site { .. }
                        | FromWorker::Observed(_)
                        | FromWorker::Replayed
                        | FromWorker::Diverged { .. }
                        | FromWorker::InPlaceOnly { .. }
                        | FromWorker::Ready
                        | FromWorker::SandboxTested { .. } => {
                            return Break(Err(protocol_violation("a frame out of turn")));
                        }
                    }
                    Continue(())
                });
                self.has_sent_frame |= !matches!(step, Ok(None));
                match step {
                    Ok(Some(Continue(()))) => {}
                    Ok(Some(Break(end))) => return end,
                    Ok(None) => break,
                    Err(error) => return Err(protocol_violation(&error.to_string())),
                }
            }
            if can_wait_for_person {
                let waits_for_person = !held_ids.is_empty() && calls.are_all(&held_ids);
                let now = tokio::time::Instant::now();
                if time.pause(waits_for_person, now) {
                    deadline.as_mut().reset(time.deadline(now));
                }
            }
            let listening = resolving.is_none() && calls.has_room();
            // If other programs run, polling would take processor time from them.
            let awake = last_step.elapsed() < SPIN && permit.is_alone();
            tokio::select! {
                biased;
                () = &mut deadline, if !time.is_paused() => {
                    return Err(Failure::TimedOut { limit: limits.timeout });
                }
                Some((id, answer)) = calls.next(), if !self.connection.is_backed_up() => {
                    self.send_answer(id, &answer).map_err(|error| protocol_violation(&error.to_string()))?;
                }
                Some(resolution) = await_if_some(resolving.as_mut()) => {
                    resolving = None;
                    self.send_resolution(&resolution)
                        .map_err(|error| protocol_violation(&error.to_string()))?;
                }
                alive = self.connection.exchange_when(listening) => if !alive {
                    return Err(Failure::WorkerDied { reason: self.describe_exit(Some(limits)).await });
                },
                (now_held, watch) = &mut held => {
                    self.report_held(&held_ids, &now_held)
                        .map_err(|error| protocol_violation(&error.to_string()))?;
                    held_ids = now_held;
                    held.set(next_held(Some(watch)));
                }
                malformed = file_protocol_violation(&mut self.files) => {
                    return Err(protocol_violation(&malformed.to_string()));
                }
                () = tokio::task::yield_now(), if awake => {
                    // Other threads that wait for this processor run first.
                    std::thread::yield_now();
                    continue;
                }
            }
            last_step = Instant::now();
        }
    }

    fn send_answer(
        &mut self,
        id: u64,
        answer: &Result<ToolValue, ToolError>,
    ) -> Result<(), ProtocolError> {
        let (message, written);
        let answer = match answer {
            Ok(ToolValue::Nothing) => AnswerPayload::Nothing,
            Ok(ToolValue::Json(json)) => AnswerPayload::Json(json.get()),
            Ok(ToolValue::Text(text)) => AnswerPayload::Text(text),
            Ok(value @ ToolValue::WithContent { .. }) => {
                written = value.encode().1;
                AnswerPayload::Content(&written)
            }
            Err(error) => {
                message = error.to_string();
                AnswerPayload::Error(&message)
            }
        };
        match self.connection.send(&ToWorker::Answer { id, answer }) {
            Err(error @ ProtocolError::TooLong(_)) => {
                let message = format!("the tool's answer cannot be passed on: {error}");
                let answer = AnswerPayload::Error(&message);
                self.connection.send(&ToWorker::Answer { id, answer })
            }
            sent => sent,
        }
    }

    /// Reports to the worker which calls have begun to wait for a person, and which have stopped.
    fn report_held(
        &mut self,
        before: &BTreeSet<u64>,
        now: &BTreeSet<u64>,
    ) -> Result<(), ProtocolError> {
        for id in now.difference(before) {
            self.connection.send(&ToWorker::Held { id: *id })?;
        }
        for id in before.difference(now) {
            self.connection.send(&ToWorker::Released { id: *id })?;
        }
        Ok(())
    }

    fn send_resolution(&mut self, resolution: &Resolution) -> Result<(), ProtocolError> {
        let meaning = match resolution {
            Resolution::Callable(spec) | Resolution::Unavailable { spec, .. } => {
                json!({ "name": spec.callable.as_str(), "parameters": spec.parameters() })
            }
            Resolution::Blocked => json!({ "blocked": true }),
            Resolution::Attribute(_) => json!({ "nearest": [] }),
            Resolution::Unknown { nearest, .. } => {
                let nearest: Vec<_> = nearest.iter().map(CallableName::as_str).collect();
                json!({ "nearest": nearest })
            }
        };
        self.connection.send(&ToWorker::NameResolved { meaning: &meaning.to_string() })
    }

    async fn died(&mut self) -> StartError {
        StartError::Died { reason: self.describe_exit(None).await }
    }

    /// Describes how the process died; `limits` are those of its program, if it had one.
    async fn describe_exit(&mut self, limits: Option<&RunLimits>) -> String {
        match tokio::time::timeout(EXIT_TIMEOUT, &mut self.exit).await {
            Ok(Ok(WorkerExit::Ended(status))) => match (status.signal(), status.code()) {
                (Some(signal), _) => {
                    let (name, cause) = (signal_name(signal), cause_of(signal, limits));
                    format!("the program's process was ended by {name}{cause}")
                }
                (None, code) => {
                    let code = code.unwrap_or_default();
                    format!("the program ended its own process with exit code {code}")
                }
            },
            Ok(Ok(WorkerExit::NotForked(error))) => format!("no process can be forked: {error}"),
            Ok(Err(_)) => {
                let end_reason = self.zygote.end_reason().await;
                match limits {
                    Some(_) => format!("the program's process was ended: {end_reason}"),
                    None => end_reason,
                }
            }
            Err(_) => "the program's process closed its connection".to_owned(),
        }
    }
}

fn raised(summary: &str, traceback: &str) -> Failure {
    let ExceptionSummary { mut kind, mut message, line, has_value_error, denied, plan_part } =
        serde_json::from_str(summary).unwrap_or_default();
    for text in [&mut kind, &mut message] {
        text.truncate(text.floor_char_boundary(MAX_SUMMARY_BYTES));
    }
    let denied = denied.as_deref().and_then(DeniedResource::named);
    let error = ErrorSummary { kind, message, line, has_value_error, denied, plan_part };
    Failure::Raised { traceback: traceback.to_owned(), error }
}

fn protocol_violation(what: &str) -> Failure {
    Failure::WorkerDied {
        reason: format!(
            "the program's process was ended because it broke the worker protocol: {what}"
        ),
    }
}

/// The most likely cause of a signal that the gateway did not send.
fn cause_of(signal: i32, limits: Option<&RunLimits>) -> String {
    match (signal, limits) {
        (SIGSYS, _) => ": it made a system call that the sandbox forbids".to_owned(),
        (SIGXCPU, Some(_)) => ": it used more processor time than it has time to run".to_owned(),
        (SIGKILL, _) => ": the system ended it, most likely because memory ran out".to_owned(),
        (6 | 11, Some(limits)) => {
            let megabytes = limits.memory_bytes / (1024 * 1024);
            format!("; it may have used more than its {megabytes} MB of memory")
        }
        _ => String::new(),
    }
}

/// Completes when a worker violates the protocol of file requests.
async fn file_protocol_violation(
    files: &mut Option<JoinHandle<Result<(), MalformedPacket>>>,
) -> MalformedPacket {
    if let Some(serving) = files {
        let ended = serving.await;
        *files = None;
        if let Ok(Err(malformed)) = ended {
            return malformed;
        }
    }
    std::future::pending().await
}

/// Completes when the workspace exceeds its quota.
async fn exceeded(quota: Option<&Quota>) -> Failure {
    match quota {
        Some(quota) => quota.exceeded().await,
        None => std::future::pending().await,
    }
}

/// The calls that wait for a person, as soon as they change.
async fn next_held(
    watch: Option<watch::Receiver<BTreeSet<u64>>>,
) -> (BTreeSet<u64>, watch::Receiver<BTreeSet<u64>>) {
    if let Some(mut watch) = watch
        && watch.changed().await.is_ok()
    {
        let held = watch.borrow_and_update().clone();
        return (held, watch);
    }
    std::future::pending().await
}

async fn await_if_some<T>(future: Option<&mut BoxFuture<'_, T>>) -> Option<T> {
    match future {
        Some(future) => Some(future.await),
        None => None,
    }
}
