//! Pure functions over tool definitions: which name a program calls a tool by,
//! which tools a query or a misspelt name means, how a call to one is written,
//! whether arguments can fit, and what is wrong with a program's calls before it runs.
//!
//! Every string in a definition was chosen by a server that may be hostile. It is
//! data here: bounded before it is compared, escaped before it is shown.

mod catalog;
mod fit;
mod literal;
mod naming;
mod nearest;
mod program;
mod python_type;
mod search;
mod server;
mod signature;
mod summary;
mod synonyms;
mod tokens;
mod tree;
mod typescript_signature;
mod vocabulary;

pub use catalog::{Catalog, ToolDefinition};
pub use fit::{Known, Misfit, check_arguments, misfits};
pub use naming::{name_prefix, natural_name};
pub use program::{Finding, ToolUse, ToolUses, Tools, calls_of, check_program, names_to_check};
pub use server::{ServerMatch, match_server};
pub use signature::python_signature;
pub use summary::summary;
pub use tree::{ToolFile, name_at, server_folder, tool_place};
pub use typescript_signature::typescript_signature;
