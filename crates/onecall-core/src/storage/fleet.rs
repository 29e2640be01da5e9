//! The storage trait for gateways that share a store: which of them live, and where they are reached.

use std::collections::BTreeMap;

use super::{PinStore, StoreError};
use crate::{GatewayId, Timestamp, UserName};

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

/// How much a user uses that is limited for each user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserUsage {
    /// Tool calls in the last minute.
    pub calls: u32,
    /// Programs that run.
    pub programs: u32,
}

/// What each user uses. Users who use nothing are not in it.
pub type UsageByUser = BTreeMap<UserName, UserUsage>;

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

    /// Stores what users use at a gateway at present, and returns what they use at all other gateways
    /// that are alive, added up.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    fn exchange_usage(
        &self,
        id: &GatewayId,
        usage: &UsageByUser,
        now: Timestamp,
    ) -> Result<UsageByUser, StoreError>;

    /// The pins that the gateways share; `None` if each machine has its own, in files.
    fn shared_pins(&self) -> Option<&dyn PinStore>;
}
