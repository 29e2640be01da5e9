//! The users whose requests are being answered. When a user is removed, these requests end as if the
//! client had left, and with them the programs that they run.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_core::UserName;
use onecall_gateway::{Authenticator, Gateway};
use tokio::sync::watch;

/// How often it is checked whether users were removed.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The users of all requests that are being answered.
#[derive(Default)]
pub(super) struct ActiveUsers {
    users: Mutex<HashMap<UserName, ActiveEntry>>,
}

struct ActiveEntry {
    requests: usize,
    /// Becomes true when the user is removed.
    removed: watch::Sender<bool>,
}

/// The user of one request, counted until this is dropped.
pub(super) struct ActiveUser {
    all: Arc<ActiveUsers>,
    name: UserName,
    removed: watch::Receiver<bool>,
}

impl ActiveUsers {
    /// Registers a request of a user.
    pub(super) fn register(self: &Arc<Self>, name: &UserName) -> ActiveUser {
        let mut users = self.lock();
        let entry = users
            .entry(name.clone())
            .or_insert_with(|| ActiveEntry { requests: 0, removed: watch::Sender::new(false) });
        entry.requests += 1;
        let removed = entry.removed.subscribe();
        ActiveUser { all: Arc::clone(self), name: name.clone(), removed }
    }

    /// Ends the requests of users who were removed, and stops the servers that run for them.
    pub(super) async fn watch(
        &self,
        authenticator: &Authenticator,
        gateway: &Gateway,
    ) -> Infallible {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let mut names: BTreeSet<UserName> = self.lock().keys().cloned().collect();
            names.extend(gateway.seen_users());
            for name in names {
                // If the store cannot be read, the next check will find out.
                if !authenticator.is_removed(&name).await.unwrap_or(false) {
                    continue;
                }
                if let Some(entry) = self.lock().get(&name) {
                    entry.removed.send_replace(true);
                }
                gateway.forget_user(&name);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserName, ActiveEntry>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveUser {
    /// Completes when the user is removed.
    pub(super) async fn removed(&self) {
        let mut removed = self.removed.clone();
        if removed.wait_for(|removed| *removed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for ActiveUser {
    fn drop(&mut self) {
        let mut users = self.all.lock();
        if let Some(entry) = users.get_mut(&self.name) {
            entry.requests = entry.requests.saturating_sub(1);
            if entry.requests == 0 {
                users.remove(&self.name);
            }
        }
    }
}
