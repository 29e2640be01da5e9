//! Finds the questions that an id on the command line means: the id of a question or of a run, or
//! the beginning of one.

use std::collections::BTreeSet;

use onecall_core::ApprovalQuestion;
use onecall_core::nearest::nearest;
use onecall_core::storage::{QuestionState, StoredQuestion};
use thiserror::Error;

/// Why an id means no question.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum UnknownId {
    #[error("no question and no run with questions has the id '{id}'{hint}")]
    Nothing {
        id: String,
        /// The id that was probably meant, or where ids are listed.
        hint: String,
    },
    #[error("several runs begin with '{id}': {}; write more of it", .runs.join(", "))]
    SeveralRuns { id: String, runs: Vec<String> },
    #[error("several questions begin with '{id}': {}; write more of it", .items.join(", "))]
    SeveralQuestions { id: String, items: Vec<String> },
}

/// The questions that `id` means among `questions`. The id of a run means its open questions, or all
/// of them if none is open.
pub(super) fn find<'q>(
    id: &str,
    questions: &'q [StoredQuestion],
) -> Result<Vec<&'q StoredQuestion>, UnknownId> {
    let item = |stored: &&StoredQuestion| stored.question.item.as_str() == id;
    if let Some(exact) = questions.iter().find(item) {
        return Ok(vec![exact]);
    }
    let found: Vec<&StoredQuestion> =
        questions.iter().filter(|stored| is_meant(id, &stored.question)).collect();
    let runs: BTreeSet<&str> = found.iter().map(|stored| stored.question.run.as_str()).collect();
    match (found.as_slice(), runs.len()) {
        ([], _) => Err(unknown(id, questions)),
        ([one], _) => Ok(vec![*one]),
        // More than the id of a run was written, so one question was meant.
        (several, 1) if id.contains('.') => Err(UnknownId::SeveralQuestions {
            id: id.to_owned(),
            items: several.iter().map(|it| it.question.item.as_str().to_owned()).collect(),
        }),
        (_, 1) => Ok(open_or_all(found)),
        (_, _) => Err(UnknownId::SeveralRuns {
            id: id.to_owned(),
            runs: runs.into_iter().map(str::to_owned).collect(),
        }),
    }
}

/// Whether `id` is the beginning of the question's id, or the beginning of its run's id with the
/// number of the call.
fn is_meant(id: &str, question: &ApprovalQuestion) -> bool {
    let is_call = |(run, call): (&str, &str)| {
        question.run.as_str().starts_with(run) && call == question.call.to_string()
    };
    // An empty text begins every id.
    let begins = question.item.as_str().starts_with(id) && !id.is_empty();
    begins || id.split_once('.').filter(|(run, _)| !run.is_empty()).is_some_and(is_call)
}

fn open_or_all(questions: Vec<&StoredQuestion>) -> Vec<&StoredQuestion> {
    let is_open = |stored: &&StoredQuestion| matches!(stored.state, QuestionState::Open);
    let open: Vec<_> = questions.iter().copied().filter(is_open).collect();
    if open.is_empty() { questions } else { open }
}

fn unknown(id: &str, questions: &[StoredQuestion]) -> UnknownId {
    let items = questions.iter().map(|stored| stored.question.item.as_str());
    let runs = questions.iter().map(|stored| stored.question.run.as_str());
    let hint = match nearest(id, items.chain(runs)) {
        Some(meant) => format!("; did you mean '{meant}'?"),
        None => "; see `onecall approvals list`".to_owned(),
    };
    UnknownId::Nothing { id: id.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use onecall_core::{ApprovalWay, CallableName, ItemId, QuestionKind, RunId, Timestamp};

    use super::*;

    fn question(run: &str, call: u64, state: QuestionState) -> StoredQuestion {
        let run = RunId::from_existing(run);
        let question = ApprovalQuestion {
            item: ItemId::of(&run, call),
            run,
            call,
            kind: QuestionKind::Approve,
            name: CallableName::new("mcp__a__b"),
            line: None,
            arguments: "{}".to_owned(),
            rule: String::new(),
            asked: Timestamp(0),
            expires: Timestamp(0),
            ways: ApprovalWay::CONFIGURABLE.to_vec(),
        };
        StoredQuestion { question, state, announce: None }
    }

    #[test]
    fn a_beginning_means_what_only_it_begins() {
        let questions = [
            question("abc1", 1, QuestionState::Open),
            question("abd2", 1, QuestionState::Withdrawn),
            question("abc1", 12, QuestionState::Open),
            question("abc1", 13, QuestionState::Withdrawn),
            question("xyz3", 4, QuestionState::Withdrawn),
        ];
        let found = |id: &str| {
            let found = find(id, &questions).map_err(|error| error.to_string())?;
            Ok::<_, String>(found.iter().map(|it| it.question.item.as_str()).collect::<Vec<_>>())
        };
        assert_eq!(found("abc1.1"), Ok(vec!["abc1.1"]));
        assert_eq!(found("abc1.13"), Ok(vec!["abc1.13"]));
        assert_eq!(found("abc1"), Ok(vec!["abc1.1", "abc1.12"]));
        assert_eq!(found("abc"), Ok(vec!["abc1.1", "abc1.12"]));
        assert_eq!(found("x"), Ok(vec!["xyz3.4"]));
        assert_eq!(found("x.4"), Ok(vec!["xyz3.4"]));
        let refused = [
            ("ab", "several runs begin with 'ab': abc1, abd2; write more of it"),
            (
                "abc1.",
                "several questions begin with 'abc1.': abc1.1, abc1.12, abc1.13; write more of it",
            ),
            (
                "abc1.2",
                "no question and no run with questions has the id 'abc1.2'; did you mean 'abc1.12'?",
            ),
            (
                "",
                "no question and no run with questions has the id ''; see `onecall approvals list`",
            ),
        ];
        for (id, message) in refused {
            assert_eq!(found(id), Err(message.to_owned()), "{id}");
        }
    }
}
