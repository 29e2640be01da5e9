//! Generates files for agents that run their own code: a typed function for every tool, and a small
//! client that makes calls through `onecall`. This module only creates text and writes no files.

mod example;
mod names;
mod python;
mod sample;
mod typescript;

use std::collections::BTreeMap;
use std::sync::Arc;

use onecall_core::{Digest, Language, ToolCategory, ToolSpec};

use self::names::{FunctionLocation, function_locations};
use crate::observed::ObservedOutput;

/// A tool for which files are generated.
#[derive(Clone, Debug)]
pub struct GeneratedTool {
    /// The tool.
    pub spec: Arc<ToolSpec>,
    /// The category, which is the name of its folder.
    pub category: ToolCategory,
    /// The shape of its earlier results, if the server declares none.
    pub observed: Option<ObservedOutput>,
}

/// The generated files by their relative paths, with `/` as the separator.
pub type GeneratedFiles = BTreeMap<String, String>;

/// Generates the files for these tools. The result does not depend on the order of the tools.
/// `folder` is the name of the folder, for use in the documentation.
#[must_use]
pub fn generate(tools: &[GeneratedTool], language: Language, folder: &str) -> GeneratedFiles {
    let located = locate_tools(tools, language);
    match language {
        Language::TypeScript => typescript::files(&located, folder),
        Language::Python => python::files(&located, folder),
    }
}

/// The generated file of a single tool.
#[must_use]
pub fn generated_file(tool: &GeneratedTool, language: Language) -> String {
    let located = locate_tools(std::slice::from_ref(tool), language);
    let text = located.first().map(|located| match language {
        Language::TypeScript => typescript::tool(located).text,
        Language::Python => python::tool(located),
    });
    text.unwrap_or_default()
}

/// The digest of a file's content.
#[must_use]
pub fn content_digest(content: &[u8]) -> String {
    Digest::of(content).to_string()
}

/// A tool and the location of its file.
struct LocatedTool<'a> {
    tool: &'a GeneratedTool,
    location: FunctionLocation,
}

fn locate_tools(tools: &[GeneratedTool], language: Language) -> Vec<LocatedTool<'_>> {
    let mut tools: Vec<&GeneratedTool> = tools.iter().collect();
    tools.sort_by(|one, other| one.spec.callable.cmp(&other.spec.callable));
    let found = function_locations(&tools, language);
    let mut located: Vec<LocatedTool<'_>> = tools
        .into_iter()
        .zip(found)
        .map(|(tool, location)| LocatedTool { tool, location })
        .collect();
    located.sort_by(|one, other| one.location.cmp(&other.location));
    located
}
