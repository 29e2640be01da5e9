//! Cedar policies: which user may call which tool, with which arguments, and when a person is asked.
//!
//! [`PolicySource::load`] reads and parses files, [`Policies::new`] checks them against the servers
//! and tools that there are, and [`Policies`] decides. Nothing but `files` touches the disk.
//!
//! Whatever is not certain denies: a call that no policy permits, a policy that cannot be evaluated
//! or does not fit the definition of a tool, an argument that Cedar cannot carry exactly.

mod argument_type;
mod argument_value;
mod check;
mod compiled;
mod deep_stack;
mod entity;
mod explain;
mod files;
mod function;
mod index;
mod json;
mod policies;
mod policy_list;
mod problem;
mod profile;
mod reads;
mod scene;
mod scope;
mod source;
mod validate;

pub use explain::{ExplainedPolicy, Explanation, ListedPolicy, PolicyResult};
pub use files::PolicyFile;
pub use function::{function_definition, is_function};
pub use policies::Policies;
pub use problem::{PolicyErrors, PolicyProblem, PolicyWarning, Position, WarningKind};
pub use source::{PolicyEffect, PolicySource};
