//! How SQLite writes and executes queries whose conditions depend on a filter.

use rusqlite::{ParamsFromIter, ToSql, params_from_iter};

use crate::rows::query::{Dialect, Query, QueryValue};

pub(super) const DIALECT: Dialect = Dialect { parameter: '?', like: "LIKE" };

/// The values of the parameters of a query.
pub(super) fn values(query: &Query) -> ParamsFromIter<impl Iterator<Item = &dyn ToSql>> {
    params_from_iter(query.values.iter().map(|value| -> &dyn ToSql {
        match value {
            QueryValue::Number(number) => number,
            QueryValue::Text(text) => text,
        }
    }))
}
