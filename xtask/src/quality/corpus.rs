//! Programs as models write them, kept as they were at their first try.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value};
use testkit::cargo::root;
use testkit::packages::{NODE, node, npm, venv};

use super::driver::{Setup, is_true, python, text};
use super::page::Section;

/// The share of programs that has to work at the first try, in percent.
const GOAL: usize = 95;

/// The languages, as reports name them and as people do.
const LANGUAGES: [(&str, &str); 2] = [("python", "Python"), ("typescript", "TypeScript")];

/// The classes of failures, as `first_try.json` names them and as people do.
const CLASSES: [(&str, &str); 4] = [
    ("api", "a tool guessed wrong"),
    ("shape", "the shape of a result guessed wrong"),
    ("language", "a part of the language or a package that is missing"),
    ("bug", "a bug of onecall"),
];

/// Variables that tell the drivers where the servers are. Installs the published servers on first
/// use.
pub fn servers(setup: &Setup) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let mut variables = install()?;
    variables.push(("WORKPLACE_SERVER", setup.binaries.join("workplace-server")));
    Ok(variables)
}

/// Installs the published servers on first use; the variables that say where they are.
pub fn install() -> Result<Vec<(&'static str, PathBuf)>, String> {
    let packages = npm::install("npm")?;
    venv::install("servers")?;
    venv::install("sdk-1")?;
    let interop = packages.parent().map(PathBuf::from).unwrap_or(packages);
    Ok(vec![("QUALITY_INTEROP", interop), ("QUALITY_NODE", node::find(NODE)?)])
}

/// Runs every program, or every 12th.
pub fn run(setup: &Setup) -> Result<Section, String> {
    let every = setup.size("1", "12").to_owned();
    let reports = setup.run(&python()?, "corpus.py", &[every], &servers(setup)?)?;
    let first_try = read_first_try()?;
    let mut shortfalls = Vec::new();
    let mut rows = String::from(
        "| language | programs | worked at the first try | work now |\n|---|---|---|---|\n",
    );
    let mut summary = Vec::new();
    for (language, shown) in LANGUAGES {
        let of_language: Vec<&Value> =
            reports.iter().filter(|report| text(report, "language") == language).collect();
        let total = of_language.len();
        let failed_first =
            of_language.iter().filter(|report| first_try.contains_key(text(report, "program")));
        let first = total - failed_first.count();
        let now = of_language.iter().filter(|report| is_true(report, "success")).count();
        let percent = first * 100 / total.max(1);
        rows.push_str(&format!("| {shown} | {total} | {first} ({percent} %) | {now} |\n"));
        summary.push(format!("{shown} {first} of {total}"));
        if !setup.sample && percent < GOAL {
            shortfalls
                .push(format!("{percent} % of {shown} worked at the first try, not {GOAL} %"));
        }
    }
    for report in &reports {
        let program = text(report, "program");
        if !is_true(report, "success") && !first_try.contains_key(program) {
            shortfalls.push(format!("{program} worked at the first try and fails now: {report}"));
        }
    }
    let body = format!("{METHOD}\n\n{rows}\n{}", render_failures(&first_try));
    Ok(Section {
        title: "Programs as models write them",
        summary: format!("first try: {}", summary.join(", ")),
        body,
        shortfalls,
    })
}

const METHOD: &str = "\
`tests/quality/corpus` has programs for tasks over the published servers of the
[interop suite](interop.md) (filesystem, memory, git, SQLite, time, everything) and the services of the
benchmark. The answer of each task is computed from the data itself or by direct calls to the server, without
onecall. The programs were written from the task and from the signatures that `search_tools` and `inspect_tool`
show, all of them before the first one ran, and none has been changed since.

How much this says: one author wrote tasks, data and programs. The author had read programs of this repository
over some of these servers, and had seen one small answer of 16 of the tools that declare no result type, as a
model has that prints a small result first; so the form of rows of the SQLite server and of logs of the git server
was known. Before any program ran, 9 tasks that named a share or spreadsheet that does not exist were corrected
together with their programs, 12 such tasks were removed, and the answers of 2 were corrected.
Programs of other authors may do worse.";

fn read_first_try() -> Result<Map<String, Value>, String> {
    let path = root().join("tests/quality/first_try.json");
    let unreadable = |why: String| format!("{} cannot be read: {why}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))
}

fn render_failures(first_try: &Map<String, Value>) -> String {
    let mut by_class = BTreeMap::<&str, Vec<String>>::new();
    for (program, failure) in first_try {
        let line = format!("- `{program}`: {}", text(failure, "why"));
        by_class.entry(text(failure, "class")).or_default().push(line);
    }
    let mut shown = String::from("What failed at the first try:\n");
    for (class, title) in CLASSES {
        let failures = by_class.remove(class).unwrap_or_default();
        shown.push_str(&format!("\n**{title}: {}**\n\n{}\n", failures.len(), failures.join("\n")));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_at_the_first_try_has_a_program_a_class_and_a_reason() {
        let first_try = read_first_try().unwrap_or_else(|why| panic!("{why}"));
        assert!(!first_try.is_empty());
        for (program, failure) in &first_try {
            let path = root().join("tests/quality/corpus").join(program);
            assert!(path.is_file(), "{program}");
            let class = text(failure, "class");
            assert!(CLASSES.iter().any(|(known, _)| *known == class), "{program}: {class}");
            assert!(!text(failure, "why").is_empty(), "{program}");
        }
    }

    #[test]
    fn every_program_of_the_corpus_has_a_task() {
        let corpus = root().join("tests/quality/corpus");
        let folders = fs::read_dir(corpus).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten());
        let mut programs = 0;
        for path in files.flatten().map(|file| file.path()) {
            assert!(path.with_extension("task").is_file(), "{}", path.display());
            programs += usize::from(path.extension().is_some_and(|it| it != "task"));
        }
        assert!(programs >= 300, "only {programs} programs");
    }
}
