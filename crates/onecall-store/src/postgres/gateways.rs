//! The gateways that share the store, in PostgreSQL.

use onecall_core::storage::{FleetStore, PinStore, StoreError, StoredGateway, UsageByUser};
use onecall_core::{GatewayId, Timestamp};

use super::PostgresStore;
use super::columns::Text;
use crate::rows::Columns as _;
use crate::rows::gateways::{
    FORGOTTEN_AFTER, GATEWAY_COLUMNS, add_usage, read_gateway, usage_text,
};

impl FleetStore for PostgresStore {
    fn put_gateway(&self, gateway: &StoredGateway, now: Timestamp) -> Result<(), StoreError> {
        self.write(None, async |queries| {
            let old = now.before(FORGOTTEN_AFTER).0;
            queries.execute("DELETE FROM gateways WHERE until_ms < $1", &[&old]).await?;
            let statement = "INSERT INTO gateways (id, address, until_ms) VALUES ($1, $2, $3)
                 ON CONFLICT (id)
                 DO UPDATE SET address = excluded.address, until_ms = excluded.until_ms";
            let StoredGateway { id, address, until } = gateway;
            queries.execute(statement, &[&id.as_str(), &Text(address), &until.0]).await.map(drop)
        })
    }

    fn remove_gateway(&self, id: &GatewayId) -> Result<(), StoreError> {
        self.write(None, async |queries| {
            let statement = "DELETE FROM gateways WHERE id = $1";
            queries.execute(statement, &[&id.as_str()]).await.map(drop)
        })
    }

    fn gateway(&self, id: &GatewayId) -> Result<Option<StoredGateway>, StoreError> {
        self.read(async |queries| {
            let query = format!("SELECT {GATEWAY_COLUMNS} FROM gateways WHERE id = $1");
            let row = queries.query_optional(&query, &[&id.as_str()]).await?;
            row.map(|row| read_gateway(&row)).transpose()
        })
    }

    fn exchange_usage(
        &self,
        id: &GatewayId,
        usage: &UsageByUser,
        now: Timestamp,
    ) -> Result<UsageByUser, StoreError> {
        self.write(None, async |queries| {
            let update = "UPDATE gateways SET usage = $2 WHERE id = $1";
            queries.execute(update, &[&id.as_str(), &Text(&usage_text(usage))]).await?;
            let others = "SELECT usage FROM gateways WHERE id <> $1 AND until_ms > $2";
            let mut total = UsageByUser::new();
            for row in queries.query(others, &[&id.as_str(), &now.0]).await? {
                add_usage(&mut total, &row.text(0)?);
            }
            Ok(total)
        })
    }

    fn shared_pins(&self) -> Option<&dyn PinStore> {
        Some(self)
    }
}
