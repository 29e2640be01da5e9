//! A call on its way to a tool: as a program writes it, as it is resolved, and how it is answered.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::{CallableName, Caller, RunId, ToolError, ToolSpec, ToolValue};

/// One call as a program makes it. The tool is only a name.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// Distinguishes the calls of one program.
    pub id: u64,
    /// The tool as the program named it.
    pub name: CallableName,
    /// A JSON object, passed on to the server as the program wrote it.
    pub arguments: Box<RawValue>,
    /// Whether an earlier answer will do.
    pub freshness: Freshness,
}

/// One call of the program that carries out a plan: a node of the plan is called, which knows its
/// tool.
#[derive(Clone, Debug)]
pub struct NodeCall {
    /// Distinguishes the calls of one program.
    pub id: u64,
    /// The number of the node.
    pub node: usize,
    /// A JSON object, passed on to the server as the program wrote it.
    pub arguments: Box<RawValue>,
}

/// What is known of a run from its beginning. Each call of the run carries it.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// The name of the run.
    pub id: RunId,
    /// What makes the calls of the run.
    pub kind: RunKind,
    /// The client that the run is for, if servers may turn to it.
    pub caller: Option<Arc<Caller>>,
}

/// What makes the calls of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// A program with the tools of the gateway.
    Program,
    /// A program whose tools are executed by the process that started onecall.
    Exec,
    /// A plan.
    Plan,
    /// A client that calls one exposed tool.
    ExposedTool,
    /// Generated code or a command that calls one tool.
    DirectCall,
}

impl RunKind {
    /// The kind as records have it.
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

    /// Whether the run is a single call that no program or plan makes.
    #[must_use]
    pub fn is_single_call(self) -> bool {
        matches!(self, Self::ExposedTool | Self::DirectCall)
    }
}

/// A call whose name was looked up. Layers decide about it, answer it or pass it on; none of them
/// looks the name up again.
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
    /// What is wanted of the answer.
    pub form: AnswerForm,
    /// Whether an earlier answer will do.
    pub freshness: Freshness,
    /// The run that the call belongs to.
    pub run: Arc<RunContext>,
    /// Where the log of the run has the call, once it is logged.
    pub log_entry: LogEntry,
}

/// The place of a call in the log of its run. Calls beyond those that a log has room for have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogEntry(pub Option<usize>);

/// What a call got.
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
    /// The tool answered a call like it before, or one that was under way.
    Cache,
}

/// How a call ends.
pub type CallResult = Result<Answer, ToolError>;

impl Answer {
    /// An answer that the tool gave to this call.
    #[must_use]
    pub fn live(value: ToolValue) -> Self {
        Self { value, origin: AnswerOrigin::Live }
    }

    /// An answer to an earlier call, or to one that others made at the same time.
    #[must_use]
    pub fn cached(value: ToolValue) -> Self {
        Self { value, origin: AnswerOrigin::Cache }
    }
}

/// Whether a call may be answered with what the tool has answered before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// It may, where answers are kept.
    #[default]
    Any,
    /// The tool itself is to answer, now.
    New,
}

/// What is wanted of the answer to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnswerForm {
    /// The value it stands for.
    #[default]
    Value,
    /// All of it as the server sent it, content blocks and structured content, as JSON.
    Whole,
    /// All of it as the server sent it, even if the tool says that it failed.
    Untouched,
}
