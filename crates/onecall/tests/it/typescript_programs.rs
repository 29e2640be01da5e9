//! Ordinary TypeScript programs print exactly what Node prints; see
//! `tests/programs-typescript`.

#![expect(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::bins;

use crate::support::Gateway;
use crate::support::installed::installed;

/// Fewer programs than this prove little, or were not found.
const LEAST: usize = 48;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs-typescript")
}

/// Every program, in order.
fn programs() -> Vec<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "ts" || extension == "mjs")
            && !path.ends_with("reference.mjs")
    };
    let entries = fs::read_dir(folder()).expect("the folder of programs");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a readable folder").path()).filter(is_program).collect();
    paths.sort();
    assert!(paths.len() >= LEAST, "only {} programs in {}", paths.len(), folder().display());
    paths
}

fn difference(program: &Path, got: &str) -> Option<String> {
    let expected = fs::read_to_string(program.with_extension("out")).expect("its output");
    let first = expected.lines().zip(got.lines()).find(|(a, b)| a != b);
    (expected != got).then(|| match first {
        Some((a, b)) => format!("{}\nexpected: {a}\ngot:      {b}", program.display()),
        None => format!("{}\nexpected:\n{expected}\ngot:\n{got}", program.display()),
    })
}

#[test]
fn every_program_prints_what_node_prints() {
    let mut gateway = Gateway::new();
    let mut run = |program: &PathBuf| {
        let code = fs::read_to_string(program).expect("a program is text");
        let answer = gateway.execute_typescript(&code);
        let success = answer.text.strip_prefix("[Script executed successfully]\n");
        difference(program, success.unwrap_or(&answer.text))
    };
    let differences: Vec<String> = programs().iter().filter_map(&mut run).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn node_prints_what_is_stored() {
    let version = Command::new("node").arg("--version").output();
    if !version.is_ok_and(|version| version.stdout.starts_with(b"v20.")) {
        eprintln!("skipped: no Node 20 is on PATH to compare with");
        return;
    }
    check_with_node(Path::new("node"), "mjs", &[]);
}

/// Node 22 takes types out of programs by itself.
#[test]
fn node_prints_what_is_stored_for_programs_with_types() {
    let Some(node) = installed("ONECALL_INTEROP_RECENT_NODE") else { return };
    check_with_node(
        &node,
        "ts",
        &["--experimental-transform-types", "--disable-warning=ExperimentalWarning"],
    );
}

/// Compares what is stored for the programs with this extension with what Node prints.
fn check_with_node(node: &Path, extension: &str, options: &[&str]) {
    // Node has no decorators.
    let is_comparable = |path: &&PathBuf| {
        path.extension().is_some_and(|it| it == extension) && !path.ends_with("decorators.ts")
    };
    let all = programs();
    let differences: Vec<String> = all
        .iter()
        .filter(is_comparable)
        .filter_map(|program| difference(program, &reference(node, options, program)))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// What Node prints for a program, with what it says besides.
fn reference(node: &Path, options: &[&str], program: &Path) -> String {
    let output = Command::new(node)
        .args(options)
        .arg(folder().join("reference.mjs"))
        .arg(bins::fixture_server())
        .arg(program)
        .env("TZ", "UTC")
        .output()
        .expect("node starts");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}
