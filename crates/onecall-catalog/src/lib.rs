//! Pure functions over tool definitions: callable names, lookup and search of tools, signatures of
//! calls, checks of arguments, and checks of a program's calls before it runs.
//!
//! Every string in a definition was chosen by a server that may be hostile. Such strings are data:
//! their length is limited before they are compared, and they are escaped before they are shown.

mod alias;
mod argument_check;
mod casing;
mod catalog;
mod category;
mod comment;
mod definition_digest;
mod describe;
mod generate;
mod literal;
mod naming;
mod nearest;
mod observed;
mod permission;
mod program;
mod python;
mod python_text;
mod search;
mod server;
mod shape;
mod shown_definition;
mod signature;
mod stems;
mod summary;
mod synonyms;
mod text_result;
mod tree;
mod types;
mod typescript;
mod untyped;
mod vocabulary;

pub use alias::{AliasMatch, aliases, may_be_tool_of, mentions_tools_of};
pub use argument_check::{
    ArgumentMismatch, CheckedArguments, PartialValue, Strictness, check_arguments, mismatches,
};
pub use casing::{camel_case, identifier};
pub use catalog::{Catalog, ToolDefinition};
pub use category::category_of;
pub use definition_digest::{canonical_schema, canonical_schema_with_order, definition_digest};
pub use describe::describe;
pub use generate::{GeneratedFiles, GeneratedTool, content_digest, generate, generated_file};
pub use naming::{callable_names, name_prefix, natural_name};
pub use observed::ObservedOutput;
pub use permission::{ask_rule, matches_any_name, permits};
pub use program::{
    ASYNC_PREFIX, Finding, ImportTarget, ParsedProgram, ToolLookup, ToolUse, ToolUses,
    nesting_depth,
};
pub use python::{is_keyword_argument, python_signature, python_signature_with};
pub use python_text::{PythonText, is_like_json};
pub use server::{ServerMatch, match_server};
pub use shape::Shape;
pub use shown_definition::{
    DESCRIPTION_TOKENS, SCHEMA_TOKENS, ShownSchema, clean_schema, shown_description,
};
pub use signature::signature;
pub use summary::summary;
pub use text_result::TextResult;
pub use tree::{ToolFile, callable_name_at, server_folder, tool_file_location};
pub use typescript::{typescript_signature, typescript_signature_with};
