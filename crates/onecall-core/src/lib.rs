//! The words of the domain: what a tool, a call, a program and its outcome are,
//! and [`ToolHost`], the callback that executes a tool for a program.
//!
//! Nothing here does I/O or knows of MCP, so every other crate can speak these
//! words without learning where a tool lives or how a program runs.

mod caller;
mod category;
mod error;
mod host;
mod name;
mod outcome;
mod program;
mod tool;
mod trace;

pub use caller::{Abilities, Caller, ClientId, Question, Refusal, Subject};
pub use category::Category;
pub use error::ToolError;
pub use host::{BoxFuture, Resolution, Resolving, ToolHost};
pub use name::{CallableName, ServerName, ToolName};
pub use outcome::{
    CallEnd, CallRecord, Calls, ErrorSummary, Failure, Observation, Outcome, Output, Shown,
    ShownKind, Tokens,
};
pub use program::{
    Detail, EngineChoice, Language, Limits, Program, SessionLimits, SessionRequest, Workspace,
    WorkspaceAccess,
};
pub use tool::{AnswerForm, Freshness, ToolAnnotations, ToolCall, ToolSpec, ToolValue};
pub use trace::{SPAN_TARGET, TraceContext};
