//! The layers (middleware) that a call passes on its way to a tool, and the functions that programs
//! have beside tools. `stack.rs` puts the layers together.

mod arguments;
mod cache;
mod concurrency;
mod decide;
mod discovery;
mod learning;
mod log;
mod quota;
mod resource_functions;
mod template;

pub(crate) use arguments::ArgumentCheck;
pub use cache::{Cache, ServerIdentities};
pub(crate) use cache::{CacheControl, Cached};
pub(crate) use concurrency::ConcurrencyLimit;
pub(crate) use decide::Decide;
pub(crate) use discovery::{Discovery, input_schema};
pub(crate) use learning::Learning;
pub(crate) use log::Logged;
pub(crate) use quota::Quota;
pub(crate) use resource_functions::{ResourceFunctions, function};
