//! `onecall approvals list`: the questions, one per row.

use std::process::ExitCode;

use onecall_core::storage::{QuestionFilter, QuestionState, StoredQuestion};
use onecall_core::text::visible_json;
use onecall_core::{AnsweredVerdict, QuestionKind, Timestamp, Verdict};
use serde_json::Value;

use super::Desk;
use crate::commands::note;
use crate::formatting::{Alignment, age, table, terminal_width};
use crate::terminal::print_styled;

/// In a narrower terminal, rows have no times.
const NARROW: usize = 80;

pub(super) fn list(desk: &Desk, all: bool, as_json: bool) -> anyhow::Result<ExitCode> {
    let filter = QuestionFilter { run: None, open: !all, ..QuestionFilter::default() };
    let questions = desk.store.questions(&filter)?;
    if as_json {
        let questions: Value = questions.iter().map(|it| desk.question_json(it)).collect();
        print_styled(&format!("{}\n", visible_json(&format!("{questions:#}"))))?;
    } else if questions.is_empty() {
        note("No call waits for an approval");
    } else {
        print_styled(&rows(desk, &questions, all, Timestamp::now(), terminal_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(
    desk: &Desk,
    questions: &[StoredQuestion],
    with_state: bool,
    now: Timestamp,
    width: usize,
) -> String {
    let is_shown = |heading: &str| match heading {
        "WHEN" => width >= NARROW,
        "STATE" => with_state,
        _ => true,
    };
    let headings = [
        ("ID", Alignment::Left),
        ("WHEN", Alignment::Right),
        ("STATE", Alignment::Left),
        ("LINE", Alignment::Right),
        ("TOOL", Alignment::Left),
        ("ARGUMENTS", Alignment::Left),
    ];
    let row = |stored: &StoredQuestion| {
        let question = &stored.question;
        let cells = [
            desk.line(question.item.as_str()),
            age(now.since(question.asked)),
            state(&stored.state).to_owned(),
            question.line.map_or("-".to_owned(), |line| line.to_string()),
            desk.line(&tool(stored)),
            desk.line(&question.arguments),
        ];
        let shown = headings.iter().zip(cells).filter(|((heading, _), _)| is_shown(heading));
        shown.map(|(_, cell)| cell).collect::<Vec<_>>()
    };
    let rows: Vec<_> = questions.iter().map(row).collect();
    let headings: Vec<_> = headings.iter().copied().filter(|it| is_shown(it.0)).collect();
    table(&headings, &rows, width)
}

/// The tool of a question, and a note if the question is whether the call happened.
pub(super) fn tool(stored: &StoredQuestion) -> String {
    let name = &stored.question.name;
    match stored.question.kind {
        QuestionKind::Approve => name.to_string(),
        QuestionKind::Unknown => format!("{name} (did it happen?)"),
    }
}

/// What has become of a question, in a word or two.
fn state(state: &QuestionState) -> &'static str {
    match state {
        QuestionState::Open => "open",
        QuestionState::Answered(answer) => decision(answer),
        QuestionState::Withdrawn => "withdrawn",
    }
}

/// What was decided, as a participle.
pub(super) fn decision(answer: &AnsweredVerdict) -> &'static str {
    match answer.verdict {
        Verdict::Approve { .. } => "approved",
        Verdict::Deny { .. } => "denied",
        Verdict::Happened { .. } => "answered as happened",
        Verdict::NotHappened => "answered as not happened",
        Verdict::GiveUp => "given up",
    }
}
