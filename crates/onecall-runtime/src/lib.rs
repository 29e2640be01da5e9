//! Runs a program from start to [`Outcome`](onecall_core::Outcome): applies its limits, captures
//! its output, and passes its tool calls through a stack of layers to the host that executes them.
//!
//! This crate does not know where tools live or where data is stored: a host, a store and settings
//! are passed in. `examples/embed.rs` is a complete program with a host of its own.

mod account;
mod answer;
mod call_log;
mod capture;
mod directory;
mod file;
mod hint;
mod layers;
mod learned;
mod metrics;
mod names;
mod observer;
mod plan;
mod program_calls;
mod record;
mod report;
mod review;
mod runtime;
mod sessions;
mod single;
pub mod stack;
mod transcript;
mod writer;

pub use account::RUN_LOG_TARGET;
pub use answer::PlanAnswer;
pub use call_log::CallEvent;
pub use directory::{Directory, Found, SeenMeanings};
pub use file::SaveError;
pub use layers::{Cache, ServerIdentities};
pub use learned::Learned;
pub use metrics::{CacheLookup, Metrics, MetricsState};
pub use names::PermittedTools;
pub use observer::{Observer, Silent};
pub use plan::{Lookup, Plan, PlanFailure, PlanProblems, PlanRequest, Problem, check_plan};
pub use record::{RecordSettings, Recorder, Redactor};
pub use report::report;
pub use review::Preview;
pub use runtime::Runtime;
pub use sessions::Sessions;
pub use single::SingleCall;
pub use transcript::{Transcript, call_id};
pub use writer::StoreWriter;
