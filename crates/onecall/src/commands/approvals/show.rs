//! `onecall approvals show`: everything about single questions.

use std::process::ExitCode;

use onecall_core::storage::{DurableRun, QuestionFilter, QuestionState, StoredQuestion};
use onecall_core::text::{visible, visible_json, visible_line};
use onecall_core::{AnsweredVerdict, ApprovalScope, ApprovalWay, QuestionKind, Timestamp, Verdict};
use serde_json::Value;

use super::list::decision;
use super::{Desk, selection};
use crate::commands::say;
use crate::formatting::{age, terminal_width, wrap_lines};
use crate::terminal::print_styled;

/// How many lines of arguments are shown.
const MAX_LINES: usize = 200;

pub(super) fn show(desk: &Desk, ids: &[String], as_json: bool) -> anyhow::Result<ExitCode> {
    let questions = desk.store.questions(&QuestionFilter::default())?;
    let (mut shown, mut code) = (Vec::new(), ExitCode::SUCCESS);
    for id in ids {
        match selection::find(id, &questions) {
            Ok(found) => shown.extend(found),
            Err(error) => {
                say(&visible_line(&format!("error: {error}")));
                code = ExitCode::FAILURE;
            }
        }
    }
    if as_json {
        let shown: Value = shown.iter().map(|stored| desk.question_json(stored)).collect();
        print_styled(&format!("{}\n", visible_json(&format!("{shown:#}"))))?;
        return Ok(code);
    }
    let mut text = String::new();
    for (number, stored) in shown.into_iter().enumerate() {
        text.push_str(if number > 0 { "\n" } else { "" });
        let run = desk.store.durable_run(&stored.question.run)?;
        text.push_str(&desk.details(stored, run.as_ref(), Timestamp::now(), terminal_width()));
    }
    print_styled(&text)?;
    Ok(code)
}

impl Desk {
    fn details(
        &self,
        stored: &StoredQuestion,
        run: Option<&DurableRun>,
        now: Timestamp,
        width: usize,
    ) -> String {
        let question = &stored.question;
        let mut text = format!("Question {}\n", self.line(question.item.as_str()));
        for (name, fact) in self.facts(stored, run, now) {
            let lines = wrap_lines(&self.line(&fact), width.saturating_sub(12));
            text.push_str(&format!("  {name:9} {}\n", lines.join("\n            ")));
        }
        text.push_str("\nArguments\n");
        let arguments = self.readable_arguments(&question.arguments);
        let lines = arguments.lines().count();
        text.extend(arguments.lines().take(MAX_LINES).map(|line| format!("    {line}\n")));
        if lines > MAX_LINES {
            text += &format!("    … and {} more lines (--json has all)\n", lines - MAX_LINES);
        }
        if stored.state == QuestionState::Open {
            let how = match question.allows(ApprovalWay::Cli) {
                true => how_to_answer(question.kind, question.item.as_str()),
                false => "Its gateway does not accept answers on the command line".to_owned(),
            };
            text += &format!("\n{how}\n");
        }
        text
    }

    fn facts(
        &self,
        stored: &StoredQuestion,
        run: Option<&DurableRun>,
        now: Timestamp,
    ) -> Vec<(&'static str, String)> {
        let question = &stored.question;
        let asks = match question.kind {
            QuestionKind::Approve => "may this call be made?",
            QuestionKind::Unknown => {
                "did this call happen? The gateway ended while it was under way"
            }
        };
        let about_run = run.map_or(String::new(), |run| {
            format!(", {} of {}, started {}", run.kind, run.client, age(now.since(run.started)))
        });
        let in_place = run.and_then(|run| run.in_place).map_or(String::new(), |reason| {
            format!(
                "the run can only be continued while its gateway runs, because {}",
                reason.explanation()
            )
        });
        let state = match &stored.state {
            QuestionState::Open => "open".to_owned(),
            QuestionState::Withdrawn => {
                "withdrawn: the program cancelled the call, or its run has ended".to_owned()
            }
            QuestionState::Answered(answer) => answered(answer, now),
        };
        let expires = match question.expires.since(now) {
            left if left.is_zero() => question.expires.to_string(),
            left => format!("{} (in {})", question.expires, span(left.as_secs())),
        };
        let mut facts = vec![
            ("asks", asks.to_owned()),
            ("tool", question.name.to_string()),
            ("run", format!("{}{about_run}", question.run)),
            ("line", question.line.map_or(String::new(), |line| line.to_string())),
            ("rule", question.rule.clone()),
            ("asked", format!("{} ({})", question.asked, age(now.since(question.asked)))),
            ("expires", expires),
            ("state", state),
            ("note", in_place),
        ];
        facts.retain(|(_, fact)| !fact.is_empty());
        facts
    }

    /// The arguments in lines, without secrets and without hidden characters.
    pub(super) fn readable_arguments(&self, arguments: &str) -> String {
        let text = self.redactor.redact(arguments.to_owned());
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => visible_json(&format!("{value:#}")).into_owned(),
            Err(_) => visible(&text).into_owned(),
        }
    }
}

/// The commands that answer an open question.
fn how_to_answer(kind: QuestionKind, id: &str) -> String {
    let id = visible_line(id);
    match kind {
        QuestionKind::Approve => format!(
            "Answer it:\n  onecall approvals approve {id}\n  onecall approvals deny {id} --reason TEXT"
        ),
        QuestionKind::Unknown => format!(
            "Find out whether it happened, and answer:\n  onecall approvals approve {id} --happened \
             JSON\n  onecall approvals approve {id} --not-happened\n  onecall approvals deny {id} \
             --give-up"
        ),
    }
}

/// An answer as part of a sentence: `approved by ada on the command line, 3m ago`.
pub(crate) fn answered(answer: &AnsweredVerdict, now: Timestamp) -> String {
    let more = match &answer.verdict {
        Verdict::Approve { scope: ApprovalScope::Run, .. } => " for its whole run".to_owned(),
        Verdict::Approve { scope: ApprovalScope::Tool { constraints, until }, .. } => {
            let values: Vec<_> =
                constraints.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let values = values.join(" and ");
            let values = if values.is_empty() { values } else { format!(" with {values}") };
            format!(", and all calls of the tool{values} until {},", Timestamp(*until))
        }
        Verdict::Approve { arguments: Some(_), .. } => " with other arguments".to_owned(),
        Verdict::Deny { reason: Some(reason) } => format!(" ({reason})"),
        _ => String::new(),
    };
    let way = match answer.way {
        ApprovalWay::Client => " in the client",
        ApprovalWay::Cli => " on the command line",
        ApprovalWay::Page => " on the page",
        ApprovalWay::Rule => "",
    };
    format!("{}{more} by {}{way}, {}", decision(answer), answer.by, age(now.since(answer.at)))
}

/// A span of time to come, in its largest unit.
fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}
