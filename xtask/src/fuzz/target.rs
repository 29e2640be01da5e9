//! The targets for hostile input, and one run of their properties.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::cargo::{cargo, output, root};

/// A run should take a few seconds; after this time it counts as hanging.
const HANG_TIMEOUT: Duration = Duration::from_secs(180);

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A set of properties for one kind of hostile input.
#[derive(Debug)]
pub struct Target {
    pub name: &'static str,
    /// The folder of their crate.
    package: &'static str,
    /// Cargo's name for the kind of their test binary.
    kind: &'static str,
    /// The prefix of their names in the test binary.
    filter: &'static str,
}

pub static TARGETS: [Target; 6] = [
    Target { name: "frames", package: "onecall-engine", kind: "lib", filter: "hostile_frames::" },
    Target { name: "configuration", package: "onecall-config", kind: "test", filter: "fuzz::" },
    Target { name: "clients", package: "onecall-clients", kind: "test", filter: "fuzz::" },
    Target { name: "answers", package: "onecall-bridge", kind: "lib", filter: "hostile_answers::" },
    Target { name: "definitions", package: "onecall-catalog", kind: "test", filter: "fuzz::" },
    Target { name: "policies", package: "onecall-policy", kind: "test", filter: "indexed::" },
];

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunParameters {
    pub number: u64,
    /// The number of cases for each property.
    pub cases: u32,
}

/// A target whose tests are built.
#[derive(Debug)]
pub struct BuiltTarget {
    pub target: &'static Target,
    executable: PathBuf,
}

/// Builds the tests of all targets.
pub fn build(targets: &[&'static Target]) -> Result<Vec<BuiltTarget>, String> {
    let mut build = cargo("test");
    // The whole workspace, so that dependencies have the same features as there.
    build.args(["--workspace", "--lib", "--test", "it", "--no-run"]);
    build.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let built = build.output().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !built.status.success() {
        return Err(format!("the tests do not build: {}", built.status));
    }
    let messages = String::from_utf8_lossy(&built.stdout);
    let artifacts: Vec<Value> =
        messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let find = |target: &&'static Target| {
        let executable = artifacts.iter().find_map(|artifact| target.executable(artifact));
        match executable {
            Some(executable) => Ok(BuiltTarget { target, executable }),
            None => Err(format!("cargo built no tests for '{}'", target.name)),
        }
    };
    targets.iter().map(find).collect()
}

impl Target {
    fn folder(&self) -> PathBuf {
        root().join("crates").join(self.package)
    }

    /// The path of this target's tests, if `artifact` is cargo's message about them.
    fn executable(&self, artifact: &Value) -> Option<PathBuf> {
        let manifest = artifact["manifest_path"].as_str()?;
        let is_ours = self.folder().join("Cargo.toml") == Path::new(manifest)
            && artifact["target"]["kind"][0] == self.kind
            && artifact["profile"]["test"] == true;
        is_ours.then(|| artifact["executable"].as_str().map(PathBuf::from))?
    }
}

impl BuiltTarget {
    /// Runs every property once; returns the number of properties. The error is a text for a
    /// person.
    pub fn run(&self, parameters: RunParameters) -> Result<usize, String> {
        let log = output("fuzz.log");
        let status = self.status(parameters, &log)?;
        let text =
            fs::read(&log).map_err(|error| format!("cannot read {}: {error}", log.display()))?;
        let text = String::from_utf8_lossy(&text);
        match status {
            Some(status) if status.success() => match passed(&text) {
                Some(count @ 1..) => Ok(count),
                _ => Err(format!("{} has no properties\n{text}", self.target.name)),
            },
            ended => {
                let end = match ended {
                    Some(status) => {
                        format!("a property of '{}' failed: {status}", self.target.name)
                    }
                    None => format!("'{}' hangs", self.target.name),
                };
                let replay = replay(&text, self.target.filter, parameters);
                Err(format!("{end}\n{}\nTo see it again:\n  {replay}", text.trim_end()))
            }
        }
    }

    /// The exit status of the tests; `None` if they did not end.
    fn status(&self, parameters: RunParameters, log: &Path) -> Result<Option<ExitStatus>, String> {
        let start = || -> std::io::Result<Child> {
            let stdout = File::create(log)?;
            Command::new(&self.executable)
                .current_dir(self.target.folder())
                .arg(self.target.filter)
                .env("PROPTEST_CASES", parameters.cases.to_string())
                .env("PROPTEST_RNG_SEED", parameters.number.to_string())
                .env("RUST_BACKTRACE", "0")
                .stdin(Stdio::null())
                .stderr(stdout.try_clone()?)
                .stdout(stdout)
                .spawn()
        };
        let begin = Instant::now();
        let wait = |mut tests: Child| -> std::io::Result<Option<ExitStatus>> {
            loop {
                if let Some(status) = tests.try_wait()? {
                    return Ok(Some(status));
                }
                if begin.elapsed() > HANG_TIMEOUT {
                    tests.kill()?;
                    tests.wait()?;
                    return Ok(None);
                }
                thread::sleep(POLL_INTERVAL);
            }
        };
        start().and_then(wait).map_err(|error| format!("cannot run the tests: {error}"))
    }
}

/// The number of tests that passed, from their output.
fn passed(text: &str) -> Option<usize> {
    let result = text.lines().find_map(|line| line.strip_prefix("test result: ok. "))?;
    result.split_once(' ')?.0.parse().ok()
}

/// The command that repeats a failure with the same parameters.
fn replay(text: &str, filter: &str, parameters: RunParameters) -> String {
    let failed = |line: &'_ str| -> Option<String> {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        Some(name.to_owned())
    };
    let name = text.lines().find_map(failed).unwrap_or_else(|| filter.to_owned());
    let RunParameters { number, cases } = parameters;
    format!("PROPTEST_RNG_SEED={number} PROPTEST_CASES={cases} cargo xtask test {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_say_is_understood() {
        let text = "\nrunning 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\n";
        let parameters = RunParameters { number: 7, cases: 9 };
        assert_eq!(
            replay(text, "a::", parameters),
            "PROPTEST_RNG_SEED=7 PROPTEST_CASES=9 cargo xtask test a::c"
        );
        assert_eq!(passed(text), None);
        assert_eq!(passed("\ntest result: ok. 5 passed; 0 failed;"), Some(5));
    }
}
