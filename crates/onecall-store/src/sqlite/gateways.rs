//! The gateways that share the store, in SQLite.

use onecall_core::storage::{FleetStore, PinStore, StoreError, StoredGateway, UsageByUser};
use onecall_core::{GatewayId, Timestamp};
use rusqlite::{OptionalExtension, params};

use super::SqliteStore;
use crate::rows::gateways::{
    FORGOTTEN_AFTER, GATEWAY_COLUMNS, add_usage, read_gateway, usage_text,
};

impl FleetStore for SqliteStore {
    fn put_gateway(&self, gateway: &StoredGateway, now: Timestamp) -> Result<(), StoreError> {
        self.write_durably(|transaction| {
            transaction.execute(
                "DELETE FROM gateways WHERE until_ms < ?1",
                params![now.before(FORGOTTEN_AFTER).0],
            )?;
            let StoredGateway { id, address, until } = gateway;
            transaction.execute(
                "INSERT INTO gateways (id, address, until_ms) VALUES (?1, ?2, ?3)
                 ON CONFLICT (id)
                 DO UPDATE SET address = excluded.address, until_ms = excluded.until_ms",
                params![id.as_str(), address, until.0],
            )?;
            Ok(())
        })
    }

    fn remove_gateway(&self, id: &GatewayId) -> Result<(), StoreError> {
        self.write_durably(|transaction| {
            transaction
                .execute("DELETE FROM gateways WHERE id = ?1", params![id.as_str()])
                .map(drop)
        })
    }

    fn gateway(&self, id: &GatewayId) -> Result<Option<StoredGateway>, StoreError> {
        self.read_durable(|connection| {
            let query = format!("SELECT {GATEWAY_COLUMNS} FROM gateways WHERE id = ?1");
            let mut statement = connection.prepare_cached(&query)?;
            statement.query_row(params![id.as_str()], |row| read_gateway(row)).optional()
        })
    }

    fn exchange_usage(
        &self,
        id: &GatewayId,
        usage: &UsageByUser,
        now: Timestamp,
    ) -> Result<UsageByUser, StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached("UPDATE gateways SET usage = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), usage_text(usage)])?;
            let others = "SELECT usage FROM gateways WHERE id <> ?1 AND until_ms > ?2";
            let mut statement = transaction.prepare_cached(others)?;
            let mut rows = statement.query(params![id.as_str(), now.0])?;
            let mut total = UsageByUser::new();
            while let Some(row) = rows.next()? {
                add_usage(&mut total, &row.get::<_, String>(0)?);
            }
            Ok(total)
        })
    }

    fn shared_pins(&self) -> Option<&dyn PinStore> {
        None
    }
}
