//! `onecall tools`: what programs can call.

use std::process::ExitCode;
use std::sync::Arc;

use onecall_core::ToolSpec;
use onecall_server::describe;

use crate::cli::Global;
use crate::commands::check::quarantine;
use crate::commands::say;
use crate::setup;
use crate::terminal::print;

/// How many tools a search shows.
const SEARCH_RESULTS: usize = 20;

/// How much of a description a row shows, in characters.
const SUMMARY_WIDTH: usize = 80;

/// Lists all tools, or those that match `query`.
pub(crate) fn list(query: &str, global: &Global) -> anyhow::Result<ExitCode> {
    let (found, quarantined) = setup::with_gateway(global, async |gateway| {
        let found = match query {
            "" => gateway.tools().await,
            query => gateway.search(query, SEARCH_RESULTS).await,
        };
        (found, gateway.quarantine())
    })?;
    let quarantined = quarantine(&quarantined.iter().collect::<Vec<_>>());
    quarantined.lines().for_each(say);
    if found.is_empty() {
        say(match query {
            "" => "no tools: the configured servers offer none (see `onecall check`)",
            _ => "no tool matches",
        });
        return Ok(ExitCode::FAILURE);
    }
    print(&table(&found))?;
    Ok(ExitCode::SUCCESS)
}

/// Shows one tool.
pub(crate) fn show(name: &str, global: &Global) -> anyhow::Result<ExitCode> {
    match setup::with_gateway(global, async |gateway| gateway.inspect(name).await)? {
        Ok(spec) => {
            print(&format!("{:#}\n", describe(&spec)))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(not_found) => {
            say(&not_found.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}

pub(crate) fn table(tools: &[Arc<ToolSpec>]) -> String {
    let width = tools.iter().map(|spec| spec.callable.as_str().len()).max().unwrap_or_default();
    let mut table = String::new();
    for spec in tools {
        let summary = summary(spec.description.as_deref().unwrap_or_default());
        let row = format!("{:width$}  {summary}", spec.callable.as_str());
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}

/// The first sentence, or as much of it as fits a row.
fn summary(description: &str) -> String {
    let line = description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let sentence = line.split_inclusive(". ").next().unwrap_or_default().trim_end();
    if sentence.chars().count() <= SUMMARY_WIDTH {
        return sentence.to_owned();
    }
    sentence.chars().take(SUMMARY_WIDTH - 1).chain(['…']).collect()
}
