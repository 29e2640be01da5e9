//! `onecall tools`: lists and shows the tools that programs can call.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use onecall_catalog::{
    describe, natural_name, python_signature_with, summary, typescript_signature_with,
};
use onecall_core::text::visible_json;
use onecall_core::{Language, ServerName, ToolName, ToolPattern, ToolSpec};
use onecall_gateway::{FoundTool, Gateway, LastKnownTools, Refresh, ToolSearch};
use onecall_server::SearchDetail;
use serde_json::Value;
use tokio::time::timeout;

use crate::cli::{Global, SearchOptions};
use crate::commands::check::quarantine;
use crate::commands::{note, say};
use crate::table::columns;
use crate::terminal::print;
use crate::{formatting, listings, setup, store};

/// How many tools a search shows.
const SEARCH_RESULTS: usize = 20;

/// Tools that were listed longer ago than this are listed again after they have been shown.
const MAX_LISTING_AGE: Duration = Duration::from_secs(60 * 60);

/// How long a command waits for tools that are listed again.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(5);

/// The most characters of a description in a row.
const SUMMARY_WIDTH: usize = 80;

/// The fewest characters of a description in a row, even in a narrow terminal.
const MIN_SUMMARY_WIDTH: usize = 20;

/// Lists all tools, or those that match `query`.
pub(crate) fn list(
    query: &str,
    options: &SearchOptions,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let limit = options.limit.and_then(|limit| usize::try_from(limit).ok());
    let default_limit = if query.is_empty() { usize::MAX } else { SEARCH_RESULTS };
    let search = ToolSearch {
        query,
        server: options.server.as_deref(),
        limit: limit.unwrap_or(default_limit),
    };
    setup::with_gateway(global, async |gateway| {
        let refresh = if options.refresh { Refresh::All } else { Refresh::Unknown };
        let known = gateway.refresh_known_tools(search.server, refresh);
        let known = setup::wait_for_servers(gateway, known).await;
        let found = gateway.find_known(search, &known).await?;
        let quarantined = gateway.known_quarantine(&known);
        quarantine(&quarantined.iter().collect::<Vec<_>>()).lines().for_each(note);
        if found.is_empty() && setup::is_configured(global) {
            note(match (query, &options.server) {
                ("", None) => "The configured servers have no tools; `onecall check` shows why",
                ("", Some(_)) => "This server has no tools; `onecall check` shows why",
                _ => "No tool matches",
            });
        }
        print(&listed(&found, options))?;
        let only = search.server.and_then(|name| gateway.resolve_server(name).ok());
        list_again(gateway, &known, only.as_ref()).await;
        Ok(if found.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    })?
}

fn listed(found: &[FoundTool], options: &SearchOptions) -> String {
    let detail = SearchDetail::named(&options.detail).unwrap_or_default();
    let language = Language::named(&options.language).unwrap_or_default();
    match (detail, options.json) {
        (SearchDetail::Names, false) => table(found.iter().map(|found| &found.spec)),
        (SearchDetail::Signatures, false) => signatures(found, language),
        (detail, _) => {
            let values: Vec<Value> =
                found.iter().map(|found| detail.value(found, language)).collect();
            visible_json(&format!("{:#}\n", Value::from(values))).into_owned()
        }
    }
}

/// Shows one tool as it was last listed; with `refresh`, or if it is unknown, its server is asked.
pub(crate) fn show(name: &str, refresh: bool, global: &Global) -> anyhow::Result<ExitCode> {
    setup::with_gateway(global, async |gateway| {
        let known = gateway.last_known_tools().await;
        let spec = match gateway.inspect_known(name, &known).filter(|_| !refresh) {
            Some(spec) => spec,
            None => match setup::wait_for_servers(gateway, gateway.inspect(name)).await {
                Ok(spec) => spec,
                Err(not_found) => {
                    say(&format!("error: {}", not_found.explanation()));
                    return Ok(ExitCode::FAILURE);
                }
            },
        };
        let description = describe(&spec, gateway.observed(&spec).as_ref());
        print(&visible_json(&format!("{description:#}\n")))?;
        if !refresh {
            list_again(gateway, &known, Some(&spec.server)).await;
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// Asks servers whose listings are old for their tools, for some seconds or until Ctrl-C, and
/// reports changes.
async fn list_again(gateway: &Gateway, known: &LastKnownTools, only: Option<&ServerName>) {
    let Some((age, servers)) = known.outdated_listings(MAX_LISTING_AGE, only) else { return };
    // The tools that were shown so far must be readable, whatever happens now.
    _ = io::stdout().flush();
    let names = quoted(&servers);
    note(&format!("The tools of {names} were listed {}; listing them again", formatting::age(age)));
    let in_time = tokio::select! {
        listed = timeout(REFRESH_TIMEOUT, gateway.list_tools_of(&servers)) => listed.is_ok(),
        _ = tokio::signal::ctrl_c() => return,
    };
    let changed = gateway.changed_since(known);
    if !changed.is_empty() {
        say(&format!(
            "The tools of {} have changed: run the command again to see them",
            quoted(&changed)
        ));
    }
    if !in_time {
        let seconds = REFRESH_TIMEOUT.as_secs();
        note(&format!(
            "Not every server listed its tools within {seconds} s: to wait for all of them, add --refresh"
        ));
    }
}

fn quoted(servers: &[ServerName]) -> String {
    servers.iter().map(|server| format!("'{server}'")).collect::<Vec<_>>().join(", ")
}

/// Prints the names of the tools that are known without starting a server, one per line.
pub(crate) fn names(global: &Global) -> anyhow::Result<ExitCode> {
    let names = listings::tool_names(global);
    print(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

/// Removes learned result types.
pub(crate) fn forget(pattern: Option<&str>, global: &Global) -> anyhow::Result<ExitCode> {
    let pattern = pattern.map(ToolPattern::parse).transpose()?;
    let config = setup::load(global)?.config;
    let mut forgotten = 0;
    if let Some(store) = store::open_existing(&config) {
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
    print(&format!("Forgot the learned result types of {results}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// One row for each tool: its name and a summary.
pub(crate) fn table<'a>(tools: impl Iterator<Item = &'a Arc<ToolSpec>> + Clone) -> String {
    let width = tools.clone().map(|spec| spec.callable.as_str().len()).max().unwrap_or_default();
    let room = columns().map_or(SUMMARY_WIDTH, |columns| columns.saturating_sub(width + 2));
    let room = room.clamp(MIN_SUMMARY_WIDTH, SUMMARY_WIDTH);
    let mut table = String::new();
    for spec in tools {
        let summary = summary(spec.description.as_deref().unwrap_or_default(), room);
        let row = format!("{:width$}  {summary}", spec.callable.as_str());
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}

fn signatures(tools: &[FoundTool], language: Language) -> String {
    let signature = match language {
        Language::Python => python_signature_with,
        Language::TypeScript => typescript_signature_with,
    };
    let mut text = String::new();
    for FoundTool { spec, observed } in tools {
        text.push_str(&signature(spec, observed.as_ref()));
        text.push('\n');
        let summary = summary(spec.description.as_deref().unwrap_or_default(), SUMMARY_WIDTH);
        if !summary.is_empty() {
            text.push_str(&format!("  {summary}\n"));
        }
    }
    text
}
