//! The MCP conformance suite, against both sides of onecall.

use super::driver::Setup;
use super::page::Section;
use crate::conformance::{RevisionCounts, count};

/// The client scenarios of each revision that are part of a sample.
const SAMPLE: usize = 2;

/// Runs the suite of each revision, or its server scenarios and a few of the clients'.
pub fn run(setup: &Setup) -> Result<Section, String> {
    let counts = count(&setup.binaries, setup.size(usize::MAX, SAMPLE))?;
    let shortfalls: Vec<String> = counts.iter().flat_map(|it| it.failures.clone()).collect();
    let clients: usize = counts.iter().map(|it| it.clients).sum();
    let expected: usize = counts.iter().map(|it| it.expected_failures).sum();
    let body = format!("{METHOD}\n\n{}", table(&counts));
    let summary = match shortfalls.len() {
        0 => format!(
            "both sides of {} revisions pass: all server scenarios, {clients} client scenarios; {expected} expected to fail",
            counts.len()
        ),
        failed => format!("{failed} parts fail"),
    };
    Ok(Section { title: "Conformance", summary, body, shortfalls })
}

const METHOD: &str = "\
The suite of the protocol's authors, npm's `@modelcontextprotocol/conformance`, runs against both sides of onecall
(`cargo xtask conformance` runs it alone): its client talks to `onecall serve --http`, which passes the suite's
reference server through, and its servers are talked to by `onecall run`.
[tests/conformance](../tests/conformance/README.md) says how, and would list the
scenarios that are expected to fail.";

fn table(counts: &[RevisionCounts]) -> String {
    let mut table = String::from(
        "| revision | suite | server scenarios | client scenarios | expected to fail |\n|---|---|---|---|---|\n",
    );
    for it in counts {
        table.push_str(&format!(
            "| {} | {} | {} | {} of {} pass | {} |\n",
            it.revision, it.version, it.server, it.clients_passed, it.clients, it.expected_failures,
        ));
    }
    table
}
