//! Reads the section `generate`: how generated files are grouped into folders.

use onecall_core::{ToolCategory, ToolPattern};

use crate::document::Node;
use crate::error::{Problem, Report};
use crate::reader::{self, Section};
use crate::schema::GENERATE;

/// How generated files are grouped into folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenerateConfig {
    /// Categories that override the ones derived from a tool's name and annotations; the first
    /// matching pattern applies.
    pub categories: Vec<(ToolPattern, ToolCategory)>,
}

pub(crate) fn read_generate(node: &Node, report: &mut Report) -> Option<GenerateConfig> {
    let section = Section::open(node, "generate", GENERATE, report)?;
    let mut categories = Vec::new();
    let entries = section
        .get("categories")
        .and_then(|node| reader::entries(node, "'categories' in generate", report));
    for entry in entries.unwrap_or_default() {
        let what = format!("'{}' of 'categories' in generate", entry.key);
        match ToolPattern::parse(entry.key) {
            Ok(pattern) => {
                let names = &ToolCategory::NAMES;
                let category = reader::choice(entry.value, &what, "a category", names, report);
                categories.extend(category.map(|category| (pattern, category)));
            }
            Err(error) => report.add(Problem::new(entry.at, format!("{error}: {what}"))),
        }
    }
    Some(GenerateConfig { categories })
}
