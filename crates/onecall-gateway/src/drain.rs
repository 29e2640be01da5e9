//! The last phase of a gateway that is to end: it begins nothing new, and lets what has begun finish.

use tokio::sync::watch;

use crate::Gateway;

/// Whether the gateway begins nothing new.
#[derive(Default)]
pub(crate) struct Drain(watch::Sender<bool>);

impl Gateway {
    /// From now on, nothing new begins, and requests that only wait for a person are answered.
    pub fn begin_drain(&self) {
        self.shared.drain.0.send_replace(true);
    }

    /// Whether nothing new begins.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        *self.shared.drain.0.borrow()
    }

    /// Completes when nothing new begins.
    pub async fn draining(&self) {
        // The sender is a part of the gateway, so it is not gone.
        _ = self.shared.drain.0.subscribe().wait_for(|draining| *draining).await;
    }
}
