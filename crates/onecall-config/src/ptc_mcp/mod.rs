//! Configurations of ptc-mcp, a Python server that does a part of what onecall does. They are read as
//! that server reads them: what it overlooks is a warning here, and a server's entry that cannot be
//! used leaves out that server alone. What decides which tools programs may call is never overlooked:
//! there, a mistake is an error, or keeps more tools from programs.

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
use mapping::{Known, entries};

pub(crate) use recognition::is_ptc_mcp;

/// What a configuration of ptc-mcp says.
pub(crate) struct Reading {
    pub(crate) config: Config,
    /// What was overlooked, in the order of the file.
    pub(crate) warnings: Vec<Problem>,
    /// Why servers were left out: the first problem with the entry of each.
    pub(crate) skipped: Vec<Problem>,
}

/// The sections of such a file.
const SECTIONS: [&str; 3] = ["servers", "tools", "execution"];

/// Reads a document for which [`is_ptc_mcp`] holds. `file` is named in problems.
pub(crate) fn read(
    document: Node,
    environment: &Environment<'_>,
    file: &Path,
) -> Result<Reading, ConfigErrors> {
    let (mut report, mut notes) = (Report::default(), Report::default());
    let mut config = Config::default();
    let mut skipped = Vec::new();
    let known = Known { what: "the configuration", keys: &SECTIONS, consequence: "" };
    for (key, section) in entries(document, &known, &mut notes, &mut report) {
        match (key.as_written(), section.value) {
            (Some("servers"), Value::List(items)) => {
                (config.servers, skipped) = servers::read(items, environment, &mut notes);
            }
            (Some("tools"), value) => {
                let section = Node { at: section.at, value };
                config.tools = policy::read(section, &mut notes, &mut report);
            }
            (_, value) => {
                let section = Node { at: section.at, value };
                (config.execution, config.totals) =
                    execution::read(section, &mut notes, &mut report);
            }
        }
    }
    let warnings = notes.into_problems();
    report.finish(Reading { config, warnings, skipped }, file)
}
