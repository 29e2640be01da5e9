//! A call on its way to a tool: as a program writes it, as it is resolved, and how it is answered.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::{
    CallSite, CallableName, Caller, Digest, Language, Principal, RunId, ToolError, ToolSpec,
    ToolValue,
};

/// One call as a program makes it. The tool is only a name.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// Distinguishes the calls of one program.
    pub id: u64,
    /// The tool as the program named it.
    pub name: CallableName,
    /// A JSON object, passed on to the server as the program wrote it.
    pub arguments: Box<RawValue>,
    /// Whether a cached answer is acceptable.
    pub freshness: Freshness,
    /// The place in the program, if the run is journalled.
    pub site: Option<CallSite>,
}

/// One call made by the program that executes a plan. It names a node of the plan, and the node
/// determines the tool.
#[derive(Clone, Debug)]
pub struct NodeCall {
    /// Distinguishes the calls of one program.
    pub id: u64,
    /// The number of the node.
    pub node: usize,
    /// A JSON object, passed on to the server as the program wrote it.
    pub arguments: Box<RawValue>,
    /// The place in the program, if the run is journalled.
    pub site: Option<CallSite>,
}

/// Facts about a run that are known when it begins. Each call of the run carries them.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// The name of the run.
    pub id: RunId,
    /// The kind of the run.
    pub kind: RunKind,
    /// The user that the run is for.
    pub principal: Arc<Principal>,
    /// The name that the client gives itself; empty if it gives none.
    pub client: String,
    /// The digest of the program as it was received; `None` if the run is not one of a program.
    pub program: Option<Digest>,
    /// The language in which errors show how to call a tool: that of the program, if it is one.
    pub language: Language,
    /// The client that the run is for, if servers may send requests to it.
    pub caller: Option<Arc<Caller>>,
}

/// What kind of caller makes the calls of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// A program with the tools of the gateway.
    Program,
    /// A program whose tools are executed by the process that started onecall.
    Exec,
    /// A plan.
    Plan,
    /// A client that calls one exposed tool, or uses an exposed resource or prompt.
    ExposedTool,
    /// Generated code or a command that calls one tool.
    DirectCall,
}

impl RunKind {
    /// The name of the kind in run records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Exec => "exec",
            Self::Plan => "plan",
            Self::ExposedTool => "tool",
            Self::DirectCall => "call",
        }
    }

    /// Whether the run is one of a program, with the tools of the gateway or of another process.
    #[must_use]
    pub fn is_program(self) -> bool {
        matches!(self, Self::Program | Self::Exec)
    }

    /// Whether the run is a single call that no program or plan makes.
    #[must_use]
    pub fn is_single_call(self) -> bool {
        matches!(self, Self::ExposedTool | Self::DirectCall)
    }
}

/// A call whose tool name has been looked up. Layers reject it, answer it or pass it on; none of
/// them repeats the lookup.
#[derive(Clone, Debug)]
pub struct ResolvedCall {
    /// Distinguishes the calls of one run.
    pub id: u64,
    /// The tool as the program named it.
    pub name: CallableName,
    /// The tool, or why it cannot be called.
    pub tool: Result<Arc<ToolSpec>, ToolError>,
    /// The [revision](crate::ToolResolver::revision) at which the name was looked up.
    pub revision: u64,
    /// A JSON object, passed on to the server as the program wrote it.
    pub arguments: Box<RawValue>,
    /// The form in which the answer is wanted.
    pub form: AnswerForm,
    /// Whether a cached answer is acceptable.
    pub freshness: Freshness,
    /// The place in the program, if the run is journalled.
    pub site: Option<CallSite>,
    /// The run that the call belongs to.
    pub run: Arc<RunContext>,
    /// The index of the call in the log of its run, once it is logged.
    pub log_index: LogIndex,
}

/// The index of a call in the log of its run. Calls that exceed the size of the log have no index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogIndex(pub Option<usize>);

/// The answer to a call: its value and where the value comes from.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The value as the program gets it.
    pub value: ToolValue,
    /// Where the value comes from.
    pub origin: AnswerOrigin,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOrigin {
    /// The tool answered this call.
    Live,
    /// The value comes from the cache, or from an identical call that was already under way.
    Cache,
    /// The value comes from the journal: the call ended before the run was continued.
    Journal,
}

/// The result of a call: an answer, or the error that the program gets.
pub type CallResult = Result<Answer, ToolError>;

impl Answer {
    /// An answer that the tool gave to this call.
    #[must_use]
    pub fn live(value: ToolValue) -> Self {
        Self { value, origin: AnswerOrigin::Live }
    }

    /// An answer that was given to an earlier identical call, or to one that ran at the same time.
    #[must_use]
    pub fn cached(value: ToolValue) -> Self {
        Self { value, origin: AnswerOrigin::Cache }
    }

    /// An answer that the journal of the run keeps.
    #[must_use]
    pub fn journalled(value: ToolValue) -> Self {
        Self { value, origin: AnswerOrigin::Journal }
    }
}

/// Whether a call may be answered from the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// A cached answer is acceptable.
    #[default]
    Any,
    /// The tool must be called; a cached answer is not acceptable.
    New,
}

/// The form in which the answer to a call is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnswerForm {
    /// The value that the answer contains, without the protocol around it.
    #[default]
    Value,
    /// The complete answer as the server sent it, content blocks and structured content, as JSON.
    Whole,
    /// The complete answer as the server sent it, even if the tool reports an error in it.
    Untouched,
}
