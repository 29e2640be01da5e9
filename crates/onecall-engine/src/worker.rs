//! One worker process, from its fork to the end of its program.
//!
//! The worker runs foreign code, so whatever it sends is taken for hostile: it
//! can end itself by sending nonsense, and nothing else.

use std::ops::ControlFlow::{Break, Continue};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_core::{
    BoxFuture, CallableName, Detail, ErrorSummary, Failure, Limits, Program, Resolution,
    SPAN_TARGET, ToolError, ToolHost, ToolValue,
};
use onecall_jail::ProgramLimits;
use serde_json::json;
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tracing::{Instrument, info_span};

use crate::calls::{Calls, LONGEST_NAME};
use crate::connection::Connection;
use crate::examination::{Attempt, Examination};
use crate::pool::{Engine, MAX_AT_ONCE};
use crate::protocol::{Answer, Condition, FromWorker, ProtocolError, Summary, ToWorker, Wishes};
use crate::workspace::Quota;
use crate::zygote::{WaitStatus, Zygote};

/// After each step of a lone program the gateway stays awake this long: a processor
/// that has gone idle takes longer to wake than a quick server to answer.
const SPIN: Duration = Duration::from_micros(100);

/// How many zygotes may die under a program that has not begun.
const MAX_ATTEMPTS: u32 = 3;

/// Processor time of all programs of one session.
const SESSION_CPU: Duration = Duration::from_secs(60 * 60);

/// Bytes of the class and the message of an error that are kept.
const LONGEST_SUMMARY: usize = 64 * 1024;

/// How long to wait for the zygote's word on how a worker died.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

const SIGXCPU: i32 = 24;
const SIGSYS: i32 = 31;

/// Where a program's output goes, as it comes.
pub trait ProgramOutput: Send {
    /// The program printed this.
    fn stdout(&mut self, bytes: &[u8]);
    /// The program wrote this to stderr.
    fn stderr(&mut self, bytes: &[u8]);
    /// The program shows this: an MCP content block as JSON, if the worker is honest.
    fn show(&mut self, block: &str);
}

/// What became of a program that did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It ran to its end.
    Finished {
        /// The value of its last expression as JSON, if that was asked for and is plain data.
        value: Option<String>,
    },
    /// It was not run for want of these modules, one on each line.
    Lacks(String),
}

impl Ended {
    /// The value of the last expression, if there is one.
    pub(crate) fn value(self) -> Option<String> {
        match self {
            Self::Finished { value } => value,
            Self::Lacks(_) => None,
        }
    }
}

impl Engine {
    /// Runs one program to its end, if its `condition` is met, in the worker that was
    /// kept for it or in a new one. A worker is kept if the program belongs to a session
    /// and its process survives. Dropping the future kills it.
    pub(crate) async fn run_in(
        self: &Arc<Self>,
        kept: &mut Option<Worker>,
        program: &Program,
        condition: Condition<'_>,
        limits: &Limits,
        host: &dyn ToolHost,
        output: &mut dyn ProgramOutput,
    ) -> Result<Ended, Failure> {
        let mut attempts = 1;
        loop {
            let mut worker = match kept.take() {
                Some(mut worker) => {
                    self.take_turn(&mut worker).await;
                    worker
                }
                None => {
                    let start = info_span!(target: SPAN_TARGET, "start worker");
                    self.worker().instrument(start).await.map_err(|error| error.failure())?
                }
            };
            let result = self.run_on(&mut worker, program, condition, limits, host, output).await;
            self.replenish();
            let lost =
                matches!(result, Err(Failure::WorkerDied { .. })) && worker.was_lost_unheard();
            if lost && attempts < MAX_ATTEMPTS && program.session.is_none() {
                attempts += 1;
                continue;
            }
            let survived = match &result {
                Ok(Ended::Finished { .. }) => true,
                // To have memory to tell of it, the worker gave its variables away.
                Err(Failure::Raised { error, .. }) => error.kind != "MemoryError",
                _ => false,
            };
            if survived && program.session.is_some() {
                worker.hold(None);
                *kept = Some(worker);
            }
            return result;
        }
    }

