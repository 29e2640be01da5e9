//! Queries whose conditions depend on a filter, in the words of either database. A condition that the filter does
//! not have is not a part of the query, so that the database can choose an index by the others.

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
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) values: Vec<QueryValue>,
}

/// The conditions of a query that is being written.
pub(super) struct Conditions<'a> {
    pub(super) dialect: &'a Dialect,
    pub(super) texts: Vec<String>,
    pub(super) values: Vec<QueryValue>,
}

impl<'a> Conditions<'a> {
    /// No conditions yet.
    pub(super) fn new(dialect: &'a Dialect) -> Self {
        Self { dialect, texts: Vec::new(), values: Vec::new() }
    }

    /// Adds a value, and returns its parameter.
    pub(super) fn bind(&mut self, value: QueryValue) -> String {
        self.values.push(value);
        format!("{}{}", self.dialect.parameter, self.values.len())
    }

    /// The part of the query that has the conditions.
    pub(super) fn text(&self) -> String {
        let texts: Vec<_> = self.texts.iter().map(|text| format!("({text})")).collect();
        match texts.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", texts.join(" AND ")),
        }
    }

    /// Adds a condition on a value; `condition` gets the parameter.
    pub(super) fn add(&mut self, value: QueryValue, condition: impl FnOnce(&str) -> String) {
        let parameter = self.bind(value);
        self.texts.push(condition(&parameter));
    }

    /// The part of the query that limits the number of rows.
    pub(super) fn limit(&mut self, limit: Option<usize>) -> String {
        let limit = limit.and_then(|limit| i64::try_from(limit).ok());
        let limit = limit.map(|limit| self.bind(QueryValue::Number(limit)));
        limit.map_or(String::new(), |limit| format!(" LIMIT {limit}"))
    }
}
