//! The words of the domain: what a tool, a call, a program and its outcome are,
//! and [`ToolHost`], which knows tools and executes them.
//!
//! Nothing here does I/O or knows of MCP, so every other crate can speak these
//! words without learning where a tool lives or how a program runs.

// Every other crate needs this one, so this is the first thing that such a build says.
#[cfg(not(unix))]
compile_error!(
    "onecall does not build for this system: it forks processes and passes descriptors between \
     them, as Unix does. On Windows, run it in WSL 2 or in a Linux container; docs/systems.md says how"
);

mod cache;
mod call;
mod caller;
mod category;
mod decision;
mod digest;
mod engine;
mod error;
mod host;
pub mod lines;
mod name;
pub mod nearest;
mod nonfinite;
mod outcome;
mod pattern;
mod program;
mod question;
mod resources;
mod run_id;
mod schema;
mod secret;
pub mod storage;
pub mod text;
mod time;
mod tool;
mod trace;
mod value;

pub use cache::{CacheScope, CacheSettings};
pub use call::{
    Answer, AnswerForm, AnswerOrigin, CallResult, Freshness, LogEntry, NodeCall, ResolvedCall,
    RunContext, RunKind, ToolCall,
};
pub use caller::{
    Abilities, Caller, ClientId, ProgressChannel, ProgressReport, Question, QuestionChannel,
    Refusal, Subject,
};
pub use category::Category;
pub use decision::{Decision, DenyRule};
pub use digest::{Digest, Hasher};
pub use engine::{EngineChoice, EngineName, Language};
pub use error::ToolError;
pub use host::{
    BoxFuture, CallHandler, ProgramHost, Resolution, Resolving, ToolHost, ToolResolver,
};
pub use name::{CallableName, ServerName, ToolName};
pub use nonfinite::replace_nonfinite;
pub use outcome::{
    CallEnd, CallRecord, Calls, Denied, ErrorSummary, Failure, Observation, Outcome, Output,
    PlanPart, Shown, ShownKind, TextSizes, Tokens,
};
pub use pattern::{PatternError, ToolPattern, ToolPolicy};
pub use program::{
    Detail, Limits, Program, SessionHandle, SessionKey, SessionLimits, SessionRequest, TotalLimits,
    Workspace, WorkspaceAccess,
};
pub use question::ProgramQuestion;
pub use resources::{ListKind, ResourceError, ResourceHost};
pub use run_id::RunId;
pub use schema::{OutputForm, Schema, wrapped_schema};
pub use secret::Secret;
pub use time::Timestamp;
pub use tool::{ToolAnnotations, ToolSpec};
pub use trace::{SPAN_TARGET, TraceContext};
pub use value::{ToolValue, json_of_text};
