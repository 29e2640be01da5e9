//! `onecall approvals watch`: prints questions as they come, and what becomes of them.

use std::collections::BTreeMap;
use std::process::ExitCode;

use dialoguer::console::style;
use onecall_core::storage::{QuestionFilter, QuestionState, StoredQuestion};
use onecall_core::text::visible_json;
use onecall_core::{ItemId, Timestamp};
use serde_json::json;

use super::Desk;
use super::list::tool;
use super::show::answered;
use crate::commands::logs::wait_while_read;
use crate::formatting::{terminal_width, truncate_line};
use crate::terminal::print_styled;

/// Prints the open questions, and then every change until stdout has no reader or Ctrl-C ends the
/// process.
pub(super) fn watch(desk: &Desk, as_json: bool) -> anyhow::Result<ExitCode> {
    let mut known = BTreeMap::new();
    // The number is read before the questions, so that no change between the two is lost.
    let mut change = desk.store.change_number()?;
    print_styled(&changes(desk, &mut known, true, as_json)?)?;
    while wait_while_read()? {
        let latest = desk.store.change_number()?;
        if latest != change {
            change = latest;
            print_styled(&changes(desk, &mut known, false, as_json)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The lines for questions that are new or have changed. At the first look, questions that are not
/// open are left out.
fn changes(
    desk: &Desk,
    known: &mut BTreeMap<ItemId, bool>,
    is_first: bool,
    as_json: bool,
) -> anyhow::Result<String> {
    let mut text = String::new();
    for stored in desk.store.questions(&QuestionFilter::default())? {
        let is_open = stored.state == QuestionState::Open;
        let before = known.insert(stored.question.item.clone(), is_open);
        let is_news = match before {
            None => is_open || !is_first,
            Some(was_open) => was_open != is_open,
        };
        if is_news {
            text.push_str(&line(desk, &stored, as_json));
        }
    }
    Ok(text)
}

fn line(desk: &Desk, stored: &StoredQuestion, as_json: bool) -> String {
    let question = &stored.question;
    let event = match stored.state {
        QuestionState::Open => "asked",
        QuestionState::Answered(_) => "answered",
        QuestionState::Withdrawn => "withdrawn",
    };
    if as_json {
        let event = json!({ "event": event, "question": desk.question_json(stored) });
        return format!("{}\n", visible_json(&event.to_string()));
    }
    let id = desk.line(question.item.as_str());
    let name = desk.line(&tool(stored));
    let at = question.line.map_or(String::new(), |line| format!(", line {line}"));
    let head = format!("{id}  {name}{at}");
    let room = terminal_width().saturating_sub(head.chars().count() + 2);
    let (label, more) = match &stored.state {
        QuestionState::Open => (style("?").yellow(), desk.line(&question.arguments)),
        QuestionState::Answered(answer) => {
            (style("✓").green(), desk.line(&answered(answer, Timestamp::now())))
        }
        QuestionState::Withdrawn => (style("-").dim(), "withdrawn".to_owned()),
    };
    let name = style(name).cyan();
    format!("{label} {}  {name}{at}  {}\n", style(id).dim(), truncate_line(&more, room.max(20)))
}
