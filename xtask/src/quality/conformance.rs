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
    let servers: usize = counts.iter().map(|it| it.servers_passed).sum();
    let body = format!("{METHOD}\n\n{}\n{}", table(&counts), render_not_scored(&counts));
    let summary = match shortfalls.len() {
        0 => format!(
            "{} revisions pass: {servers} server and {clients} client scenarios, {expected} expected to fail",
            counts.len()
        ),
        failed => format!("{failed} scenarios fail"),
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
            "| {} | {} | {} pass | {} of {} pass | {} |\n",
            it.revision,
            it.version,
            it.servers_passed,
            it.clients_passed,
            it.clients,
            it.expected_failures,
        ));
    }
    table
}

/// The scenarios that the suite runs and does not score.
fn render_not_scored(counts: &[RevisionCounts]) -> String {
    let mut shown = String::new();
    for it in counts.iter().filter(|it| !it.not_scored.is_empty()) {
        let names: Vec<String> = it.not_scored.iter().map(|name| format!("`{name}`")).collect();
        shown.push_str(&format!(
            "The suite of {} also runs {} server scenarios that the revision does not require, which fail and are\n\
             not scored: {}.\n",
            it.revision,
            names.len(),
            names.join(", "),
        ));
    }
    shown
}
