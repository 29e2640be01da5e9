//! Gold programs that are broken in the usual ways, and what the check before a run finds.

use std::collections::BTreeMap;

use serde_json::Value;

use super::corpus;
use super::driver::{Setup, number, python, text};
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
    fn of(report: &Value) -> Self {
        Self { broken: number(report, "broken"), found: number(report, "found") }
    }

    fn add(&mut self, other: Self) {
        self.broken += other.broken;
        self.found += other.found;
    }

    fn percent(self) -> u64 {
        self.found * 100 / self.broken.max(1)
    }

    fn cell(self) -> String {
        if self.broken == 0 {
            "–".to_owned()
        } else {
            format!("{} of {}", self.found, self.broken)
        }
    }
}

/// The languages, as reports name them and as people do.
const LANGUAGES: [(&str, &str); 2] = [("python", "Python"), ("typescript", "TypeScript")];

/// What the driver counted for the programs of one language.
#[derive(Default)]
struct LanguageCounts<'a> {
    /// The sources of programs, in the order of the reports.
    sources: Vec<&'a str>,
    /// Broken and found programs by mistake and source.
    cells: BTreeMap<&'a str, BTreeMap<&'a str, Count>>,
    total: Count,
    programs: u64,
    alarms: usize,
}

/// Breaks every gold program, or a few of each source.
pub fn run(setup: &Setup) -> Result<Section, String> {
    let limit: Vec<String> = setup.size(None, Some("4".to_owned())).into_iter().collect();
    let mut servers = corpus::servers(setup)?;
    servers.push(("FIXTURE_SERVER", setup.binaries.join("fixture-server")));
    let reports = setup.run(&python()?, "mutations.py", &limit, &servers)?;
    let counts = LANGUAGES.map(|(name, _)| LanguageCounts::of(name, &reports));
    let mut shortfalls: Vec<String> = alarms(&reports)
        .map(|alarm| {
            format!("a false alarm: {}\n{}", text(alarm, "refusal"), text(alarm, "program"))
        })
        .collect();
    let mut total = Count::default();
    counts.iter().for_each(|it| total.add(it.total));
    if !setup.sample && total.percent() < GOAL {
        shortfalls.push(format!(
            "the check finds {} % of the broken programs, not {GOAL} %",
            total.percent()
        ));
    }
    let programs: u64 = counts.iter().map(|it| it.programs).sum();
    let alarms: usize = counts.iter().map(|it| it.alarms).sum();
    let summary = format!(
        "{} of {} found ({} %), {alarms} false alarms on {programs} programs",
        total.found,
        total.broken,
        total.percent(),
    );
    let body = format!(
        "Every call of {programs} programs that work is broken in each usual way that fits it, one at a time, and the\n\
         [check before a run](programs.md#the-check-before-a-run) is asked about the result. Nothing is executed.\n\
         The programs come from the ground truths above, from the corpus, and from `tests/programs` and\n\
         `tests/programs-typescript`.\n\n\
         {}\n\
         {}\n\
         {summary}.\n\n\
         {REMARKS}",
        languages_table(&counts),
        tables(&counts),
    );
    Ok(Section { title: "Mutations", summary, body, shortfalls })
}

const REMARKS: &str = "\
The check reports only what is certain to fail. A call in a branch, in a `try`, or in a loop that may have no
iteration passes it, and so do an unknown argument that a server may accept and a result whose type the
server does not declare. The programs of this repository are written to use every part of the language, so
many of their calls are in such places. In TypeScript, a call without `await` whose value is not used is no mistake
and not counted, and a property that is missing is `undefined`: only a look into that fails.";

/// The false alarms in reports.
fn alarms(reports: &[Value]) -> impl Iterator<Item = &Value> {
    let lists = reports.iter().filter_map(|report| report.get("alarms").and_then(Value::as_array));
    lists.flatten()
}

impl<'a> LanguageCounts<'a> {
    /// What these reports say about the programs of a language.
    fn of(language: &str, reports: &'a [Value]) -> Self {
        let mut counts = Self::default();
        for report in reports.iter().filter(|report| text(report, "language") == language) {
            let (mistake, source) = (text(report, "mistake"), text(report, "source"));
            if !counts.sources.contains(&source) {
                counts.sources.push(source);
            }
            counts.programs += number(report, "programs");
            counts.alarms += alarms(std::slice::from_ref(report)).count();
            if !mistake.is_empty() {
                let count = Count::of(report);
                counts.cells.entry(mistake).or_default().entry(source).or_default().add(count);
                counts.total.add(count);
            }
        }
        counts
    }

    /// A row for each mistake, with a column for each source and one for all of them.
    fn table(&self) -> String {
        let mut table = format!(
            "| mistake | {} | total |\n|---|{}---|\n",
            self.sources.join(" | "),
            "---|".repeat(self.sources.len())
        );
        for (mistake, by_source) in &self.cells {
            let count = |source: &&str| by_source.get(source).copied().unwrap_or_default();
            let row: Vec<String> = self.sources.iter().map(|source| count(source).cell()).collect();
            let mut total = Count::default();
            by_source.values().for_each(|count| total.add(*count));
            table.push_str(&format!("| {mistake} | {} | {} |\n", row.join(" | "), total.cell()));
        }
        table
    }
}

/// A row for each language.
fn languages_table(counts: &[LanguageCounts<'_>]) -> String {
    let mut table =
        String::from("| language | programs | false alarms | found |\n|---|---|---|---|\n");
    for ((_, name), it) in LANGUAGES.iter().zip(counts) {
        let (found, percent) = (it.total.cell(), it.total.percent());
        table.push_str(&format!(
            "| {name} | {} | {} | {found} ({percent} %) |\n",
            it.programs, it.alarms
        ));
    }
    table
}

/// The table of each language, with its name above it.
fn tables(counts: &[LanguageCounts<'_>]) -> String {
    let named = LANGUAGES.iter().zip(counts);
    named.map(|((_, name), it)| format!("**{name}**\n\n{}\n", it.table())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_language_has_its_rows_and_each_mistake_its_total() {
        let reports = [
            json!({ "language": "python", "source": "a", "mistake": "x", "broken": 3, "found": 2 }),
            json!({ "language": "python", "source": "b", "mistake": "x", "broken": 1, "found": 1 }),
            json!({ "language": "python", "source": "b", "mistake": "y", "broken": 2, "found": 0 }),
            json!({ "language": "python", "source": "a", "programs": 5, "alarms": [{}] }),
            json!({ "language": "typescript", "source": "a", "programs": 4, "alarms": [] }),
        ];
        let counts = LANGUAGES.map(|(name, _)| LanguageCounts::of(name, &reports));
        let expected = "| mistake | a | b | total |\n|---|---|---|---|\n\
            | x | 2 of 3 | 1 of 1 | 3 of 4 |\n| y | – | 0 of 2 | 0 of 2 |\n";
        assert_eq!(counts[0].table(), expected);
        let languages = "| language | programs | false alarms | found |\n|---|---|---|---|\n\
            | Python | 5 | 1 | 3 of 6 (50 %) |\n| TypeScript | 4 | 0 | – (0 %) |\n";
        assert_eq!(languages_table(&counts), languages);
    }
}
