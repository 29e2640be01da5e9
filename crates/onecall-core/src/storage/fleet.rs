//! The storage trait for gateways that share a store: which of them live, and where they are reached.

use super::StoreError;
use crate::{GatewayId, Timestamp};

/// A gateway that shares the store with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredGateway {
    /// The name of the gateway.
    pub id: GatewayId,
    /// The address at which other gateways reach it.
    pub address: String,
    /// Until when it counts as alive, unless it says so again.
    pub until: Timestamp,
}

/// Stores the gateways that share the store.
pub trait FleetStore: Send + Sync {
    /// Stores that a gateway is alive, and removes those that have not said so for a day.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put_gateway(&self, gateway: &StoredGateway, now: Timestamp) -> Result<(), StoreError>;

    /// Removes a gateway that ends.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn remove_gateway(&self, id: &GatewayId) -> Result<(), StoreError>;

    /// The gateway with this name, alive or not.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn gateway(&self, id: &GatewayId) -> Result<Option<StoredGateway>, StoreError>;
}
