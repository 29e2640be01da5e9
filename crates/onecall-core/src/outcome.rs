//! How a program ended, and what it said and did.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::text::tokens_of_size;
use crate::{CallableName, SessionHandle, ToolValue};

/// Everything known about a program that has ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// `Ok` if the program ran to its end.
    pub result: Result<(), Failure>,
    /// What it printed.
    pub stdout: Output,
    /// What it wrote to stderr.
    pub stderr: Output,
    /// What it showed beside its text.
    pub shown: Vec<Shown>,
    /// What it returned, or the value of its last expression, or else of its variable `result`, for a whole
    /// [`Detail`](crate::Detail) and if it is plain data.
    pub value: Option<Box<RawValue>>,
    /// The tool calls it made.
    pub calls: Calls,
    /// What else its author should know, a line each.
    pub remarks: Vec<String>,
    /// The handle of the session that began with it, if only the handle continues it.
    pub session: Option<SessionHandle>,
    /// The sizes of what its agent read and wrote, where agents are told what they saved.
    pub sizes: Option<TextSizes>,
    /// From the moment the program was handed to a worker.
    pub duration: Duration,
    /// How long it was allowed to take.
    pub timeout: Duration,
}

impl Outcome {
    /// Of a program that did not even start.
    #[must_use]
    pub fn not_started(failure: Failure, timeout: Duration) -> Self {
        Self::of_call(Some(failure), timeout)
    }

    /// Of a call without a program, which prints nothing.
    #[must_use]
    pub fn of_call(failure: Option<Failure>, timeout: Duration) -> Self {
        Self {
            result: failure.map_or(Ok(()), Err),
            stdout: Output::default(),
            stderr: Output::default(),
            shown: Vec::new(),
            value: None,
            calls: Calls::default(),
            remarks: Vec::new(),
            session: None,
            sizes: None,
            duration: Duration::ZERO,
            timeout,
        }
    }
}

/// Bytes of the texts that a model would have read and written with direct calls, and of those
/// that it did read and write with a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextSizes {
    /// With direct calls.
    pub direct: u64,
    /// With the program.
    pub onecall: u64,
}

impl TextSizes {
    /// Estimates the tokens of texts of these sizes.
    #[must_use]
    pub fn tokens(self) -> Tokens {
        Tokens {
            direct: tokens_of_size(self.direct),
            onecall: tokens_of_size(self.onecall),
            estimated: true,
        }
    }
}

/// Tokens that a model would have read and written with direct calls, and those that it did
/// with a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// With direct calls.
    pub direct: u64,
    /// With the program.
    pub onecall: u64,
    /// Whether they were estimated from sizes or samples of the texts, and not counted.
    pub estimated: bool,
}

impl Tokens {
    /// What was saved; negative where direct calls would have been shorter.
    #[must_use]
    pub fn saved(self) -> i64 {
        let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        signed(self.direct).saturating_sub(signed(self.onecall))
    }
}

/// Captured output, never longer than its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The kept text.
    pub text: String,
    /// Whether more was printed than kept.
    pub truncated: bool,
}

/// An image or a recording that a program showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What it is.
    pub kind: ShownKind,
    /// In base64.
    pub data: String,
    /// Such as `image/png`.
    pub mime_type: String,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownKind {
    /// An image.
    Image,
    /// A recording.
    Audio,
}

/// The tool calls of a program.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// How many gave a value.
    pub completed: u64,
    /// The first of them, in the order in which they began.
    pub records: Vec<CallRecord>,
    /// How many began after those.
    pub unrecorded: u64,
}

/// One tool call.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// Distinguishes the calls of one program.
    pub id: u64,
    /// The tool as the program named it.
    pub name: CallableName,
    /// As JSON, or the beginning of it.
    pub arguments: String,
    /// Whether `arguments` are all there was.
    pub is_whole: bool,
    /// Whether its tool says that it changes nothing. Looked up only for a program that failed.
    pub harmless: bool,
    /// Since the start of the program.
    pub started: Duration,
    /// Whether its answer was one that had been given before.
    pub cached: bool,
    /// How it ended; `None` if the program ended first.
    pub end: Option<CallEnd>,
}

/// How a tool call ended.
#[derive(Clone, Debug)]
pub struct CallEnd {
    /// Since its start.
    pub duration: Duration,
    /// What it gave.
    pub answer: Observation,
    /// Whether it got as far as the tool.
    pub sent: bool,
}

