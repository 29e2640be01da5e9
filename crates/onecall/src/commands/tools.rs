//! `onecall tools`: what programs can call.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use onecall_core::ToolSpec;
use onecall_server::describe;

use crate::cli::Global;
use crate::commands::say;
use crate::setup;
use crate::terminal::Readable;

/// How many tools a search shows.
const SEARCH_RESULTS: usize = 20;

/// Lists all tools, or those that match `query`.
pub(crate) fn list(query: &str, global: &Global) -> anyhow::Result<ExitCode> {
    let found = setup::with_gateway(global, async |gateway| match query {
        "" => gateway.tools().await,
        query => gateway.search(query, SEARCH_RESULTS).await,
    })?;
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

fn table(tools: &[Arc<ToolSpec>]) -> String {
    let width = tools.iter().map(|spec| spec.callable.as_str().len()).max().unwrap_or_default();
    let mut table = String::new();
    for spec in tools {
        let description = spec.description.as_deref().unwrap_or_default();
        let summary = description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let row = format!("{:width$}  {}", spec.callable.as_str(), summary.trim());
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let readable = Readable::new(stdout.is_terminal());
    stdout.write_all(readable.text(text).as_bytes())
}
