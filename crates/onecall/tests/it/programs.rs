//! Ordinary programs print exactly what CPython prints; see `tests/programs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use testkit::bins;

use crate::support::{Gateway, has_system_python};

/// Fewer programs than this prove little, or were not found.
const LEAST: usize = 30;

/// Interpreters that run at once.
const REFERENCES: usize = 3;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

/// Every program, in order.
fn programs() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("the folder of programs");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .filter(|path| !path.ends_with("reference.py"))
        .collect();
    paths.sort();
    assert!(paths.len() >= LEAST, "only {} programs in {}", paths.len(), folder().display());
    paths
}

/// The source of every program.
pub(crate) fn sources() -> Vec<String> {
    let read = |path: &PathBuf| fs::read_to_string(path).expect("a program is text");
    programs().iter().map(read).collect()
}

fn expected(program: &Path) -> String {
    fs::read_to_string(program.with_extension("out")).expect("every program has its output")
}

fn difference(program: &Path, got: &str) -> Option<String> {
    let expected = expected(program);
    let first = expected.lines().zip(got.lines()).position(|(a, b)| a != b);
    let line = first.unwrap_or_else(|| expected.lines().count().min(got.lines().count())) + 1;
    (expected != got).then(|| {
        format!("{}, line {line}\nexpected:\n{expected}\ngot:\n{got}\n", program.display())
    })
}

#[test]
fn every_program_prints_what_cpython_prints() {
    check_on("python");
    if has_system_python() {
        check_on("cpython");
    }
}

fn check_on(engine: &str) {
    let mut gateway = Gateway::new();
    let mut run = |program: &PathBuf| {
        let code = fs::read_to_string(program).expect("a program is text");
        let answer = gateway.execute_on(engine, &code);
        let success = answer.text.strip_prefix("[Script executed successfully]\n");
        difference(program, success.unwrap_or(&answer.text))
    };
    let differences: Vec<String> = programs().iter().filter_map(&mut run).collect();
    assert!(differences.is_empty(), "on {engine}: {}", differences.join("\n"));
}

#[test]
fn cpython_prints_what_is_stored() {
    if !has_system_python() {
        return;
    }
    let rest = Mutex::new(programs());
    let differences = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..REFERENCES {
            scope.spawn(|| {
                while let Some(program) = { rest.lock().unwrap().pop() } {
                    let found = difference(&program, &reference(&program));
                    differences.lock().unwrap().extend(found);
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// What CPython prints for a program, with what it says besides.
fn reference(program: &Path) -> String {
    let output = Command::new("python3")
        .arg(folder().join("reference.py"))
        .arg(bins::fixture_server())
        .arg(program)
        .env("PYTHONIOENCODING", "utf-8")
        .output()
        .expect("python3 starts");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}
