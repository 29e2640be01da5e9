//! Tells clients that the tools their programs may call have changed, so that nobody
//! relies on a list from before. Every connection has news of its own.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// A client is told at most this often.
const INTERVAL: Duration = Duration::from_secs(1);

/// The news of one connection; ends with it.
pub(crate) struct News {
    revision: watch::Receiver<u64>,
    telling: Mutex<Option<AbortHandle>>,
}

impl News {
    /// What changes `revision` is news.
    pub(crate) fn new(revision: watch::Receiver<u64>) -> Self {
        Self { revision, telling: Mutex::new(None) }
    }

    /// Tells a client that did a handshake, for as long as it is connected.
    pub(crate) fn tell(&self, peer: Peer<RoleServer>) {
        let mut revision = self.revision.clone();
        let task = tokio::spawn(async move {
            while revision.changed().await.is_ok() {
                if peer.notify_tool_list_changed().await.is_err() {
                    break;
                }
                tokio::time::sleep(INTERVAL).await;
            }
        });
        let mut telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = telling.replace(task.abort_handle()) {
            earlier.abort();
        }
    }

    /// Tells a client that has asked for it, until it does not want to hear more.
    pub(crate) async fn tell_subscriber(&self, subscription: SubscriptionContext) {
        let mut revision = self.revision.clone();
        revision.mark_unchanged();
        let tell = async {
            while revision.changed().await.is_ok() {
                if subscription.sink().notify_tool_list_changed().await.is_err() {
                    break;
                }
                tokio::time::sleep(INTERVAL).await;
            }
            // Nothing will change any more, which is no reason to say goodbye.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = tell => {}
            () = subscription.cancelled() => {}
        }
    }
}

impl Drop for News {
    fn drop(&mut self) {
        let telling = self.telling.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(telling) = telling {
            telling.abort();
        }
    }
}
