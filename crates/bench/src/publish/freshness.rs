//! Checks that published tables can be parsed and were made by the present benchmark.
//!
//! A table carries the digest of the benchmark that made it. As long as the sources have that
//! digest, it is fresh. When they change, the table may be outdated for two weeks of commits: a
//! change of the benchmark need not be measured in the same commit, and other work is not stopped,
//! but no release has results that its own benchmark would not produce. The time is counted from
//! the first change after the page was last written to the commit that is checked out, so the
//! result for a commit is always the same.

use std::fs;

use testkit::cargo::root;

use super::page::{BEGIN, END, PAGE};
use super::provenance::{BEGIN as MADE_BY, Provenance, SOURCES, digest, git};
use super::table;

const GRACE: i64 = 14 * 24 * 60 * 60;

/// Sources that do not affect the results.
const PRESENTATION: &str = ":(exclude)crates/bench/src/publish";

fn read(path: &str) -> Option<String> {
    fs::read_to_string(root().join(path)).ok()
}

/// The part of the README that the benchmark writes.
fn excerpt() -> String {
    let readme = read("README.md").expect("there is a README");
    let (_, rest) = readme.split_once(BEGIN).expect("the README has a part for the benchmark");
    let (excerpt, _) = rest.split_once(END).expect("that part has an end");
    excerpt.to_owned()
}

/// For how many seconds the benchmark has changed since the page was written.
fn lag() -> Option<i64> {
    let seconds = |arguments: &[&str]| git(arguments)?.lines().last()?.parse::<i64>().ok();
    let written = git(&["log", "-1", "--format=%H", "--", PAGE])?;
    let since = format!("{written}..HEAD");
    let first = seconds(&["log", "--format=%ct", &since, "--", SOURCES, PRESENTATION])?;
    Some(seconds(&["log", "-1", "--format=%ct"])? - first)
}

/// The README and every page of the documentation.
fn pages() -> Vec<(String, String)> {
    let docs = fs::read_dir(root().join("docs")).expect("there is a documentation");
    let docs = docs.filter_map(|entry| Some(format!("docs/{}", entry.ok()?.file_name().to_str()?)));
    let pages = docs.filter(|path| path.ends_with(".md")).chain(["README.md".to_owned()]);
    pages.filter_map(|path| Some((path.clone(), read(&path)?))).collect()
}

#[test]
fn published_tables_can_be_read() {
    for (path, text) in [(PAGE, read(PAGE).unwrap_or_default()), ("README.md", excerpt())] {
        for lines in table::all(&text) {
            table::check(&lines).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    }
    assert_eq!(table::all(&excerpt()).len(), 1, "the README has one table of figures");
    for (path, text) in pages() {
        let mut rest = text.as_str();
        while let Some((_, after)) = rest.split_once(MADE_BY) {
            let (line, after) = after.split_once('\n').unwrap_or((after, ""));
            let line = format!("{MADE_BY}{line}");
            for field in ["; commit: ", "; date: "] {
                assert!(line.contains(field), "{path}: no '{field}' in '{line}'");
            }
            let tables = table::all(after);
            let first = tables.first().unwrap_or_else(|| panic!("{path}: no table below '{line}'"));
            table::check(first).unwrap_or_else(|error| panic!("{path}: {error}"));
            if line.contains("cargo xtask bench") {
                let made = Provenance::parse(&line).expect("it begins like one");
                made.unwrap_or_else(|error| panic!("{path}: {error}"));
            }
            rest = after;
        }
    }
}

#[test]
fn published_tables_are_of_this_benchmark() {
    let Some(page) = read(PAGE) else {
        eprintln!("skipped: nothing is published yet");
        return;
    };
    let made = |text: &str| -> Vec<Provenance> {
        text.lines().filter_map(|line| Provenance::parse(line)?.ok()).collect()
    };
    let all = made(&page);
    let first = all.first().unwrap_or_else(|| panic!("{PAGE} does not say where it comes from"));
    assert!(all.iter().all(|other| other == first), "{PAGE} has figures of several runs: {all:?}");
    assert_eq!(made(&excerpt()), vec![first.clone()], "the README has figures of another run");
    if first.benchmark == digest(&root().join(SOURCES)).expect("the sources can be read") {
        return;
    }
    if git(&["rev-parse", "--is-shallow-repository"]).as_deref() != Some("false") {
        eprintln!("skipped: no history here that would tell since when the benchmark is another");
        return;
    }
    if let Some(lag) = lag() {
        assert!(
            lag <= GRACE,
            "the benchmark has changed since {PAGE} was written, {} days ago: \
             run `cargo xtask bench --publish` on a quiet machine and commit what it writes",
            lag / 86_400
        );
    }
}
