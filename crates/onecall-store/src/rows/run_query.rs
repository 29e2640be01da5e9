//! The queries of the runs that a filter selects.

use onecall_core::storage::{MAX_SEARCHED_ARGUMENTS, RunFilter};

use super::query::{Conditions, Dialect, Query, QueryValue};
use super::runs::{SUMMARY_COLUMNS, like_pattern};

/// The query of when the run began that has `count` newer ones among those that `filter` selects by user
/// and time. An index answers it.
pub(crate) fn start_at(filter: &RunFilter, count: usize, dialect: &Dialect) -> Query {
    let mut conditions = Conditions::new(dialect);
    if let Some(since) = filter.since {
        conditions.add(QueryValue::Number(since.0), |it| format!("started_ms >= {it}"));
    }
    if let Some(until) = filter.until {
        conditions.add(QueryValue::Number(until.0), |it| format!("started_ms < {it}"));
    }
    if let Some(after) = &filter.after {
        let started = QueryValue::Number(after.started.0);
        conditions.add(started, |it| format!("started_ms <= {it}"));
    }
    if let Some(user) = &filter.user {
        let user = QueryValue::Text(user.as_str().to_owned());
        conditions.add(user, |it| format!("\"user\" = {it}"));
    }
    let count = QueryValue::Number(i64::try_from(count).unwrap_or(i64::MAX));
    let count = conditions.bind(count);
    let condition = conditions.text();
    let text = format!(
        "SELECT started_ms FROM runs{condition} ORDER BY started_ms DESC LIMIT 1 OFFSET {count}"
    );
    Query { text, values: conditions.values }
}

/// The query of the runs that `filter` selects, newest first.
pub(crate) fn of_filter(filter: &RunFilter, dialect: &Dialect) -> Query {
    let mut conditions = Conditions::new(dialect);
    let like = dialect.like;
    if let Some(since) = filter.since {
        conditions.add(QueryValue::Number(since.0), |it| format!("started_ms >= {it}"));
    }
    if let Some(until) = filter.until {
        conditions.add(QueryValue::Number(until.0), |it| format!("started_ms < {it}"));
    }
    if let Some(after) = &filter.after {
        let started = conditions.bind(QueryValue::Number(after.started.0));
        let id = conditions.bind(QueryValue::Text(after.id.as_str().to_owned()));
        conditions.texts.push(format!("(started_ms, id) < ({started}, {id})"));
    }
    if filter.failed {
        conditions.texts.push("outcome <> 'ok'".to_owned());
    }
    if let Some(outcome) = &filter.outcome {
        conditions.add(QueryValue::Text(outcome.clone()), |it| format!("outcome = {it}"));
    }
    if let Some(user) = &filter.user {
        let user = QueryValue::Text(user.as_str().to_owned());
        conditions.add(user, |it| format!("\"user\" = {it}"));
    }
    if let Some(client) = &filter.client {
        conditions.add(pattern(client), |it| format!("client {like} {it} ESCAPE '\\'"));
    }
    let has_call = |condition: String| {
        format!("EXISTS (SELECT 1 FROM calls WHERE run_id = runs.id AND {condition})")
    };
    if let Some(tool) = &filter.tool {
        let condition = |it: &str| has_call(format!("name {like} {it} ESCAPE '\\'"));
        conditions.add(pattern(tool), condition);
    }
    if let Some(server) = &filter.server {
        let condition = |it: &str| has_call(format!("server {like} {it} ESCAPE '\\'"));
        conditions.add(pattern(server), condition);
    }
    if let Some(text) = &filter.text {
        conditions.add(pattern(text), |it| {
            let contains = |column: &str| format!("{column} {like} {it} ESCAPE '\\'");
            let of_run = ["id", "error_kind", "error_message", "program", "output"];
            let of_run = of_run.map(contains).join(" OR ");
            // Long arguments are not read: the size is tested first.
            let of_call = has_call(format!(
                "({} OR CASE WHEN arguments_bytes <= {MAX_SEARCHED_ARGUMENTS} THEN {} END)",
                contains("error"),
                contains("arguments")
            ));
            format!("{of_run} OR {of_call}")
        });
    }
    let limit = conditions.limit(filter.limit);
    let condition = conditions.text();
    let text = format!(
        "SELECT {SUMMARY_COLUMNS} FROM runs{condition} ORDER BY started_ms DESC, id DESC{limit}"
    );
    Query { text, values: conditions.values }
}

fn pattern(text: &str) -> QueryValue {
    QueryValue::Text(like_pattern(text))
}
