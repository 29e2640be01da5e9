//! Learned result shapes in PostgreSQL.

use onecall_core::storage::{ShapeKey, ShapeStore, StoreError, StoredShape};
use tokio_postgres::Row;

use super::columns::Text;
use super::error::QueryError;
use super::transaction::{Exclusive, Queries};
use super::{PostgresStore, to_i64, to_u64};
use crate::rows::Columns;

impl ShapeStore for PostgresStore {
    fn shape(&self, key: &ShapeKey) -> Result<Option<StoredShape>, StoreError> {
        self.read(async |queries| find(queries, key).await)
    }

    fn update_shape(
        &self,
        key: &ShapeKey,
        change: &mut dyn FnMut(Option<StoredShape>) -> Option<StoredShape>,
    ) -> Result<(), StoreError> {
        self.write(None, async |queries| {
            // There may be no row to lock yet.
            let name = format!("{}\0{}\0{}", key.server, key.tool, key.schema);
            queries.lock(Exclusive::Shape(&name)).await?;
            if let Some(StoredShape { samples, shape }) = change(find(queries, key).await?) {
                let statement = "INSERT INTO shapes (server, tool, schema, samples, shape)
                     VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (server, tool, schema)
                     DO UPDATE SET samples = excluded.samples, shape = excluded.shape";
                let (server, tool) = (Text(&key.server), Text(&key.tool));
                let (schema, samples) = (Text(&key.schema), to_i64(samples));
                queries
                    .execute(statement, &[&server, &tool, &schema, &samples, &Text(&shape)])
                    .await?;
            }
            Ok(())
        })
    }

    fn forget_shape(&self, key: &ShapeKey) -> Result<(), StoreError> {
        self.write(None, async |queries| {
            let statement = "DELETE FROM shapes WHERE server = $1 AND tool = $2 AND schema = $3";
            let (server, tool) = (Text(&key.server), Text(&key.tool));
            queries.execute(statement, &[&server, &tool, &Text(&key.schema)]).await.map(drop)
        })
    }

    fn shapes(&self) -> Result<Vec<(ShapeKey, StoredShape)>, StoreError> {
        self.read(async |queries| {
            let query = "SELECT samples, shape, server, tool, schema FROM shapes
                         ORDER BY server, tool, schema";
            let read = |row: &Row| {
                let (server, tool, schema) = (row.text(2)?, row.text(3)?, row.text(4)?);
                Ok((ShapeKey { server, tool, schema }, read_shape(row)?))
            };
            queries.query(query, &[]).await?.iter().map(read).collect()
        })
    }
}

async fn find(queries: &Queries<'_>, key: &ShapeKey) -> Result<Option<StoredShape>, QueryError> {
    let query = "SELECT samples, shape FROM shapes WHERE server = $1 AND tool = $2 AND schema = $3";
    let (server, tool) = (Text(&key.server), Text(&key.tool));
    let row = queries.query_optional(query, &[&server, &tool, &Text(&key.schema)]).await?;
    row.as_ref().map(read_shape).transpose()
}

fn read_shape(row: &Row) -> Result<StoredShape, QueryError> {
    Ok(StoredShape { samples: to_u64(row.number(0)?), shape: row.text(1)? })
}
