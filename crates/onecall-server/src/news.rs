//! Notifies clients when a list that they have requested is outdated. Each connection has its own
//! state for this.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use onecall_gateway::Gateway;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The shortest time between two notifications to a client.
const INTERVAL: Duration = Duration::from_secs(1);

/// The notifications of one connection; they end with it.
pub(crate) struct News {
    tools: Changes,
    /// Counts changes to the list of resources.
    resources: watch::Receiver<u64>,
    /// The value of that counter when the client last listed resources. A client that never does
    /// gets no notification.
    resources_seen: watch::Sender<Option<u64>>,
    telling: Mutex<Vec<AbortHandle>>,
}

/// Counters of which any change leads to the same notification.
#[derive(Clone)]
struct Changes(Vec<watch::Receiver<u64>>);

impl Changes {
    /// Completes at the next change; never if there can be none.
    async fn next(&mut self) {
        let changed = self.0.iter_mut().map(|count| {
            Box::pin(async move {
                if count.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            })
        });
        futures_util::future::select_all(changed).await;
        self.forget();
    }

    /// Ignores all changes up to now.
    fn forget(&mut self) {
        self.0.iter_mut().for_each(watch::Receiver::mark_unchanged);
    }
}

impl News {
    /// Creates the notifications for changes in this gateway.
    pub(crate) fn new(gateway: &Gateway) -> Self {
        let listed = gateway.listed();
        Self {
            // The tools of programs are not listed as onecall's own tools, but no other
            // notification exists for them.
            tools: Changes(vec![gateway.revision(), listed.exposed]),
            resources: listed.tools,
            resources_seen: watch::Sender::default(),
            telling: Mutex::default(),
        }
    }

    /// Notes that the client lists resources now, and has to be notified of later changes.
    pub(crate) fn resources_seen(&self) {
        self.resources_seen.send_replace(Some(*self.resources.borrow()));
    }

    /// Notifies a client that did the handshake, for as long as it is connected.
    pub(crate) fn tell(&self, peer: Peer<RoleServer>) {
        let (mut tools, mut resources) = (self.tools.clone(), self.resources.clone());
        let mut seen = self.resources_seen.subscribe();
        let other = peer.clone();
        let telling = [
            tokio::spawn(async move {
                loop {
                    tools.next().await;
                    if peer.notify_tool_list_changed().await.is_err() {
                        break;
                    }
                    tokio::time::sleep(INTERVAL).await;
                }
            }),
            tokio::spawn(async move {
                let seen = seen.wait_for(Option::is_some).await.map(|seen| *seen);
                let Ok(Some(mut told)) = seen else { return };
                while let Ok(now) = resources.wait_for(|now| *now != told).await.map(|now| *now) {
                    told = now;
                    if other.notify_resource_list_changed().await.is_err() {
                        break;
                    }
                    tokio::time::sleep(INTERVAL).await;
                }
            }),
        ];
        let mut earlier = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        let telling = telling.iter().map(tokio::task::JoinHandle::abort_handle).collect();
        std::mem::replace(&mut *earlier, telling).iter().for_each(AbortHandle::abort);
    }

    /// Notifies a client that has subscribed, until it cancels the subscription.
    pub(crate) async fn tell_subscriber(&self, subscription: SubscriptionContext) {
        let mut tools = self.tools.clone();
        let mut resources = Changes(vec![self.resources.clone()]);
        tools.forget();
        resources.forget();
        let sink = subscription.sink();
        let tell_tools = async {
            loop {
                tools.next().await;
                // A kind of notification that the client has not subscribed to is refused by rmcp.
                _ = sink.notify_tool_list_changed().await;
                tokio::time::sleep(INTERVAL).await;
            }
        };
        let tell_resources = async {
            loop {
                resources.next().await;
                _ = sink.notify_resource_list_changed().await;
                tokio::time::sleep(INTERVAL).await;
            }
        };
        tokio::select! {
            () = tell_tools => {}
            () = tell_resources => {}
            () = subscription.cancelled() => {}
        }
    }
}

impl Drop for News {
    fn drop(&mut self) {
        let telling = self.telling.get_mut().unwrap_or_else(PoisonError::into_inner);
        telling.iter().for_each(AbortHandle::abort);
    }
}
