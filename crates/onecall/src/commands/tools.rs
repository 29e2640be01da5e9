//! `onecall tools`: what programs can call.

use std::process::ExitCode;
use std::sync::Arc;

use onecall_catalog::{python_signature, summary};
use onecall_core::ToolSpec;
use onecall_runtime::ToolSearch;
use onecall_server::{SearchDetail, describe};
use serde_json::Value;

use crate::cli::{Global, SearchOptions};
use crate::commands::check::quarantine;
use crate::commands::say;
use crate::setup;
use crate::terminal::print;

/// How many tools a search shows.
const SEARCH_RESULTS: usize = 20;

/// How much of a description a row shows, in characters.
const SUMMARY_WIDTH: usize = 80;

/// Lists all tools, or those that match `query`.
pub(crate) fn list(
    query: &str,
    options: &SearchOptions,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let limit = options.limit.and_then(|limit| usize::try_from(limit).ok());
    let usual = if query.is_empty() { usize::MAX } else { SEARCH_RESULTS };
    let search =
        ToolSearch { query, server: options.server.as_deref(), limit: limit.unwrap_or(usual) };
    let (found, quarantined) = setup::with_gateway(global, async |gateway| {
        // People would rather wait than look twice.
        gateway.servers().await;
        (gateway.find(search).await, gateway.quarantine())
    })?;
    let found = found?.tools;
    let quarantined = quarantine(&quarantined.iter().collect::<Vec<_>>());
    quarantined.lines().for_each(say);
    if found.is_empty() {
        say(match (query, &options.server) {
            ("", None) => "no tools: the configured servers offer none (see `onecall check`)",
            ("", Some(_)) => "no tools: this server offers none (see `onecall check`)",
            _ => "no tool matches",
        });
    }
    let detail = SearchDetail::named(&options.detail).unwrap_or_default();
    print(&match (detail, options.json) {
        (SearchDetail::Names, false) => table(&found),
        (SearchDetail::Signatures, false) => signatures(&found),
        (detail, _) => {
            let values: Vec<Value> = found.iter().map(|spec| detail.value(spec)).collect();
            format!("{:#}\n", Value::from(values))
        }
    })?;
    Ok(if found.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
        let summary = summary(spec.description.as_deref().unwrap_or_default(), SUMMARY_WIDTH);
        let row = format!("{:width$}  {summary}", spec.callable.as_str());
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}

fn signatures(tools: &[Arc<ToolSpec>]) -> String {
    let mut text = String::new();
    for spec in tools {
        text.push_str(&python_signature(spec));
        text.push('\n');
        let summary = summary(spec.description.as_deref().unwrap_or_default(), SUMMARY_WIDTH);
        if !summary.is_empty() {
            text.push_str(&format!("  {summary}\n"));
        }
    }
    text
}