    async fn run_on(
        &self,
        worker: &mut Worker,
        program: &Program,
        condition: Condition<'_>,
        limits: &Limits,
        host: &dyn ToolHost,
        output: &mut dyn ProgramOutput,
    ) -> Result<Ended, Failure> {
        let file_bytes = match &self.quota {
            Some(quota) => quota.left().await,
            None => 0,
        };
        let wishes =
            Wishes { stay: program.session.is_some(), value: program.detail == Detail::Whole };
        // What a process has used cannot be taken back, so a session gets it all at once.
        let seconds = if wishes.stay { SESSION_CPU } else { limits.timeout };
        let limited = ProgramLimits {
            memory_bytes: limits.memory_bytes,
            cpu_seconds: seconds.as_secs().saturating_add(1),
            file_bytes,
        };
        let (condition, code) = (condition.text(), program.code.as_str());
        let start = ToWorker::Program { limits: limited, wishes, condition, code };
        tokio::select! {
            result = worker.run(&start, limits, host, output) => result,
            full = exceeded(self.quota.as_ref()) => Err(full),
        }
    }
}

/// A worker process; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    id: u64,
    connection: Connection,
    exit: oneshot::Receiver<WaitStatus>,
    zygote: Arc<Zygote>,
    turn: Option<OwnedSemaphorePermit>,
    /// Whether its program has said anything yet.
    heard: bool,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.zygote.kill(self.id);
    }
}

impl Worker {
    pub(crate) fn new(
        id: u64,
        stream: UnixStream,
        exit: oneshot::Receiver<WaitStatus>,
        zygote: Arc<Zygote>,
    ) -> Self {
        Self { id, connection: Connection::new(stream), exit, zygote, turn: None, heard: false }
    }

    /// Whether no other program runs, for whom staying awake would be in the way.
    fn is_alone(&self) -> bool {
        self.turn
            .as_ref()
            .is_some_and(|turn| turn.semaphore().available_permits() + 1 == MAX_AT_ONCE)
    }

    /// Keeps a place among the programs that run at once.
    pub(crate) fn hold(&mut self, turn: Option<OwnedSemaphorePermit>) {
        self.turn = turn;
    }

    /// Waits until the worker has locked itself in, and has it warm up no more if it is not there
    /// yet.
    pub(crate) async fn ready(&mut self) -> Result<(), String> {
        tokio::select! {
            biased;
            ready = self.said_ready() => return ready,
            () = std::future::ready(()) => {}
        }
        self.connection.send(&ToWorker::Hurry).map_err(|error| error.to_string())?;
        self.said_ready().await
    }

    async fn said_ready(&mut self) -> Result<(), String> {
        self.frame(|frame| match frame {
            FromWorker::Ready => Some(Ok(())),
            FromWorker::Raised { traceback, .. } => Some(Err(traceback.to_owned())),
            _ => None,
        })
        .await?
    }

    /// Has the worker test its walls, which it does not survive where they hold.
    pub(crate) async fn examine(&mut self) -> Result<Examination, String> {
        self.connection.send(&ToWorker::Examine).map_err(|error| error.to_string())?;
        let report = self.frame(|frame| match frame {
            FromWorker::Examined { report } => {
                Some(serde_json::from_str(report).map_err(|error| error.to_string()))
            }
            FromWorker::Raised { traceback, .. } => Some(Err(traceback.to_owned())),
            _ => None,
        });
        let mut examination: Examination = report.await??;
        let killed = tokio::time::timeout(EXIT_TIMEOUT, &mut self.exit).await;
        let held = matches!(killed, Ok(Ok(status)) if status.signal() == Some(SIGSYS));
        examination.attempts.push(Attempt {
            wall: "system calls".to_owned(),
            tried: "be traced".to_owned(),
            broke: (!held).then(|| "it was not ended for it".to_owned()),
        });
        Ok(examination)
    }

