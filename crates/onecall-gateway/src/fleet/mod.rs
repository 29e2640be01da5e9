//! This gateway as one of several that share a store: it keeps saying that it lives, and forwards
//! requests to the gateway that holds what they need.

mod forwarding;
mod proof;
mod usage;

use std::sync::Arc;

use onecall_config::FleetConfig;
use onecall_core::storage::{FleetStore, StoreError, StoredGateway};
use onecall_core::{GatewayId, Timestamp};
use tokio::task::spawn_blocking;

use self::forwarding::Clients;
pub use self::forwarding::{ForwardError, ForwardedRequest, ForwardedResponse};
use self::proof::SeenProofs;
pub use self::proof::{InvalidProof, PROOF_HEADER, ProvenRequest};
pub(crate) use self::usage::UsageCounters;

/// How often a gateway says within one lease that it lives.
const RENEWALS_PER_LEASE: u32 = 3;

/// One of several gateways.
pub struct Fleet {
    id: GatewayId,
    config: FleetConfig,
    store: Arc<dyn FleetStore>,
    seen: SeenProofs,
    clients: Clients,
}

/// Which gateway has what a handle names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandleOwner {
    /// This gateway, or none: the handle names no gateway.
    Here,
    /// Another gateway that lives.
    Other(StoredGateway),
    /// A gateway that has ended. What it had is lost.
    Ended,
}

impl Fleet {
    /// A gateway that shares `store` with others.
    pub(crate) fn new(config: FleetConfig, store: Arc<dyn FleetStore>) -> Arc<Self> {
        let (id, seen, clients) =
            (GatewayId::generate(), SeenProofs::default(), Clients::default());
        Arc::new(Self { id, config, store, seen, clients })
    }

    /// The name of this gateway.
    #[must_use]
    pub fn id(&self) -> &GatewayId {
        &self.id
    }

    /// Says that this gateway lives, as long as it does.
    pub(crate) async fn keep_alive(self: Arc<Self>) {
        let pause = self.config.lease / RENEWALS_PER_LEASE;
        let mut was_reported = false;
        loop {
            let renewed = self.renew().await;
            if let (Err(error), false) = (&renewed, was_reported) {
                tracing::warn!("other gateways cannot see this one: {error}");
            }
            was_reported = renewed.is_err();
            tokio::time::sleep(pause).await;
        }
    }

    async fn renew(&self) -> Result<(), StoreError> {
        let now = Timestamp::now();
        let gateway = StoredGateway {
            id: self.id.clone(),
            address: self.config.advertise.clone(),
            until: now.after(self.config.lease),
        };
        self.with_store(move |store| store.put_gateway(&gateway, now)).await
    }

    /// Says that this gateway has ended.
    pub(crate) async fn leave(&self) {
        let id = self.id.clone();
        if let Err(error) = self.with_store(move |store| store.remove_gateway(&id)).await {
            tracing::debug!("other gateways do not know that this one ends: {error}");
        }
    }

    /// Finds the gateway that has what `handle` names.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn owner_of(&self, handle: &str) -> Result<HandleOwner, StoreError> {
        let Some(id) = GatewayId::named_in(handle).filter(|id| *id != self.id) else {
            return Ok(HandleOwner::Here);
        };
        let found = self.with_store(move |store| store.gateway(&id)).await?;
        let living = found.filter(|gateway| gateway.until > Timestamp::now());
        Ok(living.map_or(HandleOwner::Ended, HandleOwner::Other))
    }

    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn FleetStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.store);
        let stopped = |_| StoreError::Disabled { reason: "this process ends".to_owned() };
        spawn_blocking(move || work(store.as_ref())).await.map_err(stopped)?
    }
}
