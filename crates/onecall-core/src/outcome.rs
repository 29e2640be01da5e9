//! The outcome of a program: how it ended, what it printed and returned, and the tool calls it
//! made.

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
    /// The text that the program printed.
    pub stdout: Output,
    /// The text that the program wrote to stderr.
    pub stderr: Output,
    /// The images and recordings it showed.
    pub media: Vec<Media>,
    /// The value it returned, or the value of its last expression, or else of its variable
    /// `result`. It is present only if the program asked for a whole
    /// [`OutcomeDetail`](crate::OutcomeDetail) and the value is plain data.
    pub value: Option<Box<RawValue>>,
    /// The name of the type of its last expression, if that has a value that the program does not print.
    pub value_type: Option<String>,
    /// The tool calls it made.
    pub calls: CallSummary,
    /// Further remarks for the author of the program, one line each.
    pub remarks: Vec<String>,
    /// The handle of the session that the program started, if only the handle can continue it.
    pub session: Option<SessionHandle>,
    /// The sizes of the texts that its agent read and wrote, if agents are to see what they saved.
    pub sizes: Option<TextSizes>,
    /// The time since the program was handed to a worker.
    pub duration: Duration,
    /// How long it was allowed to take.
    pub timeout: Duration,
}

impl Outcome {
    /// The outcome of a program that was not started.
    #[must_use]
    pub fn not_started(failure: Failure, timeout: Duration) -> Self {
        Self::of_call(Some(failure), timeout)
    }

    /// The outcome of a call without a program, which prints nothing.
    #[must_use]
    pub fn of_call(failure: Option<Failure>, timeout: Duration) -> Self {
        Self {
            result: failure.map_or(Ok(()), Err),
            stdout: Output::default(),
            stderr: Output::default(),
            media: Vec::new(),
            value: None,
            value_type: None,
            calls: CallSummary::default(),
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
    /// The bytes with direct calls.
    pub direct: u64,
    /// The bytes with the program.
    pub onecall: u64,
}

impl TextSizes {
    /// Estimates the tokens of texts of these sizes.
    #[must_use]
    pub fn tokens(self) -> TokenUsage {
        TokenUsage {
            direct: tokens_of_size(self.direct),
            onecall: tokens_of_size(self.onecall),
            estimated: true,
        }
    }
}

/// Tokens that a model would have read and written with direct calls, and those that it did
/// with a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// The tokens with direct calls.
    pub direct: u64,
    /// The tokens with the program.
    pub onecall: u64,
    /// Whether the numbers were estimated from sizes or samples of the texts, and not counted.
    pub estimated: bool,
}

impl TokenUsage {
    /// The tokens saved; negative if direct calls would have been shorter.
    #[must_use]
    pub fn saved(self) -> i64 {
        let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        signed(self.direct).saturating_sub(signed(self.onecall))
    }
}

/// Captured output, truncated at its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The text that was kept.
    pub text: String,
    /// Whether the program printed more than was kept.
    pub truncated: bool,
}

/// An image or a recording that a program showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Whether it is an image or a recording.
    pub kind: MediaKind,
    /// The bytes in base64.
    pub data: String,
    /// The media type, such as `image/png`.
    pub mime_type: String,
}

/// The kinds of media that a program can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// An image.
    Image,
    /// A recording.
    Audio,
}

/// The tool calls of a program.
#[derive(Clone, Debug, Default)]
pub struct CallSummary {
    /// How many calls returned a value.
    pub completed: u64,
    /// Records of the first calls, in the order in which they began.
    pub records: Vec<CallRecord>,
    /// How many calls began after the recorded ones.
    pub unrecorded: u64,
}

/// The record of one tool call.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// Distinguishes the calls of one program.
    pub id: u64,
    /// The tool as the program named it.
    pub name: CallableName,
    /// The arguments as JSON, possibly truncated.
    pub arguments: String,
    /// Whether `arguments` is complete.
    pub has_all_arguments: bool,
    /// Whether the tool declares that it changes nothing. It is looked up only if the program
    /// failed.
    pub is_read_only: bool,
    /// The time from the start of the program to the start of the call.
    pub started: Duration,
    /// Whether the answer came from the cache.
    pub cached: bool,
    /// How the call ended; `None` if the program ended first.
    pub end: Option<CallEnd>,
}

