//! Runs a program from start to [`Outcome`](onecall_core::Outcome): applies its limits, captures
//! its output, and passes its tool calls through a stack of layers to the host that executes them.
//!
//! This crate does not know where tools live or where data is stored: a host, a store and settings
//! are passed in. `examples/embed.rs` is a complete program with a host of its own.

mod access;
mod approval;
mod audit;
mod call_log;
mod capture;
mod directory;
mod hint;
mod journal;
mod layers;
mod learned_types;
mod may_ask;
mod metrics;
mod names;
mod observer;
mod plan;
mod plan_answer;
mod program_calls;
mod record;
mod report;
mod review;
mod run_options;
mod run_telemetry;
mod runtime;
mod saved_program;
mod seldom;
mod sessions;
mod single_call;
pub mod stack;
mod store_writer;
mod transcript;
mod undeclared_results;

pub use access::{ToolPermission, UserAccess};
pub use approval::{ApprovalDesk, DeskError};
pub use audit::{AuditDetail, AuditError, AuditSettings, AuditWriter};
pub use call_log::CallEvent;
pub use directory::{Directory, LastKnownSpecs, NameLookup};
pub use journal::{Difference, Divergence, Journal, JournalError, JournalWriter};
pub use layers::{Cache, CallRates, ServerIdentities, uri_matches_template};
pub use learned_types::LearnedTypes;
pub use metrics::{CacheLookup, Metrics, MetricsState, StoreQueue};
pub use names::PermittedTools;
pub use observer::{NoopObserver, Observer};
pub use plan::{Plan, PlanFailure, PlanLookup, PlanProblem, PlanProblems, PlanRequest, check_plan};
pub use plan_answer::PlanAnswer;
pub use record::{RecordSettings, Recorder, Redactor, RunningRun, TokenCounter};
pub use report::report;
pub use review::Preview;
pub use run_options::RunOptions;
pub use run_telemetry::RUN_LOG_TARGET;
pub use runtime::Runtime;
pub use saved_program::SaveError;
pub use seldom::{Seldom, seldom};
pub use sessions::Sessions;
pub use single_call::SingleCall;
pub use store_writer::StoreWriter;
pub use transcript::{Transcript, call_id};
