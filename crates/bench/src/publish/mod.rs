//! Writes the results into the documentation, with a line that says where they come from.

mod chart;
#[cfg(test)]
mod freshness;
mod page;
mod provenance;
mod table;

use testkit::cargo::root;

use std::fs;

use serde_json::Value;

use super::comparison::Comparison;
use super::growth;
use provenance::{Provenance, git};

const COMMAND: &str = "cargo xtask bench --publish";

/// All results of a run.
pub struct Figures<'a> {
    pub header: &'a [String],
    pub comparison: &'a Comparison,
    pub growth: &'a growth::Report,
    /// The other measurements as Markdown.
    pub details: &'a str,
    /// All results, including samples.
    pub data: &'a Value,
}

/// Fails if the results could not be traced back to a commit. Also called before the measurements,
/// which take half an hour.
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
    let excerpt = page::excerpt(&made, machine, figures.comparison);
    let page =
        page::page(&made, figures.header, figures.comparison, figures.growth, figures.details);
    for text in [&excerpt, &page] {
        table::all(text).iter().try_for_each(|lines| table::check(lines).map(|_| ()))?;
    }
    let files = [
        (page::PAGE, page),
        (page::CHART, chart::draw(figures.comparison)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Cell, Row};
    use crate::rounds::Samples;
    use crate::section::Unit;

    fn comparison() -> Comparison {
        let cell = |value: f64| Cell::Measured(Samples::from(vec![value; 3]));
        let row = |name, cells| Row { name, unit: Unit::Seconds, cells };
        Comparison {
            entrants: ["limit", "onecall python", "another"]
                .map(|name| (name, name.to_owned()))
                .to_vec(),
            rows: vec![
                row("calls", vec![cell(0.004), cell(0.06), cell(6.0)]),
                row("hello", vec![Cell::None, cell(0.002), Cell::Failed("it died".to_owned())]),
            ],
            unavailable: vec!["a third: could not be installed".to_owned()],
            notes: vec!["It was late.".to_owned()],
        }
    }

    #[test]
    fn the_excerpt_is_what_the_readme_gets() {
        let made = Provenance {
            command: COMMAND.to_owned(),
            commit: "0123456789ab".to_owned(),
            date: "2026-01-02".to_owned(),
            benchmark: "aabbccddeeff".to_owned(),
        };
        insta::assert_snapshot!(page::excerpt(&made, "Machine: 2 cores", &comparison()));
    }

    #[test]
    fn everybody_who_was_measured_is_in_the_chart() {
        let svg = chart::draw(&comparison());
        // Three in the legend, three in the first row; a single entrant has no ratio.
        assert_eq!(svg.matches("<circle").count(), 6, "{svg}");
        assert!(svg.contains("<title>another: 100×</title>"), "{svg}");
        assert!(svg.contains("prefers-color-scheme: dark"), "{svg}");
    }

    #[test]
    fn failures_and_absences_are_told() {
        insta::assert_snapshot!(comparison().legend());
    }
}
