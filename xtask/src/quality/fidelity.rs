//! Tests of CPython's standard library on the embedded Python.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use super::driver::{Setup, folder, number, python, sum, text};
use super::page::Section;

/// Debian's packages with the tests of CPython 3.11, and with what the tests share.
const PACKAGES: [&str; 2] =
    ["libpython3.11-testsuite=3.11.2-6+deb12u9", "libpython3.11-stdlib=3.11.2-6+deb12u9"];

/// The modules of a sample.
const SAMPLE: [&str; 2] = ["textwrap", "html"];

/// The modules, and how many of CPython's tests of each passed when `docs/quality.md` was written last.
const PASSED_BEFORE: [(&str, u64); 24] = [
    ("json", 139),
    ("re", 135),
    ("datetime", 892),
    ("csv", 106),
    ("statistics", 364),
    ("collections", 455),
    ("itertools", 85),
    ("functools", 239),
    ("heapq, bisect", 93),
    ("asyncio", 1172),
    ("dataclasses", 213),
    ("typing", 505),
    ("enum", 523),
    ("decimal", 158),
    ("fractions", 32),
    ("string", 100),
    ("textwrap", 64),
    ("random", 96),
    ("hashlib", 89),
    ("base64", 30),
    ("zoneinfo", 181),
    ("urllib.parse", 70),
    ("html", 40),
    ("xml.etree", 175),
];

/// How much less than before may pass, in percent: some tests depend on the time that they take.
const TOLERANCE: u64 = 1;

/// The folder with the package `test`. Downloads and unpacks it on first use; nothing is installed.
pub fn tests() -> Result<PathBuf, String> {
    let tests = folder().join("cpython-tests");
    if tests.join("test/support").is_dir() {
        return Ok(tests);
    }
    let debian = folder().join("debian");
    let unpacked = debian.join("unpacked");
    let unwritable =
        |error: std::io::Error| format!("{} cannot be written: {error}", debian.display());
    fs::create_dir_all(&unpacked).map_err(unwritable)?;
    let mut download = Command::new("apt-get");
    download.arg("download").args(PACKAGES).current_dir(&debian);
    run(download)?;
    for file in fs::read_dir(&debian).map_err(unwritable)?.flatten() {
        let path = file.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(path).arg(&unpacked);
            run(unpack)?;
        }
    }
    fs::create_dir_all(&tests).map_err(unwritable)?;
    let package = unpacked.join("usr/lib/python3.11/test");
    fs::rename(&package, tests.join("test")).map_err(unwritable)?;
    Ok(tests)
}

fn run(mut command: Command) -> Result<(), String> {
    let shown = Path::new(command.get_program()).display().to_string();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let done = command.output().map_err(|error| format!("{shown}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("{shown} failed: {}", said.lines().last().unwrap_or("it does not say why")))
}

/// Runs the tests of every module, or of a few.
pub fn run_tests(setup: &Setup) -> Result<Section, String> {
    let wanted: &[&str] = setup.size(&[], &SAMPLE);
    let wanted: Vec<String> = wanted.iter().map(|&module| module.to_owned()).collect();
    let reports = setup.run(&python()?, "fidelity.py", &wanted, &[("QUALITY_TESTS", tests()?)])?;
    let (passed, failed) = (sum(&reports, "ok"), sum(&reports, "failed"));
    let percent = passed * 100 / (passed + failed).max(1);
    let shortfalls = shortfalls(&reports, &wanted);
    let mut rows = String::from("| module | pass | fail | skipped |\n|---|---|---|---|\n");
    for report in &reports {
        rows.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            text(report, "module"),
            number(report, "ok"),
            number(report, "failed"),
            number(report, "skipped"),
        ));
    }
    let summary = format!("{passed} of {} of CPython's tests pass ({percent} %)", passed + failed);
    let body = format!(
        "The embedded Python runs CPython's own tests of the modules that programs use (Debian's\n\
         `libpython3.11-testsuite`). Only tests that CPython passes here are counted. They are tests of 3.11, and the\n\
         embedded Python is 3.14, so a test of something that changed in between fails on both sides of the change.\n\
         Tests that need what the sandbox denies, such as processes and sockets, fail or are skipped. A test that\n\
         does not end in 25 s fails. Not run are the tests of `sqlite3`,\n\
         which the embedded Python does not have. It has `decimal` in Python only, so most tests of the version in C\n\
         are skipped, as they are in a CPython without it.\n\n\
         {rows}\n\
         {summary}. [Engines](engines.md#differences-that-programs-may-meet) names the differences that programs may meet.\n\n\
         {PATCHES}\n\n\
         <details><summary>What fails, and the first line of why</summary>\n\n{}\n</details>",
        render_failures(&reports),
    );
    Ok(Section { title: "Python fidelity", summary, body, shortfalls })
}

