//! Reads Python programs.

mod arguments;
mod calls;
mod certain_loops;
mod certain_path;
mod depth;
mod exits;
mod fast_names;
mod last_value;
mod literal;
mod names;
mod parse;
mod result_use;
mod unawaited_arguments;

pub(super) use calls::tool_uses;
pub(super) use certain_path::findings;
pub(super) use fast_names::fast_names;
pub(super) use last_value::ends_with_value;
pub use names::ASYNC_PREFIX;
pub(super) use parse::{SyntaxTree, SyntaxTreeView};
