//! The rows of questions and their answers in PostgreSQL.

use onecall_core::storage::{QuestionFilter, QuestionState, StoredQuestion};
use onecall_core::{AnsweredVerdict, ApprovalQuestion, ItemId, Timestamp};
use tokio_postgres::types::ToSql;

use super::columns::Text;
use super::error::QueryError;
use super::filtered::{self, DIALECT};
use super::transaction::Queries;
use crate::encoding::names::name_of;
use crate::rows::questions::{self as rows, COLUMNS, read_question};

pub(super) async fn find(
    queries: &Queries<'_>,
    item: &ItemId,
) -> Result<Option<StoredQuestion>, QueryError> {
    let query = format!("SELECT {COLUMNS} FROM questions WHERE item = $1");
    let row = queries.query_optional(&query, &[&item.as_str()]).await?;
    row.as_ref().map(read_question).transpose()
}

pub(super) async fn list(
    queries: &Queries<'_>,
    filter: &QuestionFilter,
) -> Result<Vec<StoredQuestion>, QueryError> {
    let query = rows::query(filter, "number", &DIALECT);
    filtered::rows(queries, &query).await?.iter().map(read_question).collect()
}

/// Stores an open question in the place of an earlier one about the same item.
pub(super) async fn replace(
    queries: &Queries<'_>,
    question: &ApprovalQuestion,
    announce: Option<Timestamp>,
) -> Result<StoredQuestion, QueryError> {
    queries.execute("DELETE FROM questions WHERE item = $1", &[&question.item.as_str()]).await?;
    let values: [&(dyn ToSql + Sync); 12] = [
        &question.item.as_str(),
        &question.run.as_str(),
        &question.call.cast_signed(),
        &name_of(&question.kind),
        &Text(question.name.as_str()),
        &question.line.map(i64::from),
        &Text(&question.arguments),
        &Text(&question.rule),
        &question.asked.0,
        &question.expires.0,
        &serde_json::to_string(&question.ways)?,
        &announce.map(|at| at.0),
    ];
    let statement = "INSERT INTO questions (item, run_id, call, kind, name, line, arguments, rule,
          asked_ms, expires_ms, ways, announce_ms, state)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'open')";
    queries.execute(statement, &values).await?;
    Ok(StoredQuestion { question: question.clone(), state: QuestionState::Open, announce })
}

/// Gives a stored question that is open the ways of `asked`, the same question asked again.
pub(super) async fn renew_ways(
    queries: &Queries<'_>,
    mut stored: StoredQuestion,
    asked: &ApprovalQuestion,
) -> Result<StoredQuestion, QueryError> {
    if stored.state == QuestionState::Open && stored.question.ways != asked.ways {
        let ways = serde_json::to_string(&asked.ways)?;
        let update = "UPDATE questions SET ways = $2 WHERE item = $1";
        queries.execute(update, &[&asked.item.as_str(), &ways]).await?;
        stored.question.ways.clone_from(&asked.ways);
    }
    Ok(stored)
}

/// Changes when an open question is announced, unless that was changed since it was `from`.
pub(super) async fn postpone_announcement(
    queries: &Queries<'_>,
    item: &ItemId,
    from: Timestamp,
    until: Timestamp,
) -> Result<bool, QueryError> {
    let statement = "UPDATE questions SET announce_ms = $3
        WHERE item = $1 AND announce_ms = $2 AND state = 'open'";
    Ok(queries.execute(statement, &[&item.as_str(), &from.0, &until.0]).await? > 0)
}

pub(super) async fn set_announced(
    queries: &Queries<'_>,
    items: &[ItemId],
) -> Result<(), QueryError> {
    let items: Vec<&str> = items.iter().map(ItemId::as_str).collect();
    let statement = "UPDATE questions SET announce_ms = NULL WHERE item = ANY($1)";
    queries.execute(statement, &[&items]).await.map(drop)
}

pub(super) async fn set_answer(
    queries: &Queries<'_>,
    item: &ItemId,
    answer: &AnsweredVerdict,
) -> Result<(), QueryError> {
    let verdict = serde_json::to_string(&answer.verdict)?;
    let values: [&(dyn ToSql + Sync); 5] =
        [&item.as_str(), &Text(&verdict), &Text(&answer.by), &name_of(&answer.way), &answer.at.0];
    let statement = "UPDATE questions SET state = 'answered', verdict = $2, answered_by = $3,
          way = $4, answered_ms = $5
        WHERE item = $1";
    queries.execute(statement, &values).await.map(drop)
}
