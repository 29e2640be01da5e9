//! This gateway as one of several that share a store: it keeps saying that it lives, and forwards
//! requests to the gateway that holds what they need.

mod forwarding;
mod proof;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use onecall_config::FleetConfig;
use onecall_core::storage::{FleetStore, StoreError, StoredGateway};
use onecall_core::{GatewayId, Timestamp};
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use self::forwarding::Clients;
pub use self::forwarding::{ForwardError, ForwardedRequest, ForwardedResponse};
use self::proof::SeenProofs;
pub use self::proof::{InvalidProof, PROOF_HEADER, ProvenRequest};
pub(crate) use self::usage::UsageCounters;

/// How often a gateway says within one lease that it lives.
const RENEWALS_PER_LEASE: u32 = 3;

/// The pause before a gateway tries again to say that it lives, if the store could not be written.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The path at which a gateway answers another one that asks whether it lives.
pub const ALIVE_PATH: &str = "/fleet/alive";

/// How long a gateway may take to answer whether it lives.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// One of several gateways.
pub struct Fleet {
    id: GatewayId,
    config: FleetConfig,
    store: Arc<dyn FleetStore>,
    seen: SeenProofs,
    clients: Clients,
    /// Whether this gateway has said that it ends. Held while that or the opposite is stored.
    has_left: Mutex<bool>,
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
    /// The answer of a gateway to another one that asks whether it lives.
    pub const ALIVE: &str = "alive";

    /// A gateway that shares `store` with others.
    pub(crate) fn new(config: FleetConfig, store: Arc<dyn FleetStore>) -> Arc<Self> {
        let (id, seen, clients) =
            (GatewayId::generate(), SeenProofs::default(), Clients::default());
        Arc::new(Self { id, config, store, seen, clients, has_left: Mutex::new(false) })
    }

    /// The name of this gateway.
    #[must_use]
    pub fn id(&self) -> &GatewayId {
        &self.id
    }

    /// Says for the first time that this gateway lives, so that other gateways find what is begun here. If the
    /// store cannot be written, they cannot find anything at present.
    pub async fn join(&self) {
        if let Err(error) = self.renew().await {
            tracing::debug!("other gateways do not know this one yet: {error}");
        }
    }

    /// Says that this gateway lives, as long as it does.
    pub(crate) async fn keep_alive(self: Arc<Self>) {
        let lease_pause = self.config.lease / RENEWALS_PER_LEASE;
        let mut was_reported = false;
        loop {
            let renewed = self.renew().await;
            if let (Err(error), false) = (&renewed, was_reported) {
                tracing::warn!("other gateways cannot see this one: {error}");
            }
            was_reported = renewed.is_err();
            let pause = if was_reported { lease_pause.min(RETRY_PAUSE) } else { lease_pause };
            tokio::time::sleep(pause).await;
        }
    }

    async fn renew(&self) -> Result<(), StoreError> {
        let has_left = self.has_left.lock().await;
        if *has_left {
            return Ok(());
        }
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
        let mut has_left = self.has_left.lock().await;
        *has_left = true;
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
        let Some(found) = self.with_store(move |store| store.gateway(&id)).await? else {
            return Ok(HandleOwner::Ended);
        };
        // A gateway that is very busy, or cut off from the store, lives although its lease has expired.
        match found.until > Timestamp::now() || self.is_alive(&found).await {
            true => Ok(HandleOwner::Other(found)),
            false => Ok(HandleOwner::Ended),
        }
    }

    /// Asks a gateway whether it lives. Something else may answer in its place: a proxy in front of it, or another
    /// service that has its address now.
    async fn is_alive(&self, gateway: &StoredGateway) -> bool {
        let request = ForwardedRequest {
            method: Method::GET,
            target: ALIVE_PATH.to_owned(),
            headers: HeaderMap::new(),
            body: Vec::new(),
            principal: None,
        };
        let answer = async {
            let response = self.send(gateway, request).await.ok()?;
            let status = response.status;
            Some((status, response.short_text().await?))
        };
        match timeout(ALIVE_TIMEOUT, answer).await {
            Ok(Some((StatusCode::OK, text))) => text == Self::ALIVE,
            // Only a gateway of the fleet can tell. Forwarded requests say what to do about the clocks.
            Ok(Some((StatusCode::FORBIDDEN, text))) => {
                text.contains(&InvalidProof::Time.to_string())
            }
            _ => false,
        }
    }

    /// Completes when a gateway has ended that a request waits for: its lease is over, and it cannot be reached.
    /// While the store cannot be read, that is not known.
    async fn has_ended(&self, gateway: &StoredGateway) {
        loop {
            tokio::time::sleep(self.config.lease / RENEWALS_PER_LEASE).await;
            let id = gateway.id.clone();
            let is_over = match self.with_store(move |store| store.gateway(&id)).await {
                Ok(found) => found.is_none_or(|found| found.until <= Timestamp::now()),
                Err(_) => false,
            };
            if is_over && !self.is_alive(gateway).await {
                return;
            }
        }
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
