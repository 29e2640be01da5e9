//! Pure functions over tool definitions: callable names, lookup and search of tools, signatures of
//! calls, checks of arguments, and checks of a program's calls before it runs.
//!
//! Every string in a definition was chosen by a server that may be hostile. Such strings are data:
//! their length is limited before they are compared, and they are escaped before they are shown.

mod alias;
mod casing;
mod catalog;
mod category;
mod comment;
mod describe;
mod fit;
mod generate;
mod literal;
mod naming;
mod nearest;
mod observed;
mod permission;
mod program;
mod python;
mod search;
mod server;
mod shape;
mod summary;
mod surface;
mod synonyms;
mod text_result;
mod tokens;
mod tree;
mod types;
mod typescript;
mod untyped;
mod vocabulary;

pub use alias::{Alias, aliases, may_name_tool_of, names_tools_of};
pub use casing::{camel_case, identifier};
pub use catalog::{Catalog, ToolDefinition};
pub use category::category_of;
pub use describe::describe;
pub use fit::{Checked, Known, Misfit, Strictness, check_arguments, misfits};
pub use generate::{Files, Listed, content_digest, generate, generated_file};
pub use naming::{name_prefix, natural_name};
pub use observed::Observed;
pub use permission::{is_meant, permits};
pub use program::{ASYNC_PREFIX, Finding, ParsedProgram, ToolUse, ToolUses, Tools};
pub use python::{is_keyword_argument, python_signature, python_signature_with};
pub use server::{ServerMatch, match_server};
pub use shape::Shape;
pub use summary::summary;
pub use surface::{
    DESCRIPTION_TOKENS, SCHEMA_TOKENS, ShownSchema, clean as clean_schema, shown_description,
};
pub use text_result::TextResult;
pub use tree::{ToolFile, name_at, server_folder, tool_place};
pub use typescript::{typescript_signature, typescript_signature_with};
