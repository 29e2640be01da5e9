//! Tells clients that what they have listed has changed, so that nobody relies on a list
//! from before. Every connection has news of its own.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use onecall_gateway::Gateway;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// A client is told at most this often.
const INTERVAL: Duration = Duration::from_secs(1);

/// The news of one connection; ends with it.
pub(crate) struct News {
    tools: Changes,
    /// A count of changes.
    resources: watch::Receiver<u64>,
    /// That count when the client has asked last. Who never asks need not be told.
    resources_seen: watch::Sender<Option<u64>>,
    telling: Mutex<Vec<AbortHandle>>,
}

/// Counts of which each change is the same news.
#[derive(Clone)]
struct Changes(Vec<watch::Receiver<u64>>);

impl Changes {
    /// Returns when there is news, and never where there will not be any.
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

    /// What has happened so far is no news.
    fn forget(&mut self) {
        self.0.iter_mut().for_each(watch::Receiver::mark_unchanged);
    }
}

impl News {
    /// What changes in this gateway is news.
    pub(crate) fn new(gateway: &Gateway) -> Self {
        let listed = gateway.listed();
        Self {
            // What programs may call is no tool of ours, but nothing else tells of it.
            tools: Changes(vec![gateway.revision(), listed.exposed]),
            resources: listed.tools,
            resources_seen: watch::Sender::default(),
            telling: Mutex::default(),
        }
    }

    /// The client asks for resources now, and will want to know when there are others.
    pub(crate) fn resources_seen(&self) {
        self.resources_seen.send_replace(Some(*self.resources.borrow()));
    }

    /// Tells a client that did a handshake, for as long as it is connected.
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

    /// Tells a client that has asked for it, until it does not want to hear more.
    pub(crate) async fn tell_subscriber(&self, subscription: SubscriptionContext) {
        let mut tools = self.tools.clone();
        let mut resources = Changes(vec![self.resources.clone()]);
        tools.forget();
        resources.forget();
        let sink = subscription.sink();
        let tell_tools = async {
            loop {
                tools.next().await;
                // One that was not asked for is refused, and nobody is told.
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
