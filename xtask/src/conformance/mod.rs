//! Runs the conformance suite of MCP against both sides of onecall: the server behind
//! `onecall serve --http`, and the client behind `onecall run`.

mod client;
mod install;
mod login;
mod server;
mod suite;

use std::env;
use std::path::{Path, PathBuf};

use testkit::cargo::{output, root};

use install::Installed;
use server::Server;
use suite::{ScenarioResults, Suite, SuitePart};

pub use client::run as client;

/// The suite for one protocol version.
struct Revision {
    name: &'static str,
    /// The npm name of the release that supports this version.
    package: &'static str,
    version: &'static str,
    /// The arguments that select the server scenarios.
    server: &'static [&'static str],
    /// The arguments that select the version for a client scenario.
    client: &'static [&'static str],
    /// Earlier versions whose client scenarios are run as well, because such servers still exist.
    earlier: &'static [&'static str],
}

const REVISIONS: [Revision; 2] = [
    Revision {
        name: "2025-11-25",
        package: "conformance-2025",
        version: "0.1.16",
        server: &["--suite", "all"],
        client: &[],
        earlier: &["2025-03-26"],
    },
    Revision {
        name: "2026-07-28",
        package: "conformance-2026",
        version: "0.2.0-alpha.12",
        server: &["--requirements", "2026-07-28"],
        client: &["--spec-version", "2026-07-28"],
        earlier: &[],
    },
];

/// The variable with the folder of the binaries under test, for the clients that the suite starts.
const BINARIES: &str = "CONFORMANCE_BINARIES";

/// What the suite counts for one revision of the protocol.
pub struct RevisionCounts {
    /// The revision.
    pub revision: &'static str,
    /// The npm version of the suite.
    pub version: &'static str,
    /// The server scenarios that passed.
    pub servers_passed: usize,
    /// The server scenarios that failed and are not scored, because the revision does not require
    /// them.
    pub not_scored: Vec<String>,
    /// How many client scenarios ran.
    pub clients: usize,
    /// How many of them passed, or failed as expected.
    pub clients_passed: usize,
    /// How many scenarios the lists of this repository expect to fail.
    pub expected_failures: usize,
    /// What failed, in words.
    pub failures: Vec<String>,
}

/// Runs everything; what cannot be installed here is skipped and reported.
pub fn run() -> Result<(), String> {
    if let Err(why) = install::install() {
        eprintln!("skipped: the MCP conformance suite, both legs: {why}");
        return Ok(());
    }
    let failures: Vec<String> = count(&output("debug"), usize::MAX)?
        .into_iter()
        .flat_map(|counts| counts.failures)
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Installs the suite.
pub fn install() -> Result<(), String> {
    install::install().map(|_| ())
}

/// Runs all server scenarios, and at most so many client scenarios of each revision, against the
/// binaries in a folder.
pub fn count(binaries: &Path, most_clients: usize) -> Result<Vec<RevisionCounts>, String> {
    let installed = install::install()?;
    let count = |revision| count_revision(&installed, revision, binaries, most_clients);
    REVISIONS.iter().map(count).collect()
}

fn count_revision(
    installed: &Installed,
    revision: &Revision,
    binaries: &Path,
    most_clients: usize,
) -> Result<RevisionCounts, String> {
    let suite = Suite::new(installed, revision, binaries);
    let server = Server::start(&installed.folder, revision.name, binaries)?;
    let ended = suite.run(&SuitePart::Server { url: &server.url });
    drop(server);
    let ScenarioResults { passed, failed } = suite.server_scenarios()?;
    let mut scenarios = suite.client_scenarios()?;
    scenarios.truncate(most_clients);
    let clients = scenarios.iter().map(|scenario| suite.run(&SuitePart::Client { scenario }));
    let failed_clients: Vec<String> = clients.filter_map(Result::err).collect();
    let clients_passed = scenarios.len() - failed_clients.len();
    let failures = ended.err().into_iter().chain(failed_clients).collect();
    Ok(RevisionCounts {
        revision: revision.name,
        version: revision.version,
        servers_passed: passed,
        not_scored: failed,
        clients: scenarios.len(),
        clients_passed,
        expected_failures: suite.expected_failures()?,
        failures,
    })
}

/// The folder of the files that list expected failures.
fn expectations() -> PathBuf {
    root().join("tests/conformance")
}

/// The binary that the clients of the suite start.
fn onecall() -> PathBuf {
    env::var_os(BINARIES).map_or_else(|| output("debug"), PathBuf::from).join("onecall")
}

impl Installed {
    fn script(&self, revision: &Revision) -> PathBuf {
        self.folder.join("node_modules").join(revision.package).join("dist/index.js")
    }
}
