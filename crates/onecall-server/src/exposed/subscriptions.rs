//! The resources that one client watches, and the notifications about them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_gateway::{Gateway, ResourceSubscription, ServerEvent, ServerEventKind};
use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::Peer;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::AbortHandle;

/// How many resources one client may watch.
pub(crate) const MAX_WATCHED: usize = 256;

/// The shortest time between two groups of notifications to a client.
const INTERVAL: Duration = Duration::from_millis(100);

/// The subscriptions of one client, which end with it.
#[derive(Default)]
pub(crate) struct Subscriptions {
    watched: Arc<Watched>,
    forwarding: Mutex<Option<AbortHandle>>,
}

/// The watched resources, by URI.
#[derive(Default)]
pub(crate) struct Watched(Mutex<HashMap<String, ResourceSubscription>>);

impl Watched {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, ResourceSubscription>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a client is to be notified of an event. A server may announce a part of the watched
    /// resource.
    fn covers(&self, event: &ServerEvent) -> Option<String> {
        let ServerEventKind::Resource { uri } = &event.kind else { return None };
        let is_meant = |subscription: &ResourceSubscription| {
            let part = uri.strip_prefix(subscription.uri.as_str());
            let is_part = |part: &str| {
                part.is_empty()
                    || subscription.uri.ends_with('/')
                    || part.starts_with(['/', '?', '#'])
            };
            subscription.server == event.server && part.is_some_and(is_part)
        };
        self.lock().values().any(is_meant).then(|| uri.clone())
    }
}

impl FromIterator<ResourceSubscription> for Watched {
    fn from_iter<I: IntoIterator<Item = ResourceSubscription>>(subscriptions: I) -> Self {
        let by_uri = subscriptions.into_iter().map(|it| (it.uri.clone(), it));
        Self(Mutex::new(by_uri.collect()))
    }
}

impl Subscriptions {
    /// Whether the client watches this resource.
    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.watched.lock().contains_key(uri)
    }

    /// Whether the client watches as many resources as it may.
    pub(crate) fn is_full(&self) -> bool {
        self.watched.lock().len() >= MAX_WATCHED
    }

    /// Adds a subscription; the client is notified of changes from now on.
    pub(crate) fn add(
        &self,
        subscription: ResourceSubscription,
        gateway: Arc<Gateway>,
        peer: Peer<RoleServer>,
    ) {
        self.watched.lock().insert(subscription.uri.clone(), subscription);
        let mut forwarding = self.forwarding.lock().unwrap_or_else(PoisonError::into_inner);
        if forwarding.is_some() {
            return;
        }
        let mut updates = ResourceUpdates::new(gateway, Arc::clone(&self.watched));
        let task = tokio::spawn(async move {
            while let Some(uris) = updates.next().await {
                for uri in uris {
                    let updated = ResourceUpdatedNotificationParam::new(uri);
                    if peer.notify_resource_updated(updated).await.is_err() {
                        return;
                    }
                }
            }
        });
        *forwarding = Some(task.abort_handle());
    }

    /// Removes a subscription; returns whether there was one.
    pub(crate) fn remove(&self, uri: &str) -> bool {
        self.watched.lock().remove(uri).is_some()
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        let forwarding = self.forwarding.get_mut().unwrap_or_else(PoisonError::into_inner);
        forwarding.iter().for_each(AbortHandle::abort);
    }
}

/// The changes of watched resources, in groups. A resource that changes often is named once in a group.
pub(crate) struct ResourceUpdates {
    gateway: Arc<Gateway>,
    events: Receiver<ServerEvent>,
    watched: Arc<Watched>,
    is_first: bool,
}

impl ResourceUpdates {
    /// Follows the changes of these resources from now on.
    pub(crate) fn new(gateway: Arc<Gateway>, watched: Arc<Watched>) -> Self {
        let events = gateway.server_events();
        Self { gateway, events, watched, is_first: true }
    }

    /// The URIs of resources that have changed; `None` when there can be no more changes.
    pub(crate) async fn next(&mut self) -> Option<BTreeSet<String>> {
        if !std::mem::take(&mut self.is_first) {
            tokio::time::sleep(INTERVAL).await;
        }
        let mut changed = BTreeSet::new();
        while changed.is_empty() {
            match self.events.recv().await {
                Ok(event) => self.note(&event, &mut changed),
                Err(RecvError::Lagged(_)) => self.note_all(&mut changed),
                Err(RecvError::Closed) => return None,
            }
        }
        loop {
            match self.events.try_recv() {
                Ok(event) => self.note(&event, &mut changed),
                Err(TryRecvError::Lagged(_)) => self.note_all(&mut changed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Some(changed),
            }
        }
    }

    fn note(&self, event: &ServerEvent, changed: &mut BTreeSet<String>) {
        if self.gateway.is_visible_event(event) {
            changed.extend(self.watched.covers(event));
        }
    }

    /// Notes every watched resource, because events were missed.
    fn note_all(&self, changed: &mut BTreeSet<String>) {
        changed.extend(self.watched.lock().keys().cloned());
    }
}
