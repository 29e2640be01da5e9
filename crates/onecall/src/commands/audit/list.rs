//! Lists rows of the audit trail, newest first.

use std::process::ExitCode;
use std::time::Duration;

use onecall_core::storage::{
    AuditDecision, AuditEntry, AuditEvent, AuditFilter, AuditRow, AuditTrail,
};
use onecall_core::{QuestionKind, RunId, Timestamp};
use serde_json::{Value, json};

use super::AuditArguments;
use crate::commands::note;
use crate::formatting::{Alignment, age, duration, table, terminal_width, truncate_line};
use crate::terminal::{neutralise, print};

/// In a narrower terminal, rows have no run.
const NARROW: usize = 80;

pub(super) fn list(trail: &dyn AuditTrail, arguments: AuditArguments) -> anyhow::Result<ExitCode> {
    let AuditArguments { user, tool, run, since, denied, limit, json, .. } = arguments;
    let now = Timestamp::now();
    let (run, since) = (run.map(RunId::from_existing), since.map(|span| now.before(span)));
    let filter = AuditFilter {
        user,
        tool,
        run,
        since,
        denied,
        limit: Some(limit),
        ..AuditFilter::default()
    };
    let rows = trail.audit_rows(&filter)?;
    if json {
        let rows: Value = rows.iter().map(as_json).collect();
        print(&format!("{rows:#}\n"))?;
    } else if rows.is_empty() {
        let everything = AuditFilter { limit: filter.limit, ..AuditFilter::default() };
        note(match filter == everything {
            true => "The audit trail is empty; `audit: hash` in the configuration enables it",
            false => "No row of the audit trail matches",
        });
    } else {
        print(&as_table(&rows, now, terminal_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A row: the entry as it is stored, with its number and digest.
fn as_json(row: &AuditRow) -> Value {
    let mut value = serde_json::to_value(&row.entry).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("number".to_owned(), json!(row.number));
        fields.insert("at".to_owned(), json!(row.entry.at.with_milliseconds()));
        fields.insert("digest".to_owned(), json!(row.digest.to_string()));
    }
    value
}

fn as_table(rows: &[AuditRow], now: Timestamp, width: usize) -> String {
    let is_narrow = width < NARROW;
    let mut headings = vec![
        ("ROW", Alignment::Right),
        ("WHEN", Alignment::Right),
        ("USER", Alignment::Left),
        ("RUN", Alignment::Left),
        ("TOOL", Alignment::Left),
        ("EVENT", Alignment::Left),
    ];
    headings.retain(|(heading, _)| !(is_narrow && *heading == "RUN"));
    let short = |text: &str, width| match text {
        "" => "-".to_owned(),
        text => neutralise(&truncate_line(text, width)),
    };
    let cells = rows.iter().map(|AuditRow { number, entry, .. }| {
        let when = age(now.since(entry.at));
        let mut row = vec![number.to_string(), when, short(&entry.user, 24)];
        row.extend((!is_narrow).then(|| short(entry.run(), 20)));
        row.extend([short(entry.tool(), 40), neutralise(&event(entry))]);
        row
    });
    table(&headings, &cells.collect::<Vec<_>>(), width)
}

/// What happened, in words.
fn event(entry: &AuditEntry) -> String {
    match &entry.event {
        AuditEvent::Decided { decision, rule, .. } => {
            let decision = match decision {
                AuditDecision::Allow => "allowed",
                AuditDecision::Deny => "denied",
                AuditDecision::Ask => "asked",
            };
            rule.as_ref().map_or(decision.to_owned(), |rule| format!("{decision} by {rule}"))
        }
        AuditEvent::Answered { question, verdict, by, way, arguments } => {
            let verdict = match (question, verdict.as_str()) {
                (QuestionKind::Approve, "approve") if arguments.is_some() => {
                    "approved with other arguments"
                }
                (_, "approve") => "approved",
                (_, "deny") => "denied",
                (_, "happened") => "said to have happened",
                (_, "not_happened") => "said not to have happened",
                (_, "give_up") => "given up",
                (_, other) => other,
            };
            format!("{verdict} by {by} ({})", way.name())
        }
        AuditEvent::Ended { outcome, cached, duration_us } => {
            let cached = if *cached { ", from the cache" } else { "" };
            format!(
                "{} after {}{cached}",
                outcome.name(),
                duration(Duration::from_micros(*duration_us))
            )
        }
        AuditEvent::Started { version, process } => {
            format!("gateway {version} started, process {process}")
        }
        AuditEvent::Stopped { process } => format!("gateway stopped, process {process}"),
        AuditEvent::Changed { change } => change.clone(),
        AuditEvent::Pruned { through, removed, .. } => {
            format!("{removed} old rows removed, up to row {through}")
        }
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::storage::{AuditOutcome, AuditedArguments, AuditedCall};
    use onecall_core::{ApprovalWay, Digest};

    use super::*;

    fn row(number: u64, event: AuditEvent) -> AuditRow {
        let entry = AuditEntry {
            at: Timestamp(60_000),
            user: "anna".to_owned(),
            groups: vec!["dev".to_owned()],
            client: "agent".to_owned(),
            call: Some(AuditedCall {
                run: "1m7g7r5ga39rv3".to_owned(),
                kind: "program".to_owned(),
                program: None,
                tool: "mcp__db__\u{1b}[31mdrop".to_owned(),
                id: 2,
            }),
            event,
        };
        AuditRow { number, entry, digest: Digest::of("row") }
    }

    fn arguments() -> AuditedArguments {
        AuditedArguments { sha256: Digest::of("{}").to_string(), bytes: 2, text: None }
    }

    #[test]
    fn rows_are_shown_in_words() {
        let decided = |decision, rule: &str| AuditEvent::Decided {
            decision,
            rule: (!rule.is_empty()).then(|| rule.to_owned()),
            arguments: arguments(),
        };
        let answered = |verdict: &str, arguments| AuditEvent::Answered {
            question: QuestionKind::Approve,
            verdict: verdict.to_owned(),
            by: "ben".to_owned(),
            way: ApprovalWay::Page,
            arguments,
        };
        let ended = |outcome, cached| AuditEvent::Ended { outcome, cached, duration_us: 12_345 };
        let events = [
            decided(AuditDecision::Allow, ""),
            decided(AuditDecision::Deny, "policy team.cedar:12"),
            decided(AuditDecision::Ask, "approvals.ask: mcp__db__*"),
            answered("approve", None),
            answered("approve", Some(arguments())),
            answered("deny", None),
            ended(AuditOutcome::Ok, true),
            ended(AuditOutcome::Failed, false),
            AuditEvent::Started { version: "0.1.0".to_owned(), process: 7 },
            AuditEvent::Changed { change: "user ben was added".to_owned() },
            AuditEvent::Pruned { through: 90, removed: 80, digest: String::new() },
        ];
        let rows: Vec<_> = events.into_iter().zip(1..).map(|(event, at)| row(at, event)).collect();
        insta::assert_snapshot!(as_table(&rows, Timestamp(120_000), 120));
    }
}