/// How a tool call ended.
#[derive(Clone, Debug)]
pub struct CallEnd {
    /// The time from the start of the call to its end.
    pub duration: Duration,
    /// The result of the call.
    pub result: RecordedResult,
    /// Whether the call was sent to the tool.
    pub sent: bool,
}

impl CallEnd {
    /// Whether the call failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        matches!(self.result, RecordedResult::Failed(_))
    }
}

/// The result of a tool call, as its record keeps it.
#[derive(Clone, Debug)]
pub enum RecordedResult {
    /// The call returned this value.
    Value(ToolValue),
    /// The call returned a value that was not kept.
    NotKept,
    /// The call failed for this reason.
    Failed(String),
}

/// Why a program did not run to its end. The display text is what its author reads.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// An uncaught exception, as the engine's language prints it.
    #[error("{traceback}")]
    Raised {
        /// The whole traceback.
        traceback: String,
        /// A summary of the exception.
        error: ErrorSummary,
    },
    /// The program was rejected before it ran, because it could not have succeeded.
    #[error("{text}")]
    Refused {
        /// All errors found in the program.
        text: String,
        /// A summary of the first error.
        error: ErrorSummary,
    },
    /// The program ran longer than allowed and was killed.
    #[error("TimeoutError: Execution exceeded {}s limit", limit.as_secs_f64())]
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
    /// The caller cancelled the program, and it was killed.
    #[error("Cancelled: the program was cancelled")]
    Cancelled,
    /// The program exceeded the quota of the workspace and was killed.
    #[error("OSError: the workspace is over its quota of {max_bytes} bytes")]
    WorkspaceFull {
        /// The quota.
        max_bytes: u64,
    },
    /// Too many other programs were running: the queue was full, or the wait in it timed out. The
    /// program was not started.
    #[error("too many programs run at once: {reason}")]
    TooManyPrograms {
        /// How many programs are running, and what to do.
        reason: String,
    },
    /// The process of the program died.
    #[error("{reason}")]
    WorkerDied {
        /// What is known about the cause.
        reason: String,
    },
    /// No process could be started for the program.
    #[error("the engine could not start: {reason}")]
    EngineUnavailable {
        /// The reason.
        reason: String,
        /// Whether the reason may pass by itself.
        lasts: Unavailability,
    },
}

/// How long an engine cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailability {
    /// It may start a moment later, such as when the machine had no memory left for another process.
    Passing,
    /// It cannot start until the machine or the configuration is changed.
    Lasting,
}

/// A short form of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorSummary {
    /// The class of the exception.
    pub kind: String,
    /// The message of the exception.
    pub message: String,
    /// The line of the program where it happened.
    pub line: Option<u64>,
    /// Whether it is a group of exceptions, and one of them is about a value, such as a `KeyError`.
    pub has_value_error: bool,
    /// The resource that the sandbox denied to the program, if that is why it failed.
    pub denied: Option<DeniedResource>,
    /// The part of a plan that failed, if the program executed a plan. The text of the failure is
    /// then its message alone.
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

/// Something that the sandbox denies to programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeniedResource {
    /// Connections to other machines, and name lookups.
    Network,
    /// Files outside of the workspace.
    Files,
    /// Starting processes.
    Processes,
    /// Reading from standard input.
    Input,
}

impl DeniedResource {
    /// Every variant with its name in the messages of workers.
    pub const NAMES: [(&str, Self); 4] = [
        ("network", Self::Network),
        ("files", Self::Files),
        ("processes", Self::Processes),
        ("input", Self::Input),
    ];

    /// The variant with this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, denied)| *denied)
    }
}

impl Failure {
    /// A failure for a program that is rejected before it runs, for a single reason.
    pub fn refused(kind: &str, message: impl Into<String>) -> Self {
        let (kind, message) = (kind.to_owned(), message.into());
        let error = ErrorSummary { kind, message, ..ErrorSummary::default() };
        Self::Refused { text: format!("{}: {}", error.kind, error.message), error }
    }

    /// A summary of the failure: the class of the error and its message.
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
