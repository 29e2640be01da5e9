//! The journals of records in SQLite.

use onecall_core::RunId;
use onecall_core::storage::ReplayData;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::encoding::record_journals::{COLUMNS, EncodedReplay, read_replay};

pub(super) fn insert(
    transaction: &Transaction<'_>,
    run: &RunId,
    replay: &EncodedReplay,
) -> rusqlite::Result<()> {
    match replay {
        EncodedReplay::Obstacle(obstacle) => transaction.execute(
            "INSERT INTO record_journals (run_id, obstacle) VALUES (?1, ?2)",
            params![run.as_str(), obstacle],
        ),
        EncodedReplay::Journal { seed, length, events, checksum } => transaction.execute(
            "INSERT INTO record_journals (run_id, seed, length, events, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![run.as_str(), seed, length, events, checksum],
        ),
    }
    .map(drop)
}

/// What the record of a run has for a replay.
pub(super) fn read(connection: &Connection, run: &RunId) -> rusqlite::Result<ReplayData> {
    let replay = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM record_journals WHERE run_id = ?1"))?
        .query_row(params![run.as_str()], |row| Ok(read_replay(row, run)))
        .optional()?;
    Ok(replay.unwrap_or(ReplayData::None))
}
