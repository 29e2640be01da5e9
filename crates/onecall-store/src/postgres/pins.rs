//! The pins of servers in PostgreSQL.

use onecall_core::Timestamp;
use onecall_core::storage::{PinStore, ReplacedVersion, StoreError, StoredPins, WriteOutcome};
use tokio_postgres::types::ToSql;

use super::changes::Topic;
use super::columns::Text;
use super::error::QueryError;
use super::transaction::{Exclusive, Queries};
use super::{PostgresStore, to_i64, to_u64};
use crate::rows::Columns as _;
use crate::rows::user_secrets::may_replace;

impl PinStore for PostgresStore {
    fn pins(&self, key: &str) -> Result<Option<StoredPins>, StoreError> {
        self.read(async |queries| find(queries, key).await)
    }

    fn put_pins(
        &self,
        key: &str,
        content: &str,
        replaced: ReplacedVersion,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        self.write_durably(Some(Topic::Pins), async |queries| {
            queries.lock(Exclusive::Pins(key)).await?;
            let stored = find(queries, key).await?.map(|stored| stored.version);
            if !may_replace(stored, replaced) {
                return Ok(WriteOutcome::Conflict);
            }
            let version = to_i64(stored.unwrap_or(0).saturating_add(1));
            let statement = "INSERT INTO pins (key, content, version, changed_ms)
                 VALUES ($1, $2, $3, $4)
                 ON CONFLICT (key) DO UPDATE SET content = excluded.content,
                   version = excluded.version, changed_ms = excluded.changed_ms";
            let values: [&(dyn ToSql + Sync); 4] = [&Text(key), &Text(content), &version, &now.0];
            queries.execute(statement, &values).await?;
            Ok(WriteOutcome::Written { replaced: stored.is_some() })
        })
    }

    fn pins_change_number(&self) -> Result<i64, StoreError> {
        Ok(self.changes.count(Topic::Pins))
    }
}

async fn find(queries: &Queries<'_>, key: &str) -> Result<Option<StoredPins>, QueryError> {
    let query = "SELECT content, version FROM pins WHERE key = $1";
    let row = queries.query_optional(query, &[&Text(key)]).await?;
    row.map(|row| Ok(StoredPins { content: row.text(0)?, version: to_u64(row.number(1)?) }))
        .transpose()
}
