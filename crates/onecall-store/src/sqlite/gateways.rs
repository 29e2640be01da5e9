//! The gateways that share the store, in SQLite.

use onecall_core::storage::{FleetStore, StoreError, StoredGateway};
use onecall_core::{GatewayId, Timestamp};
use rusqlite::{OptionalExtension, params};

use super::SqliteStore;
use crate::rows::gateways::{FORGOTTEN_AFTER, GATEWAY_COLUMNS, read_gateway};

impl FleetStore for SqliteStore {
    fn put_gateway(&self, gateway: &StoredGateway, now: Timestamp) -> Result<(), StoreError> {
        self.write_durably(|transaction| {
            transaction.execute(
                "DELETE FROM gateways WHERE until_ms < ?1",
                params![now.before(FORGOTTEN_AFTER).0],
            )?;
            let StoredGateway { id, address, until } = gateway;
            transaction.execute(
                "INSERT OR REPLACE INTO gateways (id, address, until_ms) VALUES (?1, ?2, ?3)",
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
}
