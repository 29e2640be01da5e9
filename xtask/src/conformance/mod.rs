//! Runs the conformance suite of MCP against both sides of onecall: the server behind
//! `onecall serve --http`, and the client behind `onecall run`.

mod client;
mod install;
mod login;
mod server;
mod suite;

use std::path::PathBuf;

use testkit::cargo::{output, root};

use install::Installed;
use server::Server;
use suite::{Suite, SuitePart};

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

/// Runs everything; what cannot be installed here is skipped and reported.
pub fn run() -> Result<(), String> {
    let installed = match install::install() {
        Ok(installed) => installed,
        Err(why) => {
            eprintln!("skipped: the MCP conformance suite, both legs: {why}");
            return Ok(());
        }
    };
    let mut failures = Vec::new();
    for revision in &REVISIONS {
        let suite = Suite::new(&installed, revision);
        let server = Server::start(&installed.folder, revision.name)?;
        failures.extend(suite.run(&SuitePart::Server { url: &server.url }));
        drop(server);
        failures.extend(run_client_part(&suite)?);
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn run_client_part(suite: &Suite) -> Result<Vec<String>, String> {
    let scenarios = suite.client_scenarios()?;
    Ok(scenarios.iter().filter_map(|scenario| suite.run(&SuitePart::Client { scenario })).collect())
}

/// The folder of the files that list expected failures.
fn expectations() -> PathBuf {
    root().join("tests/conformance")
}

/// The binary under test.
fn onecall() -> PathBuf {
    output("debug").join("onecall")
}

impl Installed {
    fn script(&self, revision: &Revision) -> PathBuf {
        self.folder.join("node_modules").join(revision.package).join("dist/index.js")
    }
}
