//! Generates files for agents that run their own code: a typed function for every tool, and a small
//! client that makes calls through `onecall`. This module only creates text and writes no files.

mod example;
mod names;
mod python;
mod sample;
mod typescript;

use std::collections::BTreeMap;
use std::sync::Arc;

use onecall_core::{Category, Digest, Language, ToolSpec};

use self::names::{Place, places};
use crate::observed::Observed;

/// A tool for which files are generated.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The tool.
    pub spec: Arc<ToolSpec>,
    /// The category, which is the name of its folder.
    pub category: Category,
    /// The shape of its earlier results, if the server declares none.
    pub observed: Option<Observed>,
}

/// The generated files by their relative paths, with `/` as the separator.
pub type Files = BTreeMap<String, String>;

/// Generates the files for these tools. The result does not depend on the order of the tools.
/// `folder` is the name of the folder, for use in the documentation.
#[must_use]
pub fn generate(tools: &[Listed], language: Language, folder: &str) -> Files {
    let placed = placed(tools, language);
    match language {
        Language::TypeScript => typescript::files(&placed, folder),
        Language::Python => python::files(&placed, folder),
    }
}

/// The generated file of a single tool.
#[must_use]
pub fn generated_file(tool: &Listed, language: Language) -> String {
    let placed = placed(std::slice::from_ref(tool), language);
    let text = placed.first().map(|placed| match language {
        Language::TypeScript => typescript::tool(placed).text,
        Language::Python => python::tool(placed),
    });
    text.unwrap_or_default()
}

/// The digest of a file's content.
#[must_use]
pub fn content_digest(content: &[u8]) -> String {
    Digest::of(content).to_string()
}

/// A tool and the location of its file.
struct Placed<'a> {
    tool: &'a Listed,
    place: Place,
}

fn placed(tools: &[Listed], language: Language) -> Vec<Placed<'_>> {
    let mut tools: Vec<&Listed> = tools.iter().collect();
    tools.sort_by(|one, other| one.spec.callable.cmp(&other.spec.callable));
    let found = places(&tools, language);
    let mut placed: Vec<Placed<'_>> =
        tools.into_iter().zip(found).map(|(tool, place)| Placed { tool, place }).collect();
    placed.sort_by(|one, other| one.place.cmp(&other.place));
    placed
}
