//! Limits of users that all gateways share: each gateway tells the others, once a second, how many calls
//! and programs of each user it has. A limit can be exceeded by what the others begin within that second.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use onecall_core::storage::{StoreError, UsageByUser};
use onecall_core::{Timestamp, UserName};
use onecall_engine::Engines;
use onecall_runtime::CallRates;

use super::Fleet;

/// How often the gateways exchange what users use.
const PAUSE: Duration = Duration::from_secs(1);

/// What counts the calls and programs of users in this gateway.
pub(crate) struct UsageCounters {
    /// Counts calls, if they are limited.
    pub(crate) call_rates: Option<Arc<CallRates>>,
    /// Counts programs.
    pub(crate) engines: Arc<Engines>,
}

impl UsageCounters {
    fn own(&self) -> UsageByUser {
        let mut usage = UsageByUser::new();
        let calls = self.call_rates.as_ref().map(|rates| rates.calls_by_user());
        for (user, calls) in calls.into_iter().flatten() {
            usage.entry(user).or_default().calls = calls;
        }
        for (user, programs) in self.engines.programs_by_user() {
            let Ok(user) = UserName::parse(&user) else { continue };
            usage.entry(user).or_default().programs = u32::try_from(programs).unwrap_or(u32::MAX);
        }
        usage
    }

    fn set_elsewhere(&self, usage: &UsageByUser) {
        if let Some(rates) = &self.call_rates {
            let calls = usage.iter().map(|(user, usage)| (user.clone(), usage.calls));
            rates.set_calls_elsewhere(calls.collect());
        }
        let programs = usage.iter().map(|(user, usage)| {
            let programs = usize::try_from(usage.programs).unwrap_or(usize::MAX);
            (Arc::from(user.as_str()), programs)
        });
        self.engines.set_programs_elsewhere(programs.collect::<HashMap<Arc<str>, usize>>());
    }
}

impl Fleet {
    /// Exchanges what users use with the other gateways, as long as this one lives. While the store
    /// cannot be used, each gateway applies the limits alone.
    pub(crate) async fn share_limits(fleet: Weak<Self>, counters: UsageCounters) {
        loop {
            tokio::time::sleep(PAUSE).await;
            let Some(fleet) = fleet.upgrade() else { return };
            let elsewhere = fleet.exchange(counters.own()).await;
            counters.set_elsewhere(&elsewhere.unwrap_or_default());
        }
    }

    async fn exchange(&self, usage: UsageByUser) -> Result<UsageByUser, StoreError> {
        let id = self.id.clone();
        self.with_store(move |store| store.exchange_usage(&id, &usage, Timestamp::now())).await
    }
}
