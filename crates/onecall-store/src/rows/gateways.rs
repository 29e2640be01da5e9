//! The rows of gateways that share a store.

use std::time::Duration;

use onecall_core::storage::StoredGateway;
use onecall_core::{GatewayId, Timestamp};

use super::Columns;

/// When a gateway that has ended is removed from the store.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The columns that [`read_gateway`] reads, in its order.
pub(crate) const GATEWAY_COLUMNS: &str = "id, address, until_ms";

pub(crate) fn read_gateway<R: Columns>(row: &R) -> Result<StoredGateway, R::Error> {
    Ok(StoredGateway {
        id: GatewayId::parse(&row.text(0)?).ok_or_else(|| R::malformed(0))?,
        address: row.text(1)?,
        until: Timestamp(row.number(2)?),
    })
}
