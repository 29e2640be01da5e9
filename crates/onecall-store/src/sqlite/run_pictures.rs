//! The pictures of runs in SQLite.

use onecall_core::{Picture, RunId};
use rusqlite::{Connection, Transaction, params};

pub(super) fn insert(
    transaction: &Transaction<'_>,
    run: &RunId,
    pictures: &[Option<Picture>],
) -> rusqlite::Result<()> {
    let insert = "INSERT INTO run_pictures (run_id, position, data) VALUES (?1, ?2, ?3)";
    for (position, picture) in (0_i64..).zip(pictures) {
        let data = picture.as_ref().map(Picture::data);
        transaction.execute(insert, params![run.as_str(), position, data])?;
    }
    Ok(())
}

/// The pictures of a run, in their order.
pub(super) fn read(connection: &Connection, run: &RunId) -> rusqlite::Result<Vec<Option<Picture>>> {
    let query = "SELECT data FROM run_pictures WHERE run_id = ?1 ORDER BY position";
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map(params![run.as_str()], |row| row.get::<_, Option<String>>(0))?;
    rows.map(|data| Ok(data?.and_then(Picture::parse))).collect()
}
