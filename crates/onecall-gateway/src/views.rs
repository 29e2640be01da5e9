//! The gateway as each user sees it. A view has rules of its own, made of the configuration, the policy
//! and the groups that the user has, and shares everything else with the gateway that was started.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use onecall_bridge::Bridge;
use onecall_config::Config;
use onecall_core::{Principal, UserName};
use onecall_runtime::UserAccess;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::Gateway;
use crate::exposed::ListCache;
use crate::rules::ProgramRules;
use crate::user_bridges::per_user_servers;

/// How many views are kept although no request uses them.
const MAX_IDLE_VIEWS: usize = 256;

/// The views of one gateway, by user and groups.
#[derive(Default)]
pub(crate) struct UserViews(Mutex<HashMap<Arc<Principal>, Arc<Gateway>>>);

impl UserViews {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<Principal>, Arc<Gateway>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All views at this moment.
    fn all(&self) -> Vec<Arc<Gateway>> {
        self.lock().values().cloned().collect()
    }
}

impl Gateway {
    /// The user that sees the gateway in this way.
    #[must_use]
    pub fn user(&self) -> &UserName {
        &self.access.principal.user
    }

    /// The gateway as this user sees it. Programs, lists and calls of the result are those of the user.
    pub async fn for_principal(self: &Arc<Self>, principal: &Arc<Principal>) -> Arc<Self> {
        if *principal == self.access.principal {
            return Arc::clone(self);
        }
        let bridge = match self.recent_bridge(&principal.user) {
            Some(bridge) => bridge,
            None => {
                self.read_bridge(&principal.user).await.unwrap_or_else(|_| Arc::clone(&self.bridge))
            }
        };
        self.find_view(principal, bridge)
    }

    /// The bridge of a user, if it is known without reading the store.
    fn recent_bridge(&self, user: &UserName) -> Option<Arc<Bridge>> {
        let Some(bridges) = &self.shared.user_bridges else {
            return Some(Arc::clone(&self.bridge));
        };
        let entries = per_user_servers(&self.config());
        bridges.recent_bridge(&self.bridge, &entries, user)
    }

    /// Finds the bridge of a user, and applies secrets that have changed. They are read from the store, which
    /// may take long to answer. It fails only while the runtime ends.
    fn read_bridge(self: &Arc<Self>, user: &UserName) -> JoinHandle<Arc<Bridge>> {
        let (gateway, user) = (Arc::clone(self), user.clone());
        tokio::task::spawn_blocking(move || match &gateway.shared.user_bridges {
            Some(bridges) => {
                let entries = || per_user_servers(&gateway.config());
                bridges.bridge(&gateway.bridge, entries, &user)
            }
            None => Arc::clone(&gateway.bridge),
        })
    }

    fn find_view(self: &Arc<Self>, principal: &Arc<Principal>, bridge: Arc<Bridge>) -> Arc<Self> {
        // The configuration may have got its first server that runs for each user since the view was made.
        let is_current =
            |view: &&Arc<Self>| Arc::ptr_eq(&view.bridge, &bridge) || view.has_own_bridge(self);
        let known = self.views.lock().get(principal).filter(is_current).cloned();
        if let Some(view) = known {
            return view;
        }
        // Locked before the views, as a reload does, so that a new view never has older rules.
        let config = self.config();
        let mut views = self.views.lock();
        if let Some(view) = views.get(principal).filter(is_current) {
            return Arc::clone(view);
        }
        if views.len() >= MAX_IDLE_VIEWS {
            // A view that only this table holds is used by no request.
            views.retain(|_, view| Arc::strong_count(view) > 1);
            if let Some(bridges) = &self.shared.user_bridges {
                let users: HashSet<&UserName> = views.keys().map(|it| &it.user).collect();
                bridges.keep_only(&users);
            }
        }
        let view = Arc::new(self.new_view(principal, &config, bridge));
        views.insert(Arc::clone(principal), Arc::clone(&view));
        view
    }

    /// Whether servers run for the user of this view of a gateway. They do as long as there is the view.
    fn has_own_bridge(&self, gateway: &Self) -> bool {
        !Arc::ptr_eq(&self.bridge, &gateway.bridge)
    }

    fn new_view(&self, principal: &Arc<Principal>, config: &Config, bridge: Arc<Bridge>) -> Self {
        let access = UserAccess { principal: Arc::clone(principal), ..self.access.clone() };
        let rules = ProgramRules::new(config, &self.shared, &bridge, access.clone());
        Self {
            access,
            bridge,
            guard: self.guard.clone(),
            rules: watch::Sender::new(Arc::new(rules)),
            shared: Arc::clone(&self.shared),
            store: self.store.clone(),
            config: Arc::clone(&self.config),
            revision: OnceLock::new(),
            list_changes: OnceLock::new(),
            views: UserViews::default(),
            exposure: self.exposure.clone(),
            lists: ListCache::default(),
            tool_folder: self.tool_folder.clone(),
            is_serving: AtomicBool::new(false),
            user_logins: self.user_logins.clone(),
        }
    }

    /// The users for whom something is kept in this process.
    #[must_use]
    pub fn seen_users(&self) -> BTreeSet<UserName> {
        self.views.lock().keys().map(|principal| principal.user.clone()).collect()
    }

    /// Removes everything that a user has in this process: the views, and the servers that run with the
    /// user's credentials.
    pub fn forget_user(&self, user: &UserName) {
        self.views.lock().retain(|principal, _| principal.user != *user);
        if let Some(bridges) = &self.shared.user_bridges {
            bridges.remove(user);
        }
        if let Some(logins) = &self.user_logins {
            logins.forget_user(user);
        }
    }

    /// Replaces the rules of this gateway and of all its views, for programs that begin from now on.
    pub(crate) fn set_rules(&self, config: &Config) {
        let rules = ProgramRules::new(config, &self.shared, &self.bridge, self.access.clone());
        self.rules.send_replace(Arc::new(rules));
        self.views.all().iter().for_each(|view| view.set_rules(config));
    }
}
