//! The journals of records in PostgreSQL.

use onecall_core::RunId;
use onecall_core::storage::ReplayData;

use super::error::QueryError;
use super::transaction::Queries;
use crate::encoding::record_journals::{COLUMNS, EncodedReplay, read_replay};

pub(super) async fn insert(
    queries: &Queries<'_>,
    run: &RunId,
    replay: &EncodedReplay,
) -> Result<(), QueryError> {
    match replay {
        EncodedReplay::Obstacle(obstacle) => {
            let statement = "INSERT INTO record_journals (run_id, obstacle) VALUES ($1, $2)";
            queries.execute(statement, &[&run.as_str(), obstacle]).await
        }
        EncodedReplay::Journal { seed, length, events, checksum } => {
            let statement = "INSERT INTO record_journals (run_id, seed, length, events, checksum)
                             VALUES ($1, $2, $3, $4, $5)";
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [&run.as_str(), &seed.as_slice(), length, events, &checksum.as_slice()];
            queries.execute(statement, &values).await
        }
    }
    .map(drop)
}

/// What the record of a run has for a replay.
pub(super) async fn read(queries: &Queries<'_>, run: &RunId) -> Result<ReplayData, QueryError> {
    let query = format!("SELECT {COLUMNS} FROM record_journals WHERE run_id = $1");
    let row = queries.query_optional(&query, &[&run.as_str()]).await?;
    Ok(row.map_or(ReplayData::None, |row| read_replay(&row, run)))
}
