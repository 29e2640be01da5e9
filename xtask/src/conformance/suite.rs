//! One release of the suite, and its results.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{BINARIES, Installed, Revision, expectations};

/// The timeout for one run of the suite.
const SUITE_TIMEOUT: Duration = Duration::from_secs(120);

const CLIENT_COMMAND: &str = "conformance-client";

/// The part of the suite that is run.
pub enum SuitePart<'a> {
    /// All server scenarios.
    Server { url: &'a str },
    /// One client scenario.
    Client { scenario: &'a str },
}

pub struct Suite<'a> {
    installed: &'a Installed,
    revision: &'a Revision,
    /// The folder of the binaries under test.
    binaries: &'a Path,
}

impl<'a> Suite<'a> {
    pub fn new(installed: &'a Installed, revision: &'a Revision, binaries: &'a Path) -> Self {
        Self { installed, revision, binaries }
    }

    /// The file that lists the scenarios that are expected to fail.
    fn expectations(&self) -> PathBuf {
        expectations().join(format!("{}.yaml", self.revision.name))
    }

    /// How many scenarios are expected to fail.
    pub fn expected_failures(&self) -> Result<usize, String> {
        let path = self.expectations();
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        Ok(text.lines().filter(|line| line.trim_start().starts_with("- ")).count())
    }

    /// The names of the client scenarios for this version and earlier ones.
    pub fn client_scenarios(&self) -> Result<Vec<String>, String> {
        let mut list = self.command();
        let output = list.arg("list").output();
        let output = output.map_err(|error| format!("{list:?} cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let of_clients = text.lines().skip_while(|line| !line.starts_with("Client scenarios"));
        let scenario = |line: &str| {
            let (name, revisions) = line.strip_prefix("  - ")?.split_once(' ')?;
            let mut ours = self.revision.earlier.iter().chain([&self.revision.name]);
            ours.any(|revision| revisions.contains(revision)).then(|| name.to_owned())
        };
        let found: Vec<String> =
            of_clients.skip(1).take_while(|line| !line.is_empty()).filter_map(scenario).collect();
        if found.is_empty() { Err(format!("{list:?} names no client scenario")) } else { Ok(found) }
    }

    /// The results of the server scenarios, which have run.
    pub fn server_scenarios(&self) -> Result<ScenarioResults, String> {
        let log = self.log("server");
        let text = fs::read_to_string(&log)
            .map_err(|error| format!("{} cannot be read: {error}", log.display()))?;
        Ok(ScenarioResults::read(&text))
    }

    /// The file with the output of a part of the suite.
    fn log(&self, part: &str) -> PathBuf {
        let file = format!("{}-{}.log", self.revision.name, part.replace([' ', '/'], "-"));
        self.installed.folder.join(file)
    }

    /// Runs a part of the suite and prints the result, which is its counts in one line.
    ///
    /// # Errors
    /// What failed.
    pub fn run(&self, part: &SuitePart<'_>) -> Result<String, String> {
        let mut command = self.command();
        let name = match part {
            SuitePart::Server { url } => {
                command.args(["server", "--url", url]).args(self.revision.server);
                "server".to_owned()
            }
            SuitePart::Client { scenario } => {
                // Not the path of this process: the file may have been rebuilt meanwhile.
                let ourselves = self.binaries.join("xtask");
                let client = format!("{} {CLIENT_COMMAND}", ourselves.display());
                command.args(["client", "--command", &client, "--scenario", scenario]);
                command.args(self.revision.client);
                format!("client {scenario}")
            }
        };
        command.arg("--expected-failures").arg(self.expectations());
        let log = self.log(&name);
        let title = format!("conformance {}, {name}", self.revision.name);
        match finish(command, &log) {
            Ok(true) => {
                let summary = summary(&log);
                eprintln!("{title}: {summary}");
                Ok(summary)
            }
            Ok(false) => {
                let text = fs::read_to_string(&log).unwrap_or_default();
                eprintln!("{text}");
                Err(format!("{title} failed; see {}", log.display()))
            }
            Err(why) => Err(format!("{title} {why}; see {}", log.display())),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.installed.node);
        command.arg(self.installed.script(self.revision));
        command.current_dir(&self.installed.folder).stdin(Stdio::null());
        command.env(BINARIES, self.binaries);
        command
    }
}

/// How the scenarios of a part of the suite ended.
#[derive(Debug, PartialEq, Eq)]
pub struct ScenarioResults {
    /// How many passed.
    pub passed: usize,
    /// The names of those that failed.
    pub failed: Vec<String>,
}

impl ScenarioResults {
    /// Reads the lines that the suite prints at its end, such as `✓ tools-list: 4 passed, 0 failed`.
    fn read(text: &str) -> Self {
        let named = |mark: char| {
            let ends = text.lines().filter_map(move |line| line.strip_prefix(mark));
            ends.filter_map(|line| line.split_once(": ")).map(|(name, _)| name.trim().to_owned())
        };
        Self { passed: named('✓').count(), failed: named('✗').collect() }
    }
}

/// Runs a command to its end with its output in a file; returns whether it succeeded.
fn finish(mut command: Command, log: &PathBuf) -> Result<bool, String> {
    let file = File::create(log).map_err(|error| format!("cannot be written down: {error}"))?;
    let copy = file.try_clone().map_err(|error| format!("cannot be written down: {error}"))?;
    let child = command.stdout(file).stderr(copy).spawn();
    let mut child = child.map_err(|error| format!("cannot be started: {error}"))?;
    let end = Instant::now() + SUITE_TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("did not end within {}s", SUITE_TIMEOUT.as_secs()));
            }
            Err(error) => return Err(format!("cannot be waited for: {error}")),
        }
    }
}

/// The counts of the suite, in one line.
fn summary(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let counts = |line: &&str| line.starts_with("Total: ") || line.starts_with("Passed: ");
    let expected = text.lines().filter(|line| line.starts_with("  ~ ")).count();
    let counted = text.lines().find(counts).unwrap_or("passed");
    match expected {
        0 => counted.to_owned(),
        _ => format!("{counted}; {expected} expected failures"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_counted_and_those_that_failed_are_named() {
        let text =
            "=== SUMMARY ===\n✓ tools-list: 4 passed, 0 failed\n✗ tasks: 1 passed, 8 failed\n";
        let expected = ScenarioResults { passed: 1, failed: vec!["tasks".to_owned()] };
        assert_eq!(ScenarioResults::read(text), expected);
    }
}
