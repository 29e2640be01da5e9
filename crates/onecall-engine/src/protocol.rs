//! The frames that are exchanged between the gateway and a worker.
//!
//! A frame is a length (`u32`, little endian, of everything that follows), a kind (one byte) and a
//! payload. The gateway decodes frames of a process that runs untrusted code, so decoding trusts
//! nothing: every size is limited, and a frame that cannot be decoded is a [`ProtocolError`] that
//! ends the worker.

use onecall_core::{Freshness, PlanPart};
use onecall_jail::ProgramLimits;
use serde::Deserialize;
use thiserror::Error;

/// Longest frame in bytes; a tool call with larger arguments fails in the worker.
pub(crate) const MAX_FRAME: usize = 64 * 1024 * 1024;

/// The bytes before the payload: length and kind.
pub(crate) const HEADER_SIZE: usize = 5;

/// A frame from a worker to the gateway.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FromWorker<'a> {
    /// The worker waits for a program.
    Ready,
    /// The program calls a tool.
    Call { id: u64, name: &'a str, arguments: &'a str, freshness: Freshness },
    /// The program of a plan calls a node of the plan.
    CallNode { id: u64, node: u32, arguments: &'a str },
    /// The program asks a question: a [`ProgramQuestion`](onecall_core::ProgramQuestion) as JSON.
    Ask { id: u64, question: &'a str },
    /// The place in the program of the call that follows. Sent only for a journalled run.
    Site { line: u32, column: u32, task: &'a str },
    /// What the program observed, in the format of its language. Sent only for a journalled run.
    Observed(&'a [u8]),
    /// The program has used up the observations that it was given, and goes on by itself.
    Replayed,
    /// The program does not do what it did when the observations were made; `difference` says what
    /// it does instead.
    Diverged { difference: &'a str },
    /// The program does something that cannot be repeated: an
    /// [`InPlaceReason`](onecall_core::InPlaceReason) as JSON.
    InPlaceOnly { reason: &'a str },
    /// The program no longer waits for the answer to a call or question.
    CancelCall { id: u64 },
    /// The program used a name that it has not defined.
    Resolve { name: &'a str },
    /// The program printed something.
    Stdout(&'a [u8]),
    /// The program wrote to stderr.
    Stderr(&'a [u8]),
    /// The program displays an MCP content block.
    Show { block: &'a str },
    /// The program ran to its end. Its value as JSON, or the name of the value's type, or empty; see
    /// [`ValueReport`].
    Finished { value: &'a str },
    /// The program ended with this traceback; `summary` is an [`ExceptionSummary`] as JSON.
    Raised { summary: &'a str, traceback: &'a str },
    /// The program was not run because these modules are missing, one per line.
    MissingModules { modules: &'a str },
    /// The worker's report about its sandbox, as JSON.
    SandboxTested { report: &'a str },
}

mod kind {
    pub(super) const READY: u8 = b'r';
    pub(super) const CALL: u8 = b'c';
    pub(super) const CALL_FRESH: u8 = b'f';
    pub(super) const CALL_NODE: u8 = b'p';
    pub(super) const ASK: u8 = b'q';
    pub(super) const SITE: u8 = b'a';
    pub(super) const OBSERVED: u8 = b'v';
    pub(super) const REPLAYED: u8 = b'y';
    pub(super) const DIVERGED: u8 = b'g';
    pub(super) const IN_PLACE_ONLY: u8 = b'i';
    pub(super) const CANCEL_CALL: u8 = b'x';
    pub(super) const RESOLVE: u8 = b'n';
    pub(super) const STDOUT: u8 = b'o';
    pub(super) const STDERR: u8 = b'e';
    pub(super) const SHOW: u8 = b's';
    pub(super) const FINISHED: u8 = b'd';
    pub(super) const RAISED: u8 = b't';
    pub(super) const MISSING_MODULES: u8 = b'l';
    pub(super) const SANDBOX_TESTED: u8 = b'w';
    pub(super) const SKIP_WARM_UP: u8 = b'H';
    pub(super) const TEST_SANDBOX: u8 = b'W';
    pub(super) const PROGRAM: u8 = b'P';
    pub(super) const NAME_RESOLVED: u8 = b'N';
    pub(super) const VALUE_NOTHING: u8 = b'V';
    pub(super) const VALUE_JSON: u8 = b'J';
    pub(super) const VALUE_TEXT: u8 = b'T';
    pub(super) const VALUE_CONTENT: u8 = b'C';
    pub(super) const ERROR: u8 = b'E';
    pub(super) const HELD: u8 = b'I';
    pub(super) const RELEASED: u8 = b'G';
}

/// A frame from the gateway to a worker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ToWorker<'a> {
    /// Run this program within these limits, if a condition is met (see [`Condition`]).
    Program {
        limits: ProgramLimits,
        /// The size of the program's scratch folder; zero if it has none.
        scratch_bytes: u64,
        options: RunOptions,
        condition: &'a str,
        /// The program's arguments, its name first, separated by NUL; empty if it has none.
        argv: &'a str,
        /// The variables of the top level that are local variables of its code, one per line.
        fast_names: &'a str,
        /// Present if the run is journalled.
        journal: Option<JournalStart<'a>>,
        code: &'a str,
    },
    /// The call waits for a person. While all calls of the program do, its timers stand still.
    Held { id: u64 },
    /// The call no longer waits for a person.
    Released { id: u64 },
    /// A program is about to be sent, and only waits for this worker to be ready.
    SkipWarmUp,
    /// Test the sandbox instead of running a program.
    TestSandbox,
    /// The result of resolving a name, as JSON: `{"name": …, "parameters": […]}` with the name to
    /// call it by, `{"blocked": true}` or `{"nearest": […]}`.
    NameResolved { meaning: &'a str },
    /// The answer to a call or a question.
    Answer { id: u64, answer: AnswerPayload<'a> },
}

/// What makes a journalled program repeatable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JournalStart<'a> {
    /// Makes the random numbers of the program.
    pub(crate) seed: [u8; 32],
    /// The observations of an earlier worker, to be repeated; empty for a new run.
    pub(crate) observations: &'a [u8],
}

impl<'a> JournalStart<'a> {
    fn decode(kind: u8, bytes: &'a [u8]) -> Result<Option<Self>, ProtocolError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let (seed, observations) =
            bytes.split_first_chunk().ok_or(ProtocolError::TooShort(kind))?;
        Ok(Some(Self { seed: *seed, observations }))
    }
}

/// Options for running a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunOptions {
    /// Keep the program's variables, and wait for another program.
    pub(crate) keep_worker: bool,
    /// What to report about the value of the program.
    pub(crate) value_report: ValueReport,
}

impl RunOptions {
    fn to_bits(self) -> u64 {
        u64::from(self.keep_worker) | self.value_report.to_bits() << 1
    }

    fn from_bits(bits: u64) -> Self {
        Self { keep_worker: bits & 1 != 0, value_report: ValueReport::from_bits(bits >> 1) }
    }
}

/// What a worker reports about the value of a program: what it returned, or its last expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ValueReport {
    /// Nothing.
    #[default]
    None,
    /// The name of its type, unless it has no value.
    Type,
    /// The value as JSON.
    Whole,
}

impl ValueReport {
    pub(crate) fn to_bits(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Whole => 1,
            Self::Type => 2,
        }
    }

    fn from_bits(bits: u64) -> Self {
        match bits & 3 {
            1 => Self::Whole,
            2 => Self::Type,
            _ => Self::None,
        }
    }
}

/// A summary of an exception. Every field comes from an untrusted process.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ExceptionSummary {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) line: Option<u64>,
    /// Whether it is a group of exceptions, and one of them is about a value.
    pub(crate) has_value_error: bool,
    /// What the sandbox denied, as a name of `DeniedResource::NAMES`.
    pub(crate) denied: Option<String>,
    /// The part of a plan that failed.
    pub(crate) plan_part: Option<PlanPart>,
}

/// The condition for running a program; if it is not met, the worker answers `MissingModules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition<'a> {
    /// No condition.
    None,
    /// Every module that the program imports exists.
    AllModules,
    /// At least one of these modules exists; they are listed one per line.
    OneOf(&'a str),
}

impl<'a> Condition<'a> {
    /// The condition as it is sent.
    pub(crate) fn text(self) -> &'a str {
        match self {
            Self::None => "",
            Self::AllModules => "*",
            Self::OneOf(modules) => modules,
        }
    }
}

/// The answer to a call or a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerPayload<'a> {
    /// No content.
    Nothing,
    /// A JSON document.
    Json(&'a str),
    /// JSON if the text can be parsed, otherwise a string.
    Text(&'a str),
    /// A value and the content blocks that came with it: a JSON array of the kind of the value
    /// (`nothing`, `json` or `text`), its text, and the blocks.
    Content(&'a str),
    /// The message of a `ToolError`.
    Error(&'a str),
}

/// A frame that violates the protocol.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum ProtocolError {
    #[error("a frame of {0} bytes is over the limit")]
    TooLong(usize),
    #[error("an empty frame")]
    Empty,
    #[error("an unknown kind of frame: {0}")]
    UnknownKind(u8),
    #[error("a frame of kind {0} that is too short")]
    TooShort(u8),
    #[error("a frame of kind {0} with text that is not UTF-8")]
    NotUtf8(u8),
    #[error("a call with the id of another")]
    DuplicateId,
    #[error("a call of a name that no tool has")]
    NameTooLong,
    #[error("arguments that are not a JSON object")]
    ArgumentsNotObject,
    #[error("arguments that are not JSON")]
    ArgumentsNotJson,
    #[error("a question that is not valid")]
    InvalidQuestion,
}

/// The length of the first complete frame in `bytes`, including its header; `None` if more bytes
/// are needed.
pub(crate) fn frame_length(bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
    let Some(length) = bytes.first_chunk::<4>() else { return Ok(None) };
    // A length that does not fit becomes one that is over the limit.
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    match length {
        0 => Err(ProtocolError::Empty),
        length if length > MAX_FRAME => Err(ProtocolError::TooLong(length)),
        length if bytes.len() < length + 4 => Ok(None),
        length => Ok(Some(length + 4)),
    }
}

/// The length that the first frame in `bytes` announces; zero if it is unknown or over the limit.
pub(crate) fn announced_length(bytes: &[u8]) -> usize {
    let length = bytes.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
    usize::try_from(length).ok().filter(|length| *length <= MAX_FRAME).map_or(0, |it| it + 4)
}

impl<'a> FromWorker<'a> {
    /// Decodes one whole frame, header included.
    pub(crate) fn decode(frame: &'a [u8]) -> Result<Self, ProtocolError> {
        let (kind, payload) = split(frame)?;
        Ok(match kind {
            kind::READY => Self::Ready,
            kind::CALL | kind::CALL_FRESH => {
                let (id, rest) = take_u64(kind, payload)?;
                let (length, rest) =
                    rest.split_first_chunk::<2>().ok_or(ProtocolError::TooShort(kind))?;
                let (name, arguments) = rest
                    .split_at_checked(usize::from(u16::from_le_bytes(*length)))
                    .ok_or(ProtocolError::TooShort(kind))?;
                let freshness = if kind == kind::CALL { Freshness::Any } else { Freshness::New };
                let (name, arguments) = (text(kind, name)?, text(kind, arguments)?);
                Self::Call { id, name, arguments, freshness }
            }
            kind::CALL_NODE => {
                let (id, rest) = take_u64(kind, payload)?;
                let (node, arguments) =
                    rest.split_first_chunk().ok_or(ProtocolError::TooShort(kind))?;
                let (node, arguments) = (u32::from_le_bytes(*node), text(kind, arguments)?);
                Self::CallNode { id, node, arguments }
            }
            kind::ASK => {
                let (id, question) = take_u64(kind, payload)?;
                Self::Ask { id, question: text(kind, question)? }
            }
            kind::SITE => {
                let (line, rest) =
                    payload.split_first_chunk().ok_or(ProtocolError::TooShort(kind))?;
                let (column, task) =
                    rest.split_first_chunk().ok_or(ProtocolError::TooShort(kind))?;
                let (line, column) = (u32::from_le_bytes(*line), u32::from_le_bytes(*column));
                Self::Site { line, column, task: text(kind, task)? }
            }
            kind::OBSERVED => Self::Observed(payload),
            kind::REPLAYED => Self::Replayed,
            kind::DIVERGED => Self::Diverged { difference: text(kind, payload)? },
            kind::IN_PLACE_ONLY => Self::InPlaceOnly { reason: text(kind, payload)? },
            kind::CANCEL_CALL => Self::CancelCall { id: take_u64(kind, payload)?.0 },
            kind::RESOLVE => Self::Resolve { name: text(kind, payload)? },
            kind::STDOUT => Self::Stdout(payload),
            kind::STDERR => Self::Stderr(payload),
            kind::SHOW => Self::Show { block: text(kind, payload)? },
            kind::FINISHED => Self::Finished { value: text(kind, payload)? },
            kind::RAISED => {
                let (summary, traceback) = take_text(kind, payload)?;
                Self::Raised { summary, traceback: text(kind, traceback)? }
            }
            kind::MISSING_MODULES => Self::MissingModules { modules: text(kind, payload)? },
            kind::SANDBOX_TESTED => Self::SandboxTested { report: text(kind, payload)? },
            unknown => return Err(ProtocolError::UnknownKind(unknown)),
        })
    }

    /// Appends this frame to `buffer`.
    pub(crate) fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), ProtocolError> {
        match self {
            Self::Ready => push_frame(buffer, kind::READY, &[]),
            Self::Call { id, name, arguments, freshness } => {
                let length = u16::try_from(name.len())
                    .map_err(|_| ProtocolError::TooLong(name.len()))?
                    .to_le_bytes();
                let parts = [&id.to_le_bytes()[..], &length, name.as_bytes(), arguments.as_bytes()];
                let kind = match freshness {
                    Freshness::Any => kind::CALL,
                    Freshness::New => kind::CALL_FRESH,
                };
                push_frame(buffer, kind, &parts)
            }
            Self::CallNode { id, node, arguments } => {
                let parts = [&id.to_le_bytes()[..], &node.to_le_bytes(), arguments.as_bytes()];
                push_frame(buffer, kind::CALL_NODE, &parts)
            }
            Self::Ask { id, question } => {
                push_frame(buffer, kind::ASK, &[&id.to_le_bytes(), question.as_bytes()])
            }
            Self::Site { line, column, task } => {
                let parts = [&line.to_le_bytes()[..], &column.to_le_bytes(), task.as_bytes()];
                push_frame(buffer, kind::SITE, &parts)
            }
            Self::Observed(bytes) => push_frame(buffer, kind::OBSERVED, &[bytes]),
            Self::Replayed => push_frame(buffer, kind::REPLAYED, &[]),
            Self::Diverged { difference } => {
                push_frame(buffer, kind::DIVERGED, &[difference.as_bytes()])
            }
            Self::InPlaceOnly { reason } => {
                push_frame(buffer, kind::IN_PLACE_ONLY, &[reason.as_bytes()])
            }
            Self::CancelCall { id } => push_frame(buffer, kind::CANCEL_CALL, &[&id.to_le_bytes()]),
            Self::Resolve { name } => push_frame(buffer, kind::RESOLVE, &[name.as_bytes()]),
            Self::Stdout(bytes) => push_frame(buffer, kind::STDOUT, &[bytes]),
            Self::Stderr(bytes) => push_frame(buffer, kind::STDERR, &[bytes]),
            Self::Show { block } => push_frame(buffer, kind::SHOW, &[block.as_bytes()]),
            Self::Finished { value } => push_frame(buffer, kind::FINISHED, &[value.as_bytes()]),
            Self::Raised { summary, traceback } => {
                let parts =
                    [&encoded_length(summary)[..], summary.as_bytes(), traceback.as_bytes()];
                push_frame(buffer, kind::RAISED, &parts)
            }
            Self::MissingModules { modules } => {
                push_frame(buffer, kind::MISSING_MODULES, &[modules.as_bytes()])
            }
            Self::SandboxTested { report } => {
                push_frame(buffer, kind::SANDBOX_TESTED, &[report.as_bytes()])
            }
        }
    }
}

impl<'a> ToWorker<'a> {
    /// Decodes one whole frame, header included.
    pub(crate) fn decode(frame: &'a [u8]) -> Result<Self, ProtocolError> {
        let (kind, payload) = split(frame)?;
        let answer = |make: fn(&'a str) -> AnswerPayload<'a>| {
            let (id, rest) = take_u64(kind, payload)?;
            Ok(Self::Answer { id, answer: make(text(kind, rest)?) })
        };
        match kind {
            kind::PROGRAM => {
                let (memory_bytes, rest) = take_u64(kind, payload)?;
                let (cpu_seconds, rest) = take_u64(kind, rest)?;
                let (file_bytes, rest) = take_u64(kind, rest)?;
                let (scratch_bytes, rest) = take_u64(kind, rest)?;
                let (options, rest) = take_u64(kind, rest)?;
                let (condition, rest) = take_text(kind, rest)?;
                let (argv, rest) = take_text(kind, rest)?;
                let (fast_names, rest) = take_text(kind, rest)?;
                let (journal, code) = take_bytes(kind, rest)?;
                let journal = JournalStart::decode(kind, journal)?;
                let limits = ProgramLimits { memory_bytes, cpu_seconds, file_bytes };
                let (options, code) = (RunOptions::from_bits(options), text(kind, code)?);
                Ok(Self::Program {
                    limits,
                    scratch_bytes,
                    options,
                    condition,
                    argv,
                    fast_names,
                    journal,
                    code,
                })
            }
            kind::HELD => Ok(Self::Held { id: take_u64(kind, payload)?.0 }),
            kind::RELEASED => Ok(Self::Released { id: take_u64(kind, payload)?.0 }),
            kind::SKIP_WARM_UP => Ok(Self::SkipWarmUp),
            kind::TEST_SANDBOX => Ok(Self::TestSandbox),
            kind::NAME_RESOLVED => Ok(Self::NameResolved { meaning: text(kind, payload)? }),
            kind::VALUE_NOTHING => answer(|_| AnswerPayload::Nothing),
            kind::VALUE_JSON => answer(AnswerPayload::Json),
            kind::VALUE_TEXT => answer(AnswerPayload::Text),
            kind::VALUE_CONTENT => answer(AnswerPayload::Content),
            kind::ERROR => answer(AnswerPayload::Error),
            unknown => Err(ProtocolError::UnknownKind(unknown)),
        }
    }

    /// Appends this frame to `buffer`.
    pub(crate) fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), ProtocolError> {
        match self {
            Self::Program {
                limits,
                scratch_bytes,
                options,
                condition,
                argv,
                fast_names,
                journal,
                code,
            } => {
                let (seed, observations) = journal
                    .as_ref()
                    .map_or((&[][..], &[][..]), |it| (&it.seed[..], it.observations));
                let ProgramLimits { memory_bytes, cpu_seconds, file_bytes } = *limits;
                let numbers =
                    [memory_bytes, cpu_seconds, file_bytes, *scratch_bytes, options.to_bits()];
                let numbers = numbers.map(u64::to_le_bytes).concat();
                let parts = [
                    &numbers[..],
                    &encoded_length(condition),
                    condition.as_bytes(),
                    &encoded_length(argv),
                    argv.as_bytes(),
                    &encoded_length(fast_names),
                    fast_names.as_bytes(),
                    &number_of(seed.len() + observations.len()),
                    seed,
                    observations,
                    code.as_bytes(),
                ];
                push_frame(buffer, kind::PROGRAM, &parts)
            }
            Self::Held { id } => push_frame(buffer, kind::HELD, &[&id.to_le_bytes()]),
            Self::Released { id } => push_frame(buffer, kind::RELEASED, &[&id.to_le_bytes()]),
            Self::SkipWarmUp => push_frame(buffer, kind::SKIP_WARM_UP, &[]),
            Self::TestSandbox => push_frame(buffer, kind::TEST_SANDBOX, &[]),
            Self::NameResolved { meaning } => {
                push_frame(buffer, kind::NAME_RESOLVED, &[meaning.as_bytes()])
            }
            Self::Answer { id, answer } => {
                let (kind, text) = match answer {
                    AnswerPayload::Nothing => (kind::VALUE_NOTHING, ""),
                    AnswerPayload::Json(text) => (kind::VALUE_JSON, *text),
                    AnswerPayload::Text(text) => (kind::VALUE_TEXT, *text),
                    AnswerPayload::Content(text) => (kind::VALUE_CONTENT, *text),
                    AnswerPayload::Error(text) => (kind::ERROR, *text),
                };
                push_frame(buffer, kind, &[&id.to_le_bytes(), text.as_bytes()])
            }
        }
    }
}

fn split(frame: &[u8]) -> Result<(u8, &[u8]), ProtocolError> {
    match frame.split_at_checked(HEADER_SIZE) {
        Some(([.., kind], payload)) => Ok((*kind, payload)),
        _ => Err(ProtocolError::Empty),
    }
}

fn take_u64(kind: u8, payload: &[u8]) -> Result<(u64, &[u8]), ProtocolError> {
    let (number, rest) = payload.split_first_chunk().ok_or(ProtocolError::TooShort(kind))?;
    Ok((u64::from_le_bytes(*number), rest))
}

/// A text that is preceded by its length, and the bytes after it.
fn take_text(kind: u8, payload: &[u8]) -> Result<(&str, &[u8]), ProtocolError> {
    let (taken, rest) = take_bytes(kind, payload)?;
    Ok((text(kind, taken)?, rest))
}

/// Bytes that are preceded by their number, and the bytes after them.
fn take_bytes(kind: u8, payload: &[u8]) -> Result<(&[u8], &[u8]), ProtocolError> {
    let (length, rest) = take_u64(kind, payload)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    rest.split_at_checked(length).ok_or(ProtocolError::TooShort(kind))
}

fn encoded_length(text: &str) -> [u8; 8] {
    number_of(text.len())
}

fn number_of(length: usize) -> [u8; 8] {
    u64::try_from(length).unwrap_or(u64::MAX).to_le_bytes()
}

fn text(kind: u8, bytes: &[u8]) -> Result<&str, ProtocolError> {
    str::from_utf8(bytes).map_err(|_| ProtocolError::NotUtf8(kind))
}

fn push_frame(buffer: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) -> Result<(), ProtocolError> {
    let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    if length > MAX_FRAME {
        return Err(ProtocolError::TooLong(length));
    }
    let prefix = u32::try_from(length).map_err(|_| ProtocolError::TooLong(length))?;
    buffer.reserve(length + 4);
    buffer.extend_from_slice(&prefix.to_le_bytes());
    buffer.push(kind);
    for part in parts {
        buffer.extend_from_slice(part);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_a_worker_survive_the_way() {
        let frames = [
            FromWorker::Ready,
            FromWorker::Call {
                id: 7,
                name: "mcp__a__b",
                arguments: r#"{"x":1}"#,
                freshness: Freshness::Any,
            },
            FromWorker::Call {
                id: 8,
                name: "mcp__a__b",
                arguments: "{}",
                freshness: Freshness::New,
            },
            FromWorker::CallNode { id: 9, node: 3, arguments: r#"{"x":[]}"# },
            FromWorker::Ask { id: 10, question: r#"{"list":{}}"# },
            FromWorker::Site { line: 3, column: 7, task: "0.2" },
            FromWorker::Observed(b"\x00\xff"),
            FromWorker::Replayed,
            FromWorker::Diverged { difference: "it reads the clock" },
            FromWorker::InPlaceOnly { reason: r#""threads""# },
            FromWorker::CancelCall { id: u64::MAX },
            FromWorker::Resolve { name: "mcp__a__ü" },
            FromWorker::Stdout(b"\xff\x00"),
            FromWorker::Stderr(b""),
            FromWorker::Show { block: "{}" },
            FromWorker::Finished { value: "" },
            FromWorker::Finished { value: "[1]" },
            FromWorker::Raised { summary: r#"{"line":1}"#, traceback: "ValueError: é" },
            FromWorker::MissingModules { modules: "numpy\npandas" },
            FromWorker::SandboxTested { report: "{}" },
        ];
        for frame in frames {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes).unwrap();
            assert_eq!(frame_length(&bytes), Ok(Some(bytes.len())));
            assert_eq!(FromWorker::decode(&bytes), Ok(frame));
        }
    }

    #[test]
    fn frames_of_the_gateway_survive_the_way() {
        let options = RunOptions { keep_worker: true, value_report: ValueReport::Type };
        let limits = ProgramLimits { memory_bytes: 1 << 40, cpu_seconds: 7, file_bytes: 0 };
        let frames = [
            ToWorker::Program {
                scratch_bytes: 0,
                limits,
                options: RunOptions::default(),
                condition: "",
                argv: "report.py\0é",
                fast_names: "",
                journal: None,
                code: "print('é')",
            },
            ToWorker::Program {
                limits,
                scratch_bytes: 9,
                options,
                condition: "numpy\npandas",
                argv: "",
                fast_names: "total\nrow",
                journal: Some(JournalStart { seed: [7; 32], observations: b"\xff" }),
                code: "",
            },
            ToWorker::Held { id: 1 },
            ToWorker::Released { id: 1 },
            ToWorker::SkipWarmUp,
            ToWorker::TestSandbox,
            ToWorker::NameResolved { meaning: r#"{"blocked":true}"# },
            ToWorker::Answer { id: 1, answer: AnswerPayload::Nothing },
            ToWorker::Answer { id: 2, answer: AnswerPayload::Json("[1]") },
            ToWorker::Answer { id: 3, answer: AnswerPayload::Text("one") },
            ToWorker::Answer { id: 5, answer: AnswerPayload::Content(r#"["text","a",[]]"#) },
            ToWorker::Answer { id: 4, answer: AnswerPayload::Error("'x' failed: no") },
        ];
        for frame in frames {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes).unwrap();
            assert_eq!(ToWorker::decode(&bytes), Ok(frame));
        }
    }

    #[test]
    fn every_prefix_of_a_frame_asks_for_more() {
        let mut bytes = Vec::new();
        FromWorker::Resolve { name: "mcp__a__b" }.encode(&mut bytes).unwrap();
        for end in 0..bytes.len() {
            assert_eq!(frame_length(&bytes[..end]), Ok(None), "after {end} bytes");
        }
    }

    #[test]
    fn hostile_frames_are_errors() {
        let cases: [(&[u8], ProtocolError); 10] = [
            (b"\0\0\0\0", ProtocolError::Empty),
            (b"\xff\xff\xff\xff", ProtocolError::TooLong(0xffff_ffff)),
            (b"\x01\0\0\0?", ProtocolError::UnknownKind(b'?')),
            (b"\x02\0\0\0x1", ProtocolError::TooShort(b'x')),
            (b"\x0d\0\0\0c12345678\xff\xffab", ProtocolError::TooShort(b'c')),
            (b"\x02\0\0\0n\xff", ProtocolError::NotUtf8(b'n')),
            (b"\x08\0\0\0q1234567", ProtocolError::TooShort(b'q')),
            (b"\x0a\0\0\0q12345678\xff", ProtocolError::NotUtf8(b'q')),
            (b"\x0c\0\0\0p12345678123", ProtocolError::TooShort(b'p')),
            (b"\x0e\0\0\0p123456781234\xff", ProtocolError::NotUtf8(b'p')),
        ];
        for (bytes, expected) in cases {
            let result = frame_length(bytes).and_then(|_| FromWorker::decode(bytes).map(|_| ()));
            assert_eq!(result, Err(expected), "{bytes:?}");
        }
    }
}
