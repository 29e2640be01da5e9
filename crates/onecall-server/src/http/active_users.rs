//! The users whose requests are being answered. When a user is removed, these requests end as if the
//! client had left, and with them the programs that they run.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use onecall_core::UserName;
use onecall_gateway::{Authenticator, Gateway};
use tokio::sync::watch;

/// How often it is checked whether users were removed.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The users of all requests that are being answered.
#[derive(Default)]
pub(super) struct ActiveUsers {
    /// For each user, a signal that the requests share.
    users: Mutex<HashMap<UserName, Weak<watch::Sender<bool>>>>,
}

/// The user of one request that is being answered.
pub(super) struct ActiveUser {
    name: UserName,
    /// Becomes true when the user is removed.
    removed: Arc<watch::Sender<bool>>,
}

impl ActiveUsers {
    /// Registers a request of a user.
    pub(super) fn register(&self, name: &UserName) -> ActiveUser {
        let mut users = self.lock();
        if let Some(removed) = users.get(name).and_then(Weak::upgrade) {
            return ActiveUser { name: name.clone(), removed };
        }
        let removed = Arc::new(watch::Sender::new(false));
        users.insert(name.clone(), Arc::downgrade(&removed));
        ActiveUser { name: name.clone(), removed }
    }

    /// Ends the requests of users who were removed, and stops the servers that run for them.
    pub(super) async fn watch(
        &self,
        authenticator: &Authenticator,
        gateway: &Gateway,
    ) -> Infallible {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let mut names: BTreeSet<UserName> = self.names().into_iter().collect();
            names.extend(gateway.seen_users());
            for name in names {
                // If the store cannot be read, the next check will find out.
                if authenticator.is_removed(&name).await.unwrap_or(false) {
                    self.end_requests(&name);
                    gateway.forget_user(&name);
                }
            }
        }
    }

    /// The users who have requests, without those whose requests have ended.
    fn names(&self) -> Vec<UserName> {
        let mut users = self.lock();
        users.retain(|_, removed| removed.strong_count() > 0);
        users.keys().cloned().collect()
    }

    /// Ends the requests of a user. Requests that begin later are not affected.
    fn end_requests(&self, name: &UserName) {
        let removed = self.lock().remove(name);
        if let Some(removed) = removed.and_then(|removed| removed.upgrade()) {
            removed.send_replace(true);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserName, Weak<watch::Sender<bool>>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveUser {
    pub(super) fn name(&self) -> &UserName {
        &self.name
    }

    /// Completes when the user is removed.
    pub(super) async fn removed(&self) {
        let mut removed = self.removed.subscribe();
        // The sender is a part of this, so it is not gone.
        _ = removed.wait_for(|removed| *removed).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_removal_ends_the_requests_of_one_user_and_no_later_ones() {
        let users = ActiveUsers::default();
        let (anna, ben) = (UserName::from_existing("anna"), UserName::from_existing("ben"));
        let (first, second, other) =
            (users.register(&anna), users.register(&anna), users.register(&ben));
        users.end_requests(&anna);
        first.removed().await;
        second.removed().await;
        let later = users.register(&anna);
        drop((first, second));
        let is_removed = |user: &ActiveUser| *user.removed.borrow();
        assert!(!is_removed(&other) && !is_removed(&later));
        assert_eq!(users.names().len(), 2);
        users.end_requests(&anna);
        later.removed().await;
        drop(other);
        assert_eq!(users.names(), []);
    }
}
