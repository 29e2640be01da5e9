//! How PostgreSQL writes and executes queries whose conditions depend on a filter.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::Text;
use super::error::QueryError;
use super::transaction::Queries;
use crate::rows::query::{Dialect, Query, QueryValue};

pub(super) const DIALECT: Dialect = Dialect { parameter: '$', like: "ILIKE" };

/// Executes a query, and returns its rows.
pub(super) async fn rows(queries: &Queries<'_>, query: &Query) -> Result<Vec<Row>, QueryError> {
    let values: Vec<Box<dyn ToSql + Sync + Send>> = query
        .values
        .iter()
        .map(|value| -> Box<dyn ToSql + Sync + Send> {
            match value {
                QueryValue::Number(number) => Box::new(*number),
                QueryValue::Text(text) => Box::new(Text(text)),
            }
        })
        .collect();
    let values: Vec<&(dyn ToSql + Sync)> =
        values.iter().map(|value| -> &(dyn ToSql + Sync) { value.as_ref() }).collect();
    queries.query(&query.text, &values).await
}
