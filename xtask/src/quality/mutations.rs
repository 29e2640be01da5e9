//! Gold programs that are broken in the usual ways, and what the check before a run finds.

use std::collections::BTreeMap;

use serde_json::Value;
use testkit::cargo::output;

use super::corpus;
use super::driver::{Setup, number, python, sum, text};
use super::page::Section;

/// The share of broken programs that the check has to find, in percent.
const GOAL: u64 = 90;

/// Broken and found programs.
#[derive(Clone, Copy, Default)]
struct Count {
    broken: u64,
    found: u64,
}

impl Count {
    fn add(&mut self, report: &Value) {
        self.broken += number(report, "broken");
        self.found += number(report, "found");
    }

    fn cell(self) -> String {
        if self.broken == 0 {
            "–".to_owned()
        } else {
            format!("{} of {}", self.found, self.broken)
        }
    }
}

/// Breaks every gold program, or a few of each source.
pub fn run(setup: &Setup) -> Result<Section, String> {
    let limit: Vec<String> = setup.size(None, Some("4".to_owned())).into_iter().collect();
    let mut servers = corpus::servers()?;
    servers.push(("FIXTURE_SERVER", output("debug").join("fixture-server")));
    let reports = setup.run(&python()?, "mutations.py", &limit, &servers)?;
    let mut sources: Vec<&str> = Vec::new();
    let mut cells = BTreeMap::<&str, BTreeMap<&str, Count>>::new();
    let mut total = Count::default();
    for report in &reports {
        let (mistake, source) = (text(report, "mistake"), text(report, "source"));
        if !sources.contains(&source) {
            sources.push(source);
        }
        if !mistake.is_empty() {
            cells.entry(mistake).or_default().entry(source).or_default().add(report);
            total.add(report);
        }
    }
    let alarms: Vec<&Value> = reports
        .iter()
        .filter_map(|report| report.get("alarms").and_then(Value::as_array))
        .flatten()
        .collect();
    let mut shortfalls: Vec<String> = alarms
        .iter()
        .map(|alarm| {
            format!("a false alarm: {}\n{}", text(alarm, "refusal"), text(alarm, "program"))
        })
        .collect();
    let percent = total.found * 100 / total.broken.max(1);
    if !setup.sample && percent < GOAL {
        shortfalls
            .push(format!("the check finds {percent} % of the broken programs, not {GOAL} %"));
    }
    let programs = sum(&reports, "programs");
    let summary = format!(
        "{} of {} found ({percent} %), {} false alarms on {programs} programs",
        total.found,
        total.broken,
        alarms.len()
    );
    let body = format!(
        "Every call of {programs} programs that work is broken in each usual way that fits it, one at a time, and the\n\
         [check before a run](programs.md#the-check-before-a-run) is asked about the result. Nothing is executed.\n\
         The programs come from the ground truths above, from the corpus, and from `tests/programs`.\n\n\
         {}\n\
         {summary}.\n\n\
         The check reports only what is certain to fail. A call in a branch, in a `try`, or in a loop that may have no\n\
         iteration passes it, and so do an unknown argument that a server may accept and a result whose type the\n\
         server does not declare. The programs of this repository are written to use every part of the language, so\n\
         many of their calls are in such places.",
        table(&sources, &cells),
    );
    Ok(Section { title: "Mutations", summary, body, shortfalls })
}

fn table(sources: &[&str], cells: &BTreeMap<&str, BTreeMap<&str, Count>>) -> String {
    let mut table =
        format!("| mistake | {} |\n|---|{}\n", sources.join(" | "), "---|".repeat(sources.len()));
    for (mistake, by_source) in cells {
        let row: Vec<String> = sources
            .iter()
            .map(|source| by_source.get(source).copied().unwrap_or_default().cell())
            .collect();
        table.push_str(&format!("| {mistake} | {} |\n", row.join(" | ")));
    }
    table
}
