//! `onecall tools`: what programs can call.

use std::process::ExitCode;
use std::sync::Arc;

use onecall_catalog::{natural_name, python_signature_with, summary};
use onecall_config::{Surroundings, ToolPattern};
use onecall_core::{ServerName, ToolName, ToolSpec};
use onecall_runtime::{ToolFinding, ToolNotFound, ToolSearch};
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
    let (found, quarantined) = setup::ask_gateway(global, async |gateway| {
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
        (SearchDetail::Names, false) => table(found.iter().map(|found| &found.spec)),
        (SearchDetail::Signatures, false) => signatures(&found),
        (detail, _) => {
            let values: Vec<Value> = found.iter().map(|found| detail.value(found)).collect();
            format!("{:#}\n", Value::from(values))
        }
    })?;
    Ok(if found.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Shows one tool.
pub(crate) fn show(name: &str, global: &Global) -> anyhow::Result<ExitCode> {
    let found = setup::ask_gateway(global, async |gateway| {
        let spec = gateway.inspect(name).await?;
        let observed = gateway.observed(&spec);
        Ok(describe(&spec, observed.as_ref()))
    });
    match found? {
        Ok(description) => {
            print(&format!("{description:#}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(not_found) => {
            let not_found: ToolNotFound = not_found;
            say(&not_found.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Forgets what results looked like.
pub(crate) fn forget(pattern: Option<&str>, global: &Global) -> anyhow::Result<ExitCode> {
    let pattern = pattern.map(ToolPattern::parse).transpose()?;
    let config = setup::load(global)?.config;
    let file = config.store.file(&Surroundings::of_process().directories);
    // To look into a store that is not there would make one.
    let store = file.filter(|file| file.exists()).map(onecall_store::open);
    let mut forgotten = 0;
    if let Some(store) = store {
        for (key, _) in store.shapes()? {
            let name = natural_name(
                &ServerName::new(key.server.as_str()),
                &ToolName::new(key.tool.as_str()),
            );
            if pattern.as_ref().is_none_or(|pattern| pattern.matches(&name)) {
                store.forget_shape(&key)?;
                forgotten += 1;
            }
        }
    }
    let results = if forgotten == 1 { "1 tool".to_owned() } else { format!("{forgotten} tools") };
    print(&format!("forgot what the results of {results} look like\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// A row for each tool: its name and what it is for.
pub(crate) fn table<'a>(tools: impl Iterator<Item = &'a Arc<ToolSpec>> + Clone) -> String {
    let width = tools.clone().map(|spec| spec.callable.as_str().len()).max().unwrap_or_default();
    let mut table = String::new();
    for spec in tools {
        let summary = summary(spec.description.as_deref().unwrap_or_default(), SUMMARY_WIDTH);
        let row = format!("{:width$}  {summary}", spec.callable.as_str());
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}

fn signatures(tools: &[ToolFinding]) -> String {
    let mut text = String::new();
    for ToolFinding { spec, observed } in tools {
        text.push_str(&python_signature_with(spec, observed.as_ref()));
        text.push('\n');
        let summary = summary(spec.description.as_deref().unwrap_or_default(), SUMMARY_WIDTH);
        if !summary.is_empty() {
            text.push_str(&format!("  {summary}\n"));
        }
    }
    text
}
