//! Reads configurations of ptc-mcp, a Python server with a part of onecall's functions, in the way
//! that ptc-mcp reads them: problems that it ignores are warnings, and an invalid server entry only
//! leaves out that server. Problems with the tool lists are never ignored: each is an error, or
//! excludes more tools from programs.

mod execution;
mod mapping;
mod policy;
mod recognition;
mod servers;

use std::path::Path;

use crate::document::{Node, Value};
use crate::error::{ConfigErrors, Problem, Report};
use crate::expand::Environment;
use crate::model::Config;
use mapping::{KnownKeys, entries};

pub(crate) use recognition::is_ptc_mcp;

/// A parsed ptc-mcp configuration.
pub(crate) struct PtcMcpConfig {
    pub(crate) config: Config,
    /// Problems that were ignored, in the order of the file.
    pub(crate) warnings: Vec<Problem>,
    /// The servers that were left out: the first problem of each entry.
    pub(crate) skipped: Vec<Problem>,
}

/// The sections of a ptc-mcp configuration.
const SECTIONS: [&str; 3] = ["servers", "tools", "execution"];

/// Reads a document that [`is_ptc_mcp`] accepts. `file` is used in problems.
pub(crate) fn read(
    document: Node,
    environment: &Environment<'_>,
    file: &Path,
) -> Result<PtcMcpConfig, ConfigErrors> {
    let (mut report, mut warnings) = (Report::default(), Report::default());
    let mut config = Config::default();
    let mut skipped = Vec::new();
    let known = KnownKeys { what: "the configuration", keys: &SECTIONS, consequence: "" };
    for (key, section) in entries(document, &known, &mut warnings, &mut report) {
        match (key.as_written(), section.value) {
            (Some("servers"), Value::List(items)) => {
                (config.servers, skipped) = servers::read(items, environment, &mut warnings);
            }
            (Some("tools"), value) => {
                let section = Node { at: section.at, value };
                config.tools = policy::read(section, &mut warnings, &mut report);
            }
            (_, value) => {
                let section = Node { at: section.at, value };
                (config.execution, config.totals) =
                    execution::read(section, &mut warnings, &mut report);
            }
        }
    }
    let warnings = warnings.into_problems();
    report.finish(PtcMcpConfig { config, warnings, skipped }, file)
}
