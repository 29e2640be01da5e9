//! Learned result shapes in SQLite.

use onecall_core::storage::{ShapeKey, ShapeStore, StoreError, StoredShape};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{SqliteStore, to_i64, to_u64};

impl ShapeStore for SqliteStore {
    fn shape(&self, key: &ShapeKey) -> Result<Option<StoredShape>, StoreError> {
        self.read(|connection| find(connection, key))
    }

    fn update_shape(
        &self,
        key: &ShapeKey,
        change: &mut dyn FnMut(Option<StoredShape>) -> Option<StoredShape>,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            if let Some(StoredShape { samples, shape }) = change(find(transaction, key)?) {
                transaction.execute(
                    "INSERT OR REPLACE INTO shapes (server, tool, schema, samples, shape)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![key.server, key.tool, key.schema, to_i64(samples), shape],
                )?;
            }
            Ok(())
        })
    }

    fn forget_shape(&self, key: &ShapeKey) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute(
                "DELETE FROM shapes WHERE server = ?1 AND tool = ?2 AND schema = ?3",
                params![key.server, key.tool, key.schema],
            )?;
            Ok(())
        })
    }

    fn shapes(&self) -> Result<Vec<(ShapeKey, StoredShape)>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT samples, shape, server, tool, schema FROM shapes
                 ORDER BY server, tool, schema",
            )?;
            let rows = statement.query_map([], |row| {
                let key = ShapeKey { server: row.get(2)?, tool: row.get(3)?, schema: row.get(4)? };
                Ok((key, read_shape(row)?))
            })?;
            rows.collect()
        })
    }
}

fn find(connection: &Connection, key: &ShapeKey) -> rusqlite::Result<Option<StoredShape>> {
    connection
        .query_row(
            "SELECT samples, shape FROM shapes WHERE server = ?1 AND tool = ?2 AND schema = ?3",
            params![key.server, key.tool, key.schema],
            read_shape,
        )
        .optional()
}

fn read_shape(row: &Row<'_>) -> rusqlite::Result<StoredShape> {
    Ok(StoredShape { samples: to_u64(row.get(0)?), shape: row.get(1)? })
}
