//! Notifies clients when a list that they have requested is outdated. Each connection has its own
//! state for this.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onecall_gateway::Gateway;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::exposed::ResourceUpdates;

/// The shortest time between two notifications to a client.
const INTERVAL: Duration = Duration::from_secs(1);

/// The notifications of one connection; they end with it.
#[derive(Default)]
pub(crate) struct ListNotifier {
    /// The number of changes to the list of resources when the client last listed resources. A client that never does
    /// gets no notification.
    resources_listed: watch::Sender<Option<u64>>,
    tasks: Mutex<Vec<AbortHandle>>,
}

/// Counters of which any change leads to the same notification.
#[derive(Clone)]
struct ChangeCounters(Vec<watch::Receiver<u64>>);

impl ChangeCounters {
    /// The counters of changes to the tools that a client can use. The tools of programs are not listed
    /// as onecall's own tools, but no other notification exists for them.
    fn of_tools(gateway: &Gateway) -> Self {
        Self(vec![gateway.revision(), gateway.list_changes().exposed])
    }

    /// The counters of changes to the resources that a client can read: a file for each tool, and
    /// exposed resources of servers.
    fn of_resources(gateway: &Gateway) -> Self {
        let changes = gateway.list_changes();
        Self(vec![changes.tools, changes.resources])
    }

    /// The counters of changes to the prompts that a client can get.
    fn of_prompts(gateway: &Gateway) -> Self {
        Self(vec![gateway.list_changes().prompts])
    }

    /// How many changes there were so far.
    fn total(&self) -> u64 {
        self.0.iter().fold(0, |total, count| total.wrapping_add(*count.borrow()))
    }

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
        self.mark_seen();
    }

    /// Ignores all changes up to now.
    fn mark_seen(&mut self) {
        self.0.iter_mut().for_each(watch::Receiver::mark_unchanged);
    }
}

/// The changes of all lists from a moment on.
pub(crate) struct ListChangesFromNow {
    tools: ChangeCounters,
    resources: ChangeCounters,
    prompts: ChangeCounters,
}

impl ListChangesFromNow {
    pub(crate) fn new(gateway: &Gateway) -> Self {
        let mut changes = Self {
            tools: ChangeCounters::of_tools(gateway),
            resources: ChangeCounters::of_resources(gateway),
            prompts: ChangeCounters::of_prompts(gateway),
        };
        for counters in [&mut changes.tools, &mut changes.resources, &mut changes.prompts] {
            counters.mark_seen();
        }
        changes
    }
}

impl ListNotifier {
    /// Notes that the client lists the resources of this gateway now, and has to be notified of later
    /// changes.
    pub(crate) fn mark_resources_listed(&self, gateway: &Gateway) {
        self.resources_listed.send_replace(Some(ChangeCounters::of_resources(gateway).total()));
    }

    /// Notifies a client that did the handshake of changes in this gateway, for as long as the client
    /// is connected.
    pub(crate) fn notify_client(&self, gateway: Arc<Gateway>, peer: Peer<RoleServer>) {
        let mut tools = ChangeCounters::of_tools(&gateway);
        let mut resources = ChangeCounters::of_resources(&gateway);
        let mut prompts = ChangeCounters::of_prompts(&gateway);
        prompts.mark_seen();
        let mut seen = self.resources_listed.subscribe();
        let (of_resources, of_prompts) = (peer.clone(), peer.clone());
        let tasks = [
            tokio::spawn(async move {
                // The counters end with the gateway as the user sees it.
                let _gateway = gateway;
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
                let Ok(Some(mut notified)) = seen else { return };
                loop {
                    while resources.total() == notified {
                        resources.next().await;
                    }
                    notified = resources.total();
                    if of_resources.notify_resource_list_changed().await.is_err() {
                        break;
                    }
                    tokio::time::sleep(INTERVAL).await;
                }
            }),
            tokio::spawn(async move {
                loop {
                    prompts.next().await;
                    if of_prompts.notify_prompt_list_changed().await.is_err() {
                        break;
                    }
                    tokio::time::sleep(INTERVAL).await;
                }
            }),
        ];
        let mut earlier = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let tasks = tasks.iter().map(tokio::task::JoinHandle::abort_handle).collect();
        std::mem::replace(&mut *earlier, tasks).iter().for_each(AbortHandle::abort);
    }

    /// Notifies a client that has subscribed of these changes, until it cancels the subscription. `updates` are
    /// the changes of the resources that it watches.
    pub(crate) async fn notify_subscriber(
        &self,
        changes: ListChangesFromNow,
        mut updates: ResourceUpdates,
        subscription: SubscriptionContext,
    ) {
        let ListChangesFromNow { mut tools, mut resources, mut prompts } = changes;
        let sink = subscription.sink();
        // A kind of notification that the client has not subscribed to is refused by rmcp.
        let notify_tools = async {
            loop {
                tools.next().await;
                _ = sink.notify_tool_list_changed().await;
                tokio::time::sleep(INTERVAL).await;
            }
        };
        let notify_resources = async {
            loop {
                resources.next().await;
                _ = sink.notify_resource_list_changed().await;
                tokio::time::sleep(INTERVAL).await;
            }
        };
        let notify_prompts = async {
            loop {
                prompts.next().await;
                _ = sink.notify_prompt_list_changed().await;
                tokio::time::sleep(INTERVAL).await;
            }
        };
        let notify_updates = async {
            while let Some(uris) = updates.next().await {
                for uri in uris {
                    _ = sink.notify_resource_updated(uri).await;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = notify_tools => {}
            () = notify_resources => {}
            () = notify_prompts => {}
            () = notify_updates => {}
            () = subscription.cancelled() => {}
        }
    }
}

impl Drop for ListNotifier {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        tasks.iter().for_each(AbortHandle::abort);
    }
}
