//! The domain types that all crates share: tools, calls, programs and their outcomes, and
//! [`ToolHost`], which looks up tools and executes them.
//!
//! Nothing here does I/O or depends on MCP, so every other crate can use these types without
//! knowing where a tool runs or how a program is executed.

// Every other crate depends on this one, so a build for another system fails here first.
#[cfg(not(unix))]
compile_error!(
    "onecall does not build for this system: it forks processes and passes descriptors between \
     them, as Unix does. On Windows, run it in WSL 2 or in a Linux container; docs/systems.md says how"
);

mod access;
mod approval;
mod cache;
mod call;
mod caller;
mod category;
mod decision;
mod digest;
mod engine;
mod error;
mod gateway_id;
mod host;
mod journal;
pub mod lines;
mod log_level;
mod name;
pub mod nearest;
mod nonfinite;
mod outcome;
mod pattern;
mod picture;
mod principal;
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

pub use access::{AccessDecision, AccessOutlook, AccessPolicy, AccessRequest, PolicyRule};
pub use approval::{
    AnsweredVerdict, ApprovalQuestion, ApprovalScope, ApprovalWay, AskPolicy, AskRule, ItemId,
    QuestionKind, ToolHint, Verdict,
};
pub use cache::{CacheScope, CacheSettings};
pub use call::{
    Answer, AnswerForm, AnswerOrigin, CallResult, Freshness, LogIndex, NodeCall, ResolvedCall,
    RunContext, RunKind, ToolCall,
};
pub use caller::{
    Caller, CallerCapabilities, ClientId, ClientInput, LogChannel, ProgressChannel, ProgressReport,
    ServerQuestion, ServerQuestionChannel, ServerQuestionError, ServerQuestionKind,
};
pub use category::ToolCategory;
pub use decision::{Decision, DenyRule};
pub use digest::{Digest, DigestBuilder};
pub use engine::{EngineChoice, EngineName, Language, RunEngine};
pub use error::{ServerRefusal, ToolError};
pub use gateway_id::GatewayId;
pub use host::{
    BoxFuture, CallHandler, KnownBy, ProgramHost, Resolution, ResolutionFuture, ToolHost,
    ToolResolver,
};
pub use journal::{CallSite, InPlaceReason, JournalCall, JournalEvent};
pub use log_level::LogLevel;
pub use name::{CallableName, ServerName, ToolName};
pub use nonfinite::replace_nonfinite;
pub use outcome::{
    CallEnd, CallRecord, CallSummary, DeniedResource, ErrorSummary, Failure, Media, MediaKind,
    Outcome, Output, PlanPart, RecordedResult, TextSizes, TokenUsage, Unavailability,
};
pub use pattern::{PatternError, ToolPattern, ToolPolicy};
pub use picture::{Picture, PictureFormat};
pub use principal::{
    InvalidGroupName, InvalidUserName, MAX_GROUPS, Principal, UserName, check_group_name,
};
pub use program::{
    OutcomeDetail, Program, RunLimits, SessionHandle, SessionKey, SessionLimits, SessionRequest,
    TotalLimits, Workspace, WorkspaceAccess,
};
pub use question::ProgramQuestion;
pub use resources::{Completion, CompletionSubject, ListKind, ResourceError, ResourceHost};
pub use run_id::RunId;
pub use schema::{OutputForm, Schema, wrapped_schema};
pub use secret::Secret;
pub use time::Timestamp;
pub use tool::{ToolAnnotations, ToolSpec};
pub use trace::{SPAN_TARGET, TraceContext};
pub use value::{ToolValue, json_of_text};
