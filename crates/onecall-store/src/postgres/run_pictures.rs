//! The pictures of runs in PostgreSQL.

use onecall_core::{Picture, RunId};

use super::error::QueryError;
use super::transaction::Queries;
use crate::rows::Columns as _;

pub(super) async fn insert(
    queries: &Queries<'_>,
    run: &RunId,
    pictures: &[Option<Picture>],
) -> Result<(), QueryError> {
    let insert = "INSERT INTO run_pictures (run_id, position, data) VALUES ($1, $2, $3)";
    for (position, picture) in (0_i64..).zip(pictures) {
        let data = picture.as_ref().map(Picture::data);
        queries.execute(insert, &[&run.as_str(), &position, &data]).await?;
    }
    Ok(())
}

/// The pictures of a run, in their order.
pub(super) async fn read(
    queries: &Queries<'_>,
    run: &RunId,
) -> Result<Vec<Option<Picture>>, QueryError> {
    let query = "SELECT data FROM run_pictures WHERE run_id = $1 ORDER BY position";
    let rows = queries.query(query, &[&run.as_str()]).await?;
    rows.iter().map(|row| Ok(row.optional_text(0)?.and_then(Picture::parse))).collect()
}
