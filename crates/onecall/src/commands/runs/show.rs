//! `onecall runs show`: all details of one run.

use std::process::ExitCode;

use onecall_core::storage::{ReplayData, RunDetail, RunRecord, RunSummary};
use onecall_core::text::{shell_word, visible_line};
use onecall_core::{Timestamp, UserName};

use super::timeline;
use crate::formatting::{age, duration, short_number, terminal_width, wrap_lines};
use crate::terminal::{neutralise, print};

/// How many lines of a program or an output are shown.
const MAX_LINES: usize = 200;

pub(super) fn show(record: &RunRecord, as_json: bool) -> anyhow::Result<ExitCode> {
    let text = match as_json {
        true => format!("{:#}\n", record.to_json()),
        false => details_text(record, Timestamp::now(), terminal_width()),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn details_text(record: &RunRecord, now: Timestamp, width: usize) -> String {
    let mut text = format!("Run {}\n", record.run.id);
    for (name, fact) in facts(record, now) {
        let lines = wrap_lines(&neutralise(&fact), width.saturating_sub(12));
        text.push_str(&format!("  {name:9} {}\n", lines.join("\n            ")));
    }
    if !record.calls.is_empty() {
        text.push_str(&format!("\n{}", timeline::drawn(&record.calls, record.run.duration, width)));
    }
    text.push_str(&section("Program", &record.program));
    if let Some(output) = &record.output {
        text.push_str(&section("Output", output));
    }
    text
}

fn facts(record: &RunRecord, now: Timestamp) -> Vec<(&'static str, String)> {
    let run = &record.run;
    let hash: String = run.program_hash.chars().take(12).collect();
    let cut = if run.output_truncated { ", and more that was cut off" } else { "" };
    let mut facts = vec![
        ("started", format!("{} ({})", run.started, age(now.since(run.started)))),
        ("user", shown_user(&run.user)),
        ("client", run.client.clone()),
        ("program", format!("{}, sha256 {hash}…", program(run))),
        ("arguments", arguments(&record.argv)),
        ("session", run.session.clone().unwrap_or_default()),
        ("outcome", outcome(run)),
        ("duration", duration(run.duration)),
        ("output", format!("{} bytes{cut}", run.output_bytes)),
        ("calls", calls(run)),
        ("tokens", tokens(run)),
    ];
    facts.push(("kept", kept(record)));
    facts.retain(|(_, fact)| !fact.is_empty());
    facts
}

/// The name of a user; empty for the local user.
pub(super) fn shown_user(user: &UserName) -> String {
    if user.is_local() { String::new() } else { user.to_string() }
}

/// How much of the run is recorded, and whether it can be replayed.
fn kept(record: &RunRecord) -> String {
    match (record.run.detail, &record.replay) {
        (RunDetail::Metadata, _) => "metadata: no arguments, results or output".to_owned(),
        (RunDetail::Full, ReplayData::None) => "everything".to_owned(),
        (RunDetail::Full, ReplayData::Journal(_)) => {
            "everything; `onecall runs replay` runs it again".to_owned()
        }
        (RunDetail::Full, ReplayData::Impossible(obstacle)) => {
            format!("everything; it cannot be replayed, because {}", obstacle.explanation())
        }
    }
}

/// The program's arguments, as they would be typed in a shell.
fn arguments(argv: &[String]) -> String {
    let words = argv.iter().skip(1).map(|word| shell_word(&visible_line(word)).into_owned());
    words.collect::<Vec<_>>().join(" ")
}

/// The kind of the run, its language, and its engine if that has another name than the language.
fn program(run: &RunSummary) -> String {
    let RunSummary { kind, language, engine, .. } = run;
    match kind.as_str() {
        "tool" => "a tool that the client called itself".to_owned(),
        "call" => "a single call of a tool".to_owned(),
        _ if language == engine => format!("{kind} in {language}"),
        _ => format!("{kind} in {language}, run by {engine}"),
    }
}

fn outcome(run: &RunSummary) -> String {
    match &run.error {
        None => run.outcome.clone(),
        Some((kind, message)) => format!("{}, {kind}: {message}", run.outcome),
    }
}

fn calls(run: &RunSummary) -> String {
    let mut text = run.call_count.to_string();
    if run.failed_calls > 0 {
        text += &format!(", {} failed", run.failed_calls);
    }
    if run.cached_calls > 0 {
        text += &format!(", {} from the cache", run.cached_calls);
    }
    text
}

fn tokens(run: &RunSummary) -> String {
    let Some(tokens) = run.agent_tokens() else { return String::new() };
    let about = if tokens.estimated { "about " } else { "" };
    format!(
        "{about}{} instead of {} with direct calls: {} saved",
        tokens.onecall,
        tokens.direct,
        short_number(tokens.saved())
    )
}

fn section(title: &str, text: &str) -> String {
    let lines = text.lines().count();
    let shown = text.lines().take(MAX_LINES).map(|line| format!("    {}\n", neutralise(line)));
    let mut section = format!("\n{title}\n");
    section.extend(shown);
    if lines > MAX_LINES {
        section += &format!("    … and {} more lines (--json has all)\n", lines - MAX_LINES);
    }
    section
}
