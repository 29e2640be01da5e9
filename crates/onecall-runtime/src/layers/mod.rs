//! The layers (middleware) that a call passes on its way to a tool, and the functions that programs
//! have beside tools. `stack.rs` puts the layers together.

mod approval;
mod arguments;
mod audit;
mod cache;
mod call_rate;
mod concurrency;
mod decide;
mod discovery;
mod journal;
mod learning;
mod log;
mod quota;
mod resource_functions;
mod uri_template;
mod write_ahead;

pub(crate) use approval::ApprovalStep;
pub(crate) use arguments::ArgumentCheck;
pub(crate) use audit::{AuditGate, AuditRoom};
pub use cache::{Cache, ServerIdentities};
pub(crate) use cache::{CacheFunctions, CacheLayer};
pub(crate) use call_rate::CallRateLimit;
pub use call_rate::CallRates;
pub(crate) use concurrency::ConcurrencyLimit;
pub(crate) use decide::DecisionLayer;
pub(crate) use discovery::{Discovery, input_schema};
pub(crate) use journal::JournalLayer;
pub(crate) use learning::LearningLayer;
pub(crate) use log::LogLayer;
pub(crate) use quota::Quota;
pub(crate) use resource_functions::{
    FunctionUser, ResourceFunctions, resource_function, resource_functions,
};
pub use uri_template::matches as uri_matches_template;
pub(crate) use write_ahead::WriteAhead;