    /// Waits for the first frame of which `take` makes something.
    async fn frame<T>(
        &mut self,
        mut take: impl FnMut(FromWorker<'_>) -> Option<T>,
    ) -> Result<T, String> {
        loop {
            match self.connection.take_frame(&mut take) {
                Ok(Some(Some(taken))) => return Ok(taken),
                Ok(Some(None)) => {}
                Ok(None) => match self.connection.exchange().await {
                    Ok(true) => {}
                    Ok(false) => return Err(self.death(None).await),
                    Err(error) => return Err(error.to_string()),
                },
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Whether its zygote died and took it along before its program said anything.
    /// Nothing can have happened then, and another worker may run the program.
    fn was_lost_unheard(&self) -> bool {
        !self.heard && self.zygote.is_gone()
    }

    async fn run(
        &mut self,
        start: &ToWorker<'_>,
        limits: &Limits,
        host: &dyn ToolHost,
        output: &mut dyn ProgramOutput,
    ) -> Result<Ended, Failure> {
        let mut deadline = pin!(tokio::time::sleep(limits.timeout));
        self.heard = false;
        self.connection.send(start).map_err(|error| {
            Failure::refused("SyntaxError", format!("the program is too large: {error}"))
        })?;
        let mut calls = Calls::default();
        let mut last_step = Instant::now();
        let mut resolving: Option<BoxFuture<'_, Resolution>> = None;
        loop {
            while resolving.is_none() && calls.has_room() {
                let step = self.connection.take_frame(|frame| {
                    match frame {
                        FromWorker::Stdout(bytes) => output.stdout(bytes),
                        FromWorker::Stderr(bytes) => output.stderr(bytes),
                        FromWorker::Call { id, name, arguments, freshness } => {
                            if let Err(what) = calls.start(id, name, arguments, freshness, host) {
                                return Break(Err(broke_protocol(what)));
                            }
                        }
                        FromWorker::CancelCall { id } => calls.cancel(id),
                        FromWorker::Resolve { name } => {
                            let name =
                                (name.len() <= LONGEST_NAME).then(|| CallableName::new(name));
                            resolving = Some(Box::pin(async move {
                                match name {
                                    Some(name) => host.resolve(&name).await,
                                    None => Resolution::Unknown { nearest: Vec::new() },
                                }
                            }));
                        }
                        FromWorker::Show { block } => output.show(block),
                        FromWorker::Finished { value } => {
                            let value = (!value.is_empty()).then(|| value.to_owned());
                            return Break(Ok(Ended::Finished { value }));
                        }
                        FromWorker::Lacks { modules } => {
                            return Break(Ok(Ended::Lacks(modules.to_owned())));
                        }
                        FromWorker::Raised { summary, traceback } => {
                            return Break(Err(raised(summary, traceback)));
                        }
                        FromWorker::Ready | FromWorker::Examined { .. } => {
                            return Break(Err(broke_protocol("a frame out of turn")));
                        }
                    }
                    Continue(())
                });
                self.heard |= !matches!(step, Ok(None));
                match step {
                    Ok(Some(Continue(()))) => {}
                    Ok(Some(Break(end))) => return end,
                    Ok(None) => break,
                    Err(error) => return Err(broke_protocol(&error.to_string())),
                }
            }
            let listening = resolving.is_none() && calls.has_room();
            let awake = last_step.elapsed() < SPIN && self.is_alone();
            tokio::select! {
                biased;
                () = &mut deadline => {
                    return Err(Failure::TimedOut { limit: limits.timeout });
                }
                Some((id, answer)) = calls.next(), if !self.connection.is_backed_up() => {
                    self.answer(id, &answer).map_err(|error| broke_protocol(&error.to_string()))?;
                }
                Some(resolution) = conditional(resolving.as_mut()) => {
                    resolving = None;
                    self.tell_meaning(&resolution)
                        .map_err(|error| broke_protocol(&error.to_string()))?;
                }
                alive = self.connection.exchange_when(listening) => match alive {
                    Ok(true) => {}
                    Ok(false) | Err(_) => {
                        return Err(Failure::WorkerDied { reason: self.death(Some(limits)).await });
                    }
                },
                () = tokio::task::yield_now(), if awake => {
                    // Whoever else wants this processor comes first.
                    std::thread::yield_now();
                    continue;
                }
            }
            last_step = Instant::now();
        }
    }

    fn answer(
        &mut self,
        id: u64,
        answer: &Result<ToolValue, ToolError>,
    ) -> Result<(), ProtocolError> {
        let message;
        let answer = match answer {
            Ok(ToolValue::Nothing) => Answer::Nothing,
            Ok(ToolValue::Json(json)) => Answer::Json(json.get()),
            Ok(ToolValue::Text(text)) => Answer::Text(text),
            Err(error) => {
                message = error.to_string();
                Answer::Error(&message)
            }
        };
        match self.connection.send(&ToWorker::Answer { id, answer }) {
            Err(error @ ProtocolError::TooLong(_)) => {
                let message = format!("the tool's answer cannot be passed on: {error}");
                let answer = Answer::Error(&message);
                self.connection.send(&ToWorker::Answer { id, answer })
            }
            sent => sent,
        }
    }

    fn tell_meaning(&mut self, resolution: &Resolution) -> Result<(), ProtocolError> {
        let meaning = match resolution {
            Resolution::Callable(spec) => json!({ "parameters": spec.parameters() }),
            Resolution::Blocked => json!({ "blocked": true }),
            Resolution::Unknown { nearest } => {
                let nearest: Vec<_> = nearest.iter().map(CallableName::as_str).collect();
                json!({ "nearest": nearest })
            }
        };
        self.connection.send(&ToWorker::Name { meaning: &meaning.to_string() })
    }

    /// Says how the process died.
    async fn death(&mut self, limits: Option<&Limits>) -> String {
        let status = tokio::time::timeout(EXIT_TIMEOUT, &mut self.exit).await;
        match status {
            Ok(Ok(status)) => match (status.signal(), status.code()) {
                (Some(signal), _) => {
                    let (name, cause) = (signal_name(signal), cause_of(signal, limits));
                    format!("the program's process was ended by {name}{cause}")
                }
                (None, code) => {
                    let code = code.unwrap_or_default();
                    format!("the program ended its own process with exit code {code}")
                }
            },
            Ok(Err(_)) => match self.zygote.last_words().as_str() {
                "" => "the engine's zygote died".to_owned(),
                words => format!("the engine's zygote died: {words}"),
            },
            Err(_) => "the program's process closed its connection".to_owned(),
        }
    }
}

fn raised(summary: &str, traceback: &str) -> Failure {
    let Summary { mut kind, mut message, line } = serde_json::from_str(summary).unwrap_or_default();
    for text in [&mut kind, &mut message] {
        text.truncate(text.floor_char_boundary(LONGEST_SUMMARY));
    }
    Failure::Raised { traceback: traceback.to_owned(), error: ErrorSummary { kind, message, line } }
}

fn broke_protocol(what: &str) -> Failure {
    Failure::WorkerDied {
        reason: format!(
            "the program's process was ended because it broke the worker protocol: {what}"
        ),
    }
}

/// What most likely lies behind a signal that no one of ours has sent.
fn cause_of(signal: i32, limits: Option<&Limits>) -> String {
    match (signal, limits) {
        (SIGSYS, _) => ": it made a system call that the sandbox forbids".to_owned(),
        (SIGXCPU, Some(_)) => ": it used more processor time than it has time to run".to_owned(),
        (6 | 9 | 11, Some(limits)) => {
            let megabytes = limits.memory_bytes / (1024 * 1024);
            format!("; it may have used more than its {megabytes} MB of memory")
        }
        _ => String::new(),
    }
}

fn signal_name(signal: i32) -> String {
    match signal {
        4 => "SIGILL".to_owned(),
        6 => "SIGABRT".to_owned(),
        7 => "SIGBUS".to_owned(),
        9 => "SIGKILL".to_owned(),
        11 => "SIGSEGV".to_owned(),
        15 => "SIGTERM".to_owned(),
        SIGXCPU => "SIGXCPU".to_owned(),
        25 => "SIGXFSZ".to_owned(),
        SIGSYS => "SIGSYS".to_owned(),
        other => format!("signal {other}"),
    }
}

/// Ends when the workspace holds more than it may.
async fn exceeded(quota: Option<&Quota>) -> Failure {
    match quota {
        Some(quota) => quota.exceeded().await,
        None => std::future::pending().await,
    }
}

async fn conditional<T>(future: Option<&mut BoxFuture<'_, T>>) -> Option<T> {
    match future {
        Some(future) => Some(future.await),
        None => None,
    }
}
