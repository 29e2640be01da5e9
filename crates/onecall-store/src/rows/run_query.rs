//! The query of the runs that a filter selects, in the words of either database.

use onecall_core::storage::{MAX_SEARCHED_ARGUMENTS, RunFilter};

use super::runs::{SUMMARY_COLUMNS, like_pattern};

/// How a database writes what differs between the two.
pub(crate) struct Dialect {
    /// The sign before the number of a parameter.
    pub(crate) parameter: char,
    /// The operator that compares a text with a pattern and ignores case.
    pub(crate) like: &'static str,
}

/// The value of a parameter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum QueryValue {
    Number(i64),
    Text(String),
}

/// A query with the values of its parameters, in their order.
pub(crate) struct RunQuery {
    pub(crate) text: String,
    pub(crate) values: Vec<QueryValue>,
}

impl RunQuery {
    /// The query of when the run began that has `count` newer ones among those that `filter` selects by user
    /// and time. An index answers it.
    pub(crate) fn start_at(filter: &RunFilter, count: usize, dialect: &Dialect) -> Self {
        let mut conditions = Conditions { dialect, texts: Vec::new(), values: Vec::new() };
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
        Self { text, values: conditions.values }
    }

    /// The query of the runs that `filter` selects, newest first. A condition that the filter does not
    /// have is not a part of the query, so that the database can choose an index by the others.
    pub(crate) fn new(filter: &RunFilter, dialect: &Dialect) -> Self {
        let mut conditions = Conditions { dialect, texts: Vec::new(), values: Vec::new() };
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
                let of_run =
                    ["id", "error_message", "program", "output"].map(contains).join(" OR ");
                // Long arguments are not read: the size is tested first.
                let of_call = has_call(format!(
                    "({} OR CASE WHEN arguments_bytes <= {MAX_SEARCHED_ARGUMENTS} THEN {} END)",
                    contains("error"),
                    contains("arguments")
                ));
                format!("{of_run} OR {of_call}")
            });
        }
        let limit = filter.limit.and_then(|limit| i64::try_from(limit).ok());
        let limit = limit.map(|limit| conditions.bind(QueryValue::Number(limit)));
        let limit = limit.map_or(String::new(), |limit| format!(" LIMIT {limit}"));
        let condition = conditions.text();
        let text = format!(
            "SELECT {SUMMARY_COLUMNS} FROM runs{condition} ORDER BY started_ms DESC, id DESC{limit}"
        );
        Self { text, values: conditions.values }
    }
}

/// The conditions of a query that is being written.
struct Conditions<'a> {
    dialect: &'a Dialect,
    texts: Vec<String>,
    values: Vec<QueryValue>,
}

impl Conditions<'_> {
    /// Adds a value, and returns its parameter.
    fn bind(&mut self, value: QueryValue) -> String {
        self.values.push(value);
        format!("{}{}", self.dialect.parameter, self.values.len())
    }

    /// The part of the query that has the conditions.
    fn text(&self) -> String {
        let texts: Vec<_> = self.texts.iter().map(|text| format!("({text})")).collect();
        match texts.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", texts.join(" AND ")),
        }
    }

    /// Adds a condition on a value; `condition` gets the parameter.
    fn add(&mut self, value: QueryValue, condition: impl FnOnce(&str) -> String) {
        let parameter = self.bind(value);
        self.texts.push(condition(&parameter));
    }
}

fn pattern(text: &str) -> QueryValue {
    QueryValue::Text(like_pattern(text))
}
