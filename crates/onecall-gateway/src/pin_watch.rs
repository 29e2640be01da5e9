//! Notices pins that other gateways and commands change, where a store has them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use onecall_bridge::{PinStorage, SharedPins};
use onecall_core::storage::FleetStore;
use tokio::time::sleep;

use crate::Gateway;

/// How often it is checked whether pins have changed. A store that sends notifications is not asked for
/// that.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Where the pins of a gateway with this store are kept.
pub(crate) fn pin_storage(store: Option<&Arc<dyn FleetStore>>) -> PinStorage {
    match store.filter(|store| store.shared_pins().is_some()) {
        Some(store) => PinStorage::Shared(Arc::new(SharedPins::new(Arc::clone(store)))),
        None => PinStorage::Files,
    }
}

impl Gateway {
    /// Compares the tools of all servers with their pins whenever pins in a store change, until the gateway
    /// ends.
    pub(crate) async fn follow_pins(gateway: Weak<Self>, pins: Arc<SharedPins>) {
        loop {
            sleep(CHECK_INTERVAL).await;
            let refreshed = Arc::clone(&pins);
            let has_changed = tokio::task::spawn_blocking(move || refreshed.refresh()).await;
            let Some(gateway) = gateway.upgrade() else { return };
            if has_changed.unwrap_or(false) {
                gateway.bridge.follow_pins().await;
                for bridge in gateway.shared.user_bridges.iter().flat_map(|it| it.all()) {
                    bridge.follow_pins().await;
                }
            }
        }
    }
}
