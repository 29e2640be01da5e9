//! Puts figures where people read them, with the line that says where they come from.

mod chart;
#[cfg(test)]
mod freshness;
mod page;
mod provenance;
mod table;

use std::fs;

use serde_json::Value;

use super::field::Field;
use super::growth;
use crate::cargo::root;
use provenance::{Provenance, git};

const COMMAND: &str = "cargo xtask bench --publish";

/// All that a run found.
pub struct Figures<'a> {
    pub header: &'a [String],
    pub field: &'a Field,
    pub growth: &'a growth::Report,
    /// The other measurements as Markdown.
    pub details: &'a str,
    /// Everything, samples too.
    pub data: &'a Value,
}

/// Refuses where figures could not be traced back to what was measured: call it before
/// half an hour of measuring, too.
pub fn check_checkout() -> Result<(), String> {
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
    let is_ours = |line: &str| {
        [page::PAGE, page::CHART, page::DATA, "README.md"].iter().any(|path| line.ends_with(path))
    };
    match changed.lines().find(|line| !is_ours(line)) {
        None => Ok(()),
        Some(line) => Err(format!(
            "figures name the commit that they come from, and there are changes that are not \
             committed ('{}'): commit first",
            line.trim()
        )),
    }
}

/// Writes the page, its chart and data, and the part of the README.
pub fn write(figures: &Figures<'_>) -> Result<(), String> {
    let made = Provenance::now(COMMAND)?;
    let machine = figures.header.first().map_or("", String::as_str);
    let readme = root().join("README.md");
    let text = fs::read_to_string(&readme)
        .map_err(|error| format!("{} cannot be read: {error}", readme.display()))?;
    let excerpt = page::excerpt(&made, machine, figures.field);
    let page = page::page(&made, figures.header, figures.field, figures.growth, figures.details);
    for text in [&excerpt, &page] {
        table::all(text).iter().try_for_each(|lines| table::check(lines).map(|_| ()))?;
    }
    let files = [
        (page::PAGE, page),
        (page::CHART, chart::draw(figures.field)),
        (page::DATA, format!("{:#}\n", figures.data)),
        ("README.md", page::replace_excerpt(&text, &excerpt)?),
    ];
    for (path, content) in files {
        let path = root().join(path);
        fs::write(&path, content)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
