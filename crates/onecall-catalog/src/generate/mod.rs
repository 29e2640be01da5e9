//! Files for agents that run code of their own: every tool as a typed function, and a
//! small client that calls through `onecall`. Pure text here; nothing is written.

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

/// A tool that files are made for.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The tool.
    pub spec: Arc<ToolSpec>,
    /// The folder it belongs to.
    pub category: Category,
    /// What its results looked like, if its server does not say.
    pub observed: Option<Observed>,
}

/// Files by their path below the folder that they are for, with `/` between its parts.
pub type Files = BTreeMap<String, String>;

/// The files for these tools. The same tools make the same files, in whatever order they
/// come. `folder` is what the folder is called, for the words about it.
#[must_use]
pub fn generate(tools: &[Listed], language: Language, folder: &str) -> Files {
    let placed = placed(tools, language);
    match language {
        Language::TypeScript => typescript::files(&placed, folder),
        Language::Python => python::files(&placed, folder),
    }
}

/// The file of one tool alone.
#[must_use]
pub fn generated_file(tool: &Listed, language: Language) -> String {
    let placed = placed(std::slice::from_ref(tool), language);
    let text = placed.first().map(|placed| match language {
        Language::TypeScript => typescript::tool(placed).text,
        Language::Python => python::tool(placed),
    });
    text.unwrap_or_default()
}

/// What tells one content from another.
#[must_use]
pub fn content_digest(content: &[u8]) -> String {
    Digest::of(content).to_string()
}

/// A tool and where it goes.
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