impl CallEnd {
    /// Whether the call gave no value.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        matches!(self.answer, Observation::Failed(_))
    }
}

/// What a tool call gave.
#[derive(Clone, Debug)]
pub enum Observation {
    /// A value.
    Value(ToolValue),
    /// A value that was not kept.
    NotKept,
    /// No value, for this reason.
    Failed(String),
}

/// Why a program did not run to its end. The display text is what its author reads.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// An exception nobody caught, as the engine's language shows it.
    #[error("{traceback}")]
    Raised {
        /// The whole traceback.
        traceback: String,
        /// What it is about.
        error: ErrorSummary,
    },
    /// It could not have succeeded, and nothing of it was executed.
    #[error("{text}")]
    Refused {
        /// Everything that is wrong with it.
        text: String,
        /// The first of it.
        error: ErrorSummary,
    },
    /// It ran longer than allowed and was killed.
    #[error("TimeoutError: Execution exceeded {}s limit", limit.as_secs_f64())]
    TimedOut {
        /// The limit it ran into.
        limit: Duration,
    },
    /// Whoever asked for it did not want it any more, and it was killed.
    #[error("Cancelled: the program was cancelled")]
    Cancelled,
    /// It filled the workspace and was killed.
    #[error("OSError: the workspace is over its quota of {max_bytes} bytes")]
    WorkspaceFull {
        /// The quota.
        max_bytes: u64,
    },
    /// Others ran, and it could not wait for their end. Nothing of it was executed.
    #[error("too many programs run at once: {reason}")]
    TooManyPrograms {
        /// How many there are, and what to do about it.
        reason: String,
    },
    /// Its process died under it.
    #[error("{reason}")]
    WorkerDied {
        /// What is known about the death.
        reason: String,
    },
    /// No process could be had to run it in.
    #[error("the engine could not start: {reason}")]
    EngineUnavailable {
        /// What kept it from starting.
        reason: String,
    },
}

/// An error in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorSummary {
    /// The class of the exception.
    pub kind: String,
    /// What it says.
    pub message: String,
    /// The line of the program where it happened.
    pub line: Option<u64>,
    /// What the program tried and cannot do, if that is why it failed.
    pub denied: Option<Denied>,
    /// The part of a plan that failed, if the program carried out a plan. The text of the failure
    /// is then its message alone.
    pub plan_part: Option<PlanPart>,
}

/// A part of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPart {
    /// The definitions that its transforms share.
    Definitions,
    /// A transform, by its number.
    Transform(usize),
    /// A node, by its number.
    Node(usize),
}

/// Something that the sandbox keeps from programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Connections to other machines, and their names.
    Network,
    /// Files outside of the workspace.
    Files,
    /// Processes of their own.
    Processes,
    /// Somebody who types.
    Input,
}

impl Denied {
    /// Every one of them, as workers write it.
    pub const NAMES: [(&str, Self); 4] = [
        ("network", Self::Network),
        ("files", Self::Files),
        ("processes", Self::Processes),
        ("input", Self::Input),
    ];

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, denied)| *denied)
    }
}

impl Failure {
    /// A program that could not have succeeded, for one reason.
    pub fn refused(kind: &str, message: impl Into<String>) -> Self {
        let (kind, message) = (kind.to_owned(), message.into());
        let error = ErrorSummary { kind, message, ..ErrorSummary::default() };
        Self::Refused { text: format!("{}: {}", error.kind, error.message), error }
    }

    /// What it is about.
    #[must_use]
    pub fn summary(&self) -> ErrorSummary {
        let kind = match self {
            Self::Raised { error, .. } | Self::Refused { error, .. } => return error.clone(),
            Self::TimedOut { .. } => "TimeoutError",
            Self::Cancelled => "Cancelled",
            Self::WorkspaceFull { .. } => "OSError",
            Self::TooManyPrograms { .. } => "TooManyPrograms",
            Self::WorkerDied { .. } => "WorkerDied",
            Self::EngineUnavailable { .. } => "EngineUnavailable",
        };
        let text = self.to_string();
        let message = text.strip_prefix(kind).and_then(|text| text.strip_prefix(": "));
        let message = message.unwrap_or(&text).to_owned();
        ErrorSummary { kind: kind.to_owned(), message, ..ErrorSummary::default() }
    }
}
