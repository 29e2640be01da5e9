//! One program from start to [`Outcome`]: its limits, its output, and the stack of
//! layers its tool calls walk through on their way to the host that executes them.

mod account;
mod answer;
mod capture;
mod directory;
mod exposed;
mod file;
mod gateway;
pub mod layers;
mod learned;
mod listed;
mod metrics;
mod observer;
mod plan;
mod record;
mod reload;
mod report;
mod review;
mod revision;
mod rules;
mod runtime;
mod search;
mod sessions;
mod single;
mod transcript;
mod tree;
mod visit;

pub use account::RUN_LOG_TARGET;
pub use answer::PlanAnswer;
pub use directory::{Directory, Found};
pub use exposed::ExposedTool;
pub use gateway::{Gateway, ToolNotFound};
pub use listed::Listed;
pub use metrics::{Lookup, Metrics};
pub use observer::{Observer, Silent};
pub use onecall_bridge::ToolFace;
pub use plan::{Plan, PlanProblems, PlanRequest};
pub use record::{Recorder, Tokenizer};
pub use reload::Reloaded;
pub use report::report;
pub use review::Preview;
pub use runtime::Runtime;
pub use search::{Findings, NoSuchServer, ToolFinding, ToolSearch};
pub use transcript::{Transcript, call_id};
pub use tree::ToolTree;
