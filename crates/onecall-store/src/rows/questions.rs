//! The rows of questions and their answers.

use onecall_core::storage::{AnswerReceipt, QuestionFilter, QuestionState, StoredQuestion};
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalWay, CallableName, ItemId, RunId, Timestamp,
};

use super::Columns;
use super::query::{Conditions, Dialect, Query, QueryValue};
use crate::encoding::names::parse_name;

/// The columns that [`read_question`] reads, in its order.
pub(crate) const COLUMNS: &str = "item, run_id, call, kind, name, line, arguments, rule, asked_ms, \
    expires_ms, state, verdict, answered_by, way, answered_ms, ways, announce_ms";

/// The query of the questions that match a filter. `number` is the column that orders questions of the same moment.
pub(crate) fn query(filter: &QuestionFilter, number: &str, dialect: &Dialect) -> Query {
    let mut conditions = Conditions::new(dialect);
    if let Some(run) = &filter.run {
        conditions.add(QueryValue::Text(run.to_string()), |it| format!("run_id = {it}"));
    }
    if filter.open {
        conditions.texts.push("state = 'open'".to_owned());
    }
    if let Some(since) = filter.answered_since {
        conditions.texts.push("state = 'answered'".to_owned());
        conditions.add(QueryValue::Number(since.0), |it| format!("answered_ms >= {it}"));
    }
    if let Some(user) = &filter.user {
        conditions.add(QueryValue::Text(user.to_string()), |it| {
            format!(
                "EXISTS (SELECT 1 FROM durable_runs WHERE id = questions.run_id AND \"user\" = {it})"
            )
        });
    }
    let order = match filter.answered_since {
        Some(_) => format!("answered_ms DESC, {number} DESC"),
        None => format!("asked_ms, {number}"),
    };
    let limit = conditions.limit(filter.limit);
    let condition = conditions.text();
    let text = format!("SELECT {COLUMNS} FROM questions{condition} ORDER BY {order}{limit}");
    Query { text, values: conditions.values }
}

pub(crate) fn read_question<R: Columns>(row: &R) -> Result<StoredQuestion, R::Error> {
    let state = match row.text(10)?.as_str() {
        "open" => QuestionState::Open,
        "withdrawn" => QuestionState::Withdrawn,
        "answered" => QuestionState::Answered(read_answer(row)?),
        _ => return Err(R::malformed(10)),
    };
    let line = row.optional_number(5)?;
    let question = ApprovalQuestion {
        item: ItemId::known(row.text(0)?),
        run: RunId::from_existing(row.text(1)?),
        call: row.number(2)?.cast_unsigned(),
        kind: parse_name(&row.text(3)?).ok_or_else(|| R::malformed(3))?,
        name: CallableName::new(row.text(4)?),
        line: line.map(|line| line.try_into().map_err(|_| R::malformed(5))).transpose()?,
        arguments: row.text(6)?,
        rule: row.text(7)?,
        asked: Timestamp(row.number(8)?),
        expires: Timestamp(row.number(9)?),
        ways: row.json(15)?,
    };
    let announce = row.optional_number(16)?.map(Timestamp);
    Ok(StoredQuestion { question, state, announce })
}

fn read_answer<R: Columns>(row: &R) -> Result<AnsweredVerdict, R::Error> {
    Ok(AnsweredVerdict {
        verdict: row.json(11)?,
        by: row.text(12)?,
        way: parse_name(&row.text(13)?).ok_or_else(|| R::malformed(13))?,
        at: Timestamp(row.number(14)?),
    })
}

/// Whether `question` is a stored one that a continued run asks again. One that was withdrawn is asked anew: its
/// call was cancelled by a process that ended before the journal said so, and the program makes the call again.
pub(crate) fn is_asked_again(stored: &StoredQuestion, question: &ApprovalQuestion) -> bool {
    stored.question.kind == question.kind && stored.state != QuestionState::Withdrawn
}

/// Whether a stored question may be answered with `answer`. The result is the question, which is open, or
/// the receipt that says why the answer does not count.
pub(crate) fn check_answer(
    stored: Option<StoredQuestion>,
    has_run_ended: bool,
    answer: &AnsweredVerdict,
) -> Result<ApprovalQuestion, Box<AnswerReceipt>> {
    let refused = |receipt| Err(Box::new(receipt));
    let question = match stored {
        None => return refused(AnswerReceipt::Unknown),
        Some(StoredQuestion { state: QuestionState::Answered(first), .. }) => {
            return refused(AnswerReceipt::AlreadyAnswered(first));
        }
        Some(StoredQuestion { state: QuestionState::Withdrawn, .. }) => {
            return refused(AnswerReceipt::Withdrawn);
        }
        Some(StoredQuestion { state: QuestionState::Open, question, .. }) => question,
    };
    match () {
        () if has_run_ended => refused(AnswerReceipt::Withdrawn),
        () if !question.allows(answer.way) => refused(AnswerReceipt::WayNotAllowed),
        () if has_expired(&question, answer) => refused(AnswerReceipt::Expired),
        () if !question.kind.accepts(&answer.verdict) => refused(AnswerReceipt::DoesNotFit),
        () => Ok(question),
    }
}

/// Whether an answer comes after its question has expired. Until a gateway closes the question, nothing
/// else says so. The rule that closes it comes late by its nature.
fn has_expired(question: &ApprovalQuestion, answer: &AnsweredVerdict) -> bool {
    answer.way != ApprovalWay::Rule && question.expires <= answer.at
}
