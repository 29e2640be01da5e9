//! `onecall approvals approve` and `deny`: gives the answers, and says what became of each.

use std::process::ExitCode;

use anyhow::ensure;
use onecall_config::Config;
use onecall_core::storage::{AnswerReceipt, QuestionFilter, StoredQuestion};
use onecall_core::text::{visible_json, visible_line};
use onecall_core::{AnsweredVerdict, ApprovalQuestion, ApprovalWay, Timestamp, Verdict};
use serde_json::{Value, json};

use super::selection::find;
use super::show::answered;
use super::verdict::Choice;
use super::{Desk, Selection};
use crate::commands::{note, say};
use crate::system::user_name;
use crate::terminal::print_styled;

/// What became of one answer, or of one id that means no question.
struct Outcome {
    /// Whether the answer counts.
    is_done: bool,
    /// A word for scripts.
    word: &'static str,
    message: String,
    question: Option<ApprovalQuestion>,
    /// The answer that counts, if another one does.
    earlier: Option<AnsweredVerdict>,
}

/// Answers the selected questions.
pub(super) fn answer(
    desk: &Desk,
    config: &Config,
    which: &Selection,
    choice: &Choice,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    check_way(config)?;
    let (questions, mut outcomes) = select(desk, which)?;
    ensure!(
        !choice.is_for_one() || questions.len() < 2,
        "this answer is for one question, and {} are meant; write the id of one",
        questions.len()
    );
    let by = user_name();
    for question in questions {
        outcomes.push(desk.answer_one(question, choice, &by)?);
    }
    let all_done = outcomes.iter().all(|outcome| outcome.is_done);
    if as_json {
        let outcomes: Value = outcomes.iter().map(|outcome| outcome.json(desk)).collect();
        print_styled(&format!("{}\n", visible_json(&format!("{outcomes:#}"))))?;
    } else if outcomes.is_empty() {
        note("No call waits for an approval");
    }
    for outcome in outcomes.iter().filter(|_| !as_json) {
        let message = visible_line(&outcome.message);
        if outcome.is_done { note(&message) } else { say(&format!("error: {message}")) }
    }
    Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Refuses if the configuration does not let the command line answer.
fn check_way(config: &Config) -> anyhow::Result<()> {
    let Some(settings) = &config.approvals else { return Ok(()) };
    let ways: Vec<_> = settings.ways.iter().map(|way| way.name()).collect();
    ensure!(
        settings.allows(ApprovalWay::Cli),
        "questions may not be answered on the command line: 'ways' in approvals has only {}",
        if ways.is_empty() { "nothing".to_owned() } else { ways.join(", ") }
    );
    Ok(())
}

/// The questions that the command line means, each once, and an outcome for each id that means none.
fn select(desk: &Desk, which: &Selection) -> anyhow::Result<(Vec<ApprovalQuestion>, Vec<Outcome>)> {
    let filter = QuestionFilter { run: None, open: which.all, ..QuestionFilter::default() };
    let stored = desk.store.questions(&filter)?;
    if which.all {
        return Ok((stored.into_iter().map(|stored| stored.question).collect(), Vec::new()));
    }
    let (mut questions, mut outcomes) = (Vec::<ApprovalQuestion>::new(), Vec::new());
    for id in &which.ids {
        match find(id, &stored) {
            Ok(found) => {
                for StoredQuestion { question, .. } in found {
                    if !questions.iter().any(|known| known.item == question.item) {
                        questions.push(question.clone());
                    }
                }
            }
            Err(error) => outcomes.push(Outcome::refused("unknown", error.to_string(), None)),
        }
    }
    Ok((questions, outcomes))
}

impl Desk {
    /// Answers one question, and says what became of the answer.
    fn answer_one(
        &self,
        question: ApprovalQuestion,
        choice: &Choice,
        by: &str,
    ) -> anyhow::Result<Outcome> {
        let named = format!("'{}' ({})", question.name, question.item.as_str());
        let verdict = match choice.verdict(&question) {
            Ok(verdict) => verdict,
            Err(error) => {
                let message = self.line(&format!("{named} is not answered: {error}"));
                return Ok(Outcome::refused("unfit", message, Some(question)));
            }
        };
        let now = Timestamp::now();
        let answer = AnsweredVerdict { verdict, by: by.to_owned(), way: ApprovalWay::Cli, at: now };
        let receipt = self.store.answer_question(&question.item, &answer)?;
        Ok(match receipt {
            AnswerReceipt::Accepted => Outcome {
                is_done: true,
                word: "accepted",
                message: accepted(&answer.verdict, &named),
                question: Some(question),
                earlier: None,
            },
            AnswerReceipt::AlreadyAnswered(earlier) => {
                let message =
                    self.line(&format!("{named} was already {}", answered(&earlier, now)));
                let refused = Outcome::refused("already_answered", message, Some(question));
                Outcome { earlier: Some(earlier), ..refused }
            }
            AnswerReceipt::Withdrawn => {
                let message = format!(
                    "{named} needs no answer any more: the program cancelled the call, or its run \
                     has ended"
                );
                Outcome::refused("withdrawn", message, Some(question))
            }
            AnswerReceipt::DoesNotFit => {
                let message =
                    format!("{named} is not answered: the answer does not fit the question");
                Outcome::refused("unfit", message, Some(question))
            }
            AnswerReceipt::WayNotAllowed => {
                let message = format!(
                    "{named} is not answered: its gateway does not accept answers on the command \
                     line ('ways' in approvals)"
                );
                Outcome::refused("way_not_allowed", message, Some(question))
            }
            AnswerReceipt::Expired => {
                let message = format!(
                    "{named} is not answered: the question has expired ('expire_seconds' in \
                     approvals)"
                );
                Outcome::refused("expired", message, Some(question))
            }
            AnswerReceipt::Unknown => {
                let message = format!("{named} is not in the store any more");
                Outcome::refused("unknown", message, Some(question))
            }
        })
    }
}

/// The sentence for an answer that counts.
fn accepted(verdict: &Verdict, named: &str) -> String {
    match verdict {
        Verdict::Approve { .. } => format!("Approved {named}"),
        Verdict::Deny { .. } => format!("Denied {named}"),
        Verdict::Happened { .. } => format!("Noted that {named} happened"),
        Verdict::NotHappened => format!("Noted that {named} did not happen; it is called now"),
        Verdict::GiveUp => format!("Gave up the run of {named}"),
    }
}

impl Outcome {
    fn refused(word: &'static str, message: String, question: Option<ApprovalQuestion>) -> Self {
        Self { is_done: false, word, message, question, earlier: None }
    }

    fn json(&self, desk: &Desk) -> Value {
        let question = self.question.as_ref();
        json!({
            "id": question.map(|question| question.item.as_str()),
            "run": question.map(|question| question.run.as_str()),
            "tool": question.map(|question| question.name.as_str()),
            "outcome": self.word,
            "message": self.message,
            "answer": self.earlier.as_ref().map(|answer| desk.answer_json(answer)),
        })
    }
}