/// The modules of which fewer tests pass than before. Without `wanted` modules all are expected.
fn shortfalls(reports: &[Value], wanted: &[String]) -> Vec<String> {
    let is_wanted = |module: &str| wanted.is_empty() || wanted.iter().any(|it| it == module);
    let shortfall = |&(module, before): &(&str, u64)| {
        let report = reports.iter().find(|it| text(it, "module") == module);
        let passed = report.map_or(0, |report| number(report, "ok"));
        let is_enough = passed * 100 >= before * (100 - TOLERANCE);
        (!is_enough).then(|| {
            format!("{passed} of CPython's tests of {module} pass, before it were {before}")
        })
    };
    PASSED_BEFORE.iter().filter(|it| is_wanted(it.0)).filter_map(shortfall).collect()
}

/// What the driver changes so that tests of 3.11 can run at all.
const PATCHES: &str = "\
The driver changes four things before a test runs on the embedded Python: `import_fresh_module` of `test.support`
gives frozen modules and `None` for one that cannot be imported without the part that is to be blocked, because the
library is not in files; `get_child_watcher`, which Python 3.14 no longer has, is there and says that it is not
implemented, which the tests of asyncio accept; `builtins.__annotations__` is an empty dict, because the tests of
typing use the name in a class, where 3.14 no longer has it; and the tests of `xml.etree` get the library that
their own main function would give them. On both Pythons the tests of single time zone files are left out, and
those of a version of a library that is missing count as skipped.";

/// The longest error that is shown.
const MAX_ERROR: usize = 120;

/// The failing tests of each module, in groups with the same error.
fn render_failures(reports: &[Value]) -> String {
    let empty = Map::new();
    let mut shown = String::new();
    for report in reports {
        let others = report.get("others").and_then(Value::as_object).unwrap_or(&empty);
        let mut groups = BTreeMap::<String, Vec<String>>::new();
        for (test, error) in others {
            let test = format!("`{}`", test.trim_start_matches("test."));
            groups.entry(plain_error(error.as_str().unwrap_or_default())).or_default().push(test);
        }
        if groups.is_empty() {
            continue;
        }
        shown.push_str(&format!("**{}**\n\n", text(report, "module")));
        let mut groups: Vec<(String, Vec<String>)> = groups.into_iter().collect();
        groups.sort_by_key(|(_, tests)| std::cmp::Reverse(tests.len()));
        for (error, tests) in groups {
            shown.push_str(&format!("- {}× `{error}`: {}\n", tests.len(), tests.join(", ")));
        }
        shown.push('\n');
    }
    shown
}

/// An error as one short line without addresses, so that equal ones are equal.
fn plain_error(error: &str) -> String {
    let mut line = String::new();
    let mut rest = error;
    while let Some((before, after)) = rest.split_once("0x") {
        line.push_str(before);
        line.push_str("0x…");
        rest = after.trim_start_matches(|it: char| it.is_ascii_hexdigit());
    }
    line.push_str(rest);
    let line = line.replace('`', "'").replace('|', "/");
    match line.trim() {
        "" => "no message".to_owned(),
        line if line.chars().count() > MAX_ERROR => {
            line.chars().take(MAX_ERROR).chain(['…']).collect()
        }
        line => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_module_of_which_fewer_tests_pass_is_a_shortfall() {
        let report = |module: &str, ok: u64| json!({ "module": module, "ok": ok });
        let both = ["html".to_owned(), "textwrap".to_owned()];
        let reports = [report("html", 40), report("textwrap", 60)];
        let expected = ["60 of CPython's tests of textwrap pass, before it were 64"];
        assert_eq!(shortfalls(&reports, &both), expected);
        // A module without a report.
        assert_eq!(shortfalls(&reports, &["re".to_owned()]).len(), 1);
        assert_eq!(shortfalls(&reports, &[]).len(), PASSED_BEFORE.len() - 1);
    }

    #[test]
    fn failures_are_grouped_by_their_first_line() {
        let report = json!({ "module": "json", "others": {
            "test.test_json.A.one": "AssertionError: <x at 0x7f01> is `none`",
            "test.test_json.A.two": "AssertionError: <x at 0x7f02> is `none`",
            "test.test_json.B.one": "",
        }});
        let expected = "**json**\n\n\
            - 2× `AssertionError: <x at 0x…> is 'none'`: `test_json.A.one`, `test_json.A.two`\n\
            - 1× `no message`: `test_json.B.one`\n\n";
        assert_eq!(render_failures(&[report, json!({ "module": "re" })]), expected);
    }
}
