//! Limits how many calls each user makes in a minute, over all runs of the process.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use onecall_core::{BoxFuture, CallHandler, CallResult, ResolvedCall, ToolError, UserName};

/// The length of the window in seconds. It is one longer than a minute, because the current second
/// has not passed.
const WINDOW_SECONDS: usize = 61;

/// Users without recent calls are removed when there are this many, and then each time the number of
/// users has doubled.
const FIRST_SWEEP: usize = 256;

/// Counts the calls of all users of a process.
#[derive(Debug)]
pub struct CallRates {
    limit: u32,
    begun: Instant,
    users: Mutex<Users>,
}

#[derive(Debug)]
struct Users {
    windows: HashMap<UserName, Window>,
    /// The number of users at which those without recent calls are removed.
    next_sweep: usize,
    /// How many calls users have made at other gateways in the last minute.
    elsewhere: HashMap<UserName, u32>,
}

/// The calls of one user in each of the last seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    /// The count of second `s` is at `s % WINDOW_SECONDS`.
    counts: [u32; WINDOW_SECONDS],
    total: u32,
    /// The last second that was counted.
    second: u64,
}

impl CallRates {
    /// Lets each user make at most `limit` calls in a minute.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        let users =
            Users { windows: HashMap::new(), next_sweep: FIRST_SWEEP, elsewhere: HashMap::new() };
        Self { limit, begun: Instant::now(), users: Mutex::new(users) }
    }

    /// How many calls each user has made here in the last minute.
    #[must_use]
    pub fn calls_by_user(&self) -> HashMap<UserName, u32> {
        let second = self.second(Instant::now());
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = users.windows.iter_mut().map(|(user, it)| (user.clone(), it.advance(second)));
        calls.filter(|(_, calls)| *calls > 0).collect()
    }

    /// Sets how many calls each user has made at other gateways in the last minute. They count, too.
    pub fn set_calls_elsewhere(&self, calls: HashMap<UserName, u32>) {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).elsewhere = calls;
    }

    fn second(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.begun).as_secs()
    }

    /// Counts a call.
    ///
    /// # Errors
    /// In how many seconds to try again, if the user has made too many calls.
    fn count(&self, user: &UserName, now: Instant) -> Result<(), u64> {
        let second = self.second(now);
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let elsewhere = users.elsewhere.get(user).copied().unwrap_or(0);
        let limit = self.limit.saturating_sub(elsewhere);
        if let Some(window) = users.windows.get_mut(user) {
            return window.count(limit, second);
        }
        if users.windows.len() >= users.next_sweep {
            users.windows.retain(|_, window| window.advance(second) > 0);
            users.next_sweep = FIRST_SWEEP.max(2 * users.windows.len());
        }
        users
            .windows
            .entry(user.clone())
            .or_insert_with(|| Window::new(second))
            .count(limit, second)
    }
}

impl Window {
    fn new(second: u64) -> Self {
        Self { counts: [0; WINDOW_SECONDS], total: 0, second }
    }

    fn count(&mut self, limit: u32, second: u64) -> Result<(), u64> {
        if self.advance(second) >= limit {
            return Err(self.seconds_until_room());
        }
        let second = self.second;
        if let Some(count) = self.slot(second) {
            *count += 1;
            self.total += 1;
        }
        Ok(())
    }

    /// Forgets the seconds that are not in the window of this second any more, and returns how many
    /// calls are left.
    fn advance(&mut self, second: u64) -> u32 {
        // Other threads may have counted a later second already.
        let passed = second.saturating_sub(self.second).min(WINDOW_SECONDS as u64);
        for step in 1..=passed {
            let next = self.second.saturating_add(step);
            let forgotten = self.slot(next).map_or(0, std::mem::take);
            self.total = self.total.saturating_sub(forgotten);
        }
        self.second = self.second.max(second);
        self.total
    }

    /// In how many seconds the oldest calls leave the window.
    fn seconds_until_room(&mut self) -> u64 {
        let window = WINDOW_SECONDS as u64;
        let oldest = (1..=window).find(|age| {
            self.slot(self.second.saturating_add(*age)).is_some_and(|count| *count > 0)
        });
        oldest.unwrap_or(window)
    }

    fn slot(&mut self, second: u64) -> Option<&mut u32> {
        let index = usize::try_from(second % WINDOW_SECONDS as u64).ok()?;
        self.counts.get_mut(index)
    }
}

/// Passes on as many calls as the user may make.
pub(crate) struct CallRateLimit<'a, H> {
    inner: H,
    rates: Option<&'a CallRates>,
    user: &'a UserName,
}

impl<'a, H> CallRateLimit<'a, H> {
    /// Creates the layer for a run of `user`. Without `rates` there is no limit.
    pub(crate) fn new(inner: H, rates: Option<&'a CallRates>, user: &'a UserName) -> Self {
        Self { inner, rates, user }
    }
}

impl<H: CallHandler> CallHandler for CallRateLimit<'_, H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        let Some(rates) = self.rates else { return self.inner.call(call) };
        match rates.count(self.user, Instant::now()) {
            Ok(()) => self.inner.call(call),
            Err(seconds) => {
                let limit = rates.limit;
                let message = format!(
                    "it was not called, because you have made {limit} calls in the last minute, and \
                     'calls_per_minute' in users permits no more; try again in {seconds}s"
                );
                let error = ToolError::NeverSent { name: call.name, message };
                Box::pin(std::future::ready(Err(error)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn user(name: &str) -> UserName {
        UserName::from_existing(name)
    }

    #[test]
    fn no_minute_has_more_calls_than_the_limit() {
        let rates = CallRates::new(3);
        let at = |milliseconds| rates.begun + Duration::from_millis(milliseconds);
        let anna = user("anna");
        let count = |milliseconds| rates.count(&anna, at(milliseconds));
        assert_eq!([count(900), count(5_000), count(5_900)], [Ok(()), Ok(()), Ok(())]);
        // The first call is in second 0 and leaves the window when second 61 begins.
        assert_eq!([count(6_000), count(59_000), count(60_950)], [Err(55), Err(2), Err(1)]);
        assert_eq!([count(61_000), count(61_001)], [Ok(()), Err(5)]);
        assert_eq!([count(66_000), count(66_000), count(66_000)], [Ok(()), Ok(()), Err(56)]);
        // After a long time everything is forgotten.
        assert_eq!([count(900_000), count(900_000), count(900_000)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(count(900_000), Err(61));
    }

    #[test]
    fn users_do_not_share_a_limit() {
        let rates = CallRates::new(1);
        let now = rates.begun;
        assert_eq!(rates.count(&user("anna"), now), Ok(()));
        assert_eq!(rates.count(&user("anna"), now), Err(61));
        assert_eq!(rates.count(&user("ben"), now), Ok(()));
    }

    #[test]
    fn users_without_recent_calls_are_forgotten() {
        let rates = CallRates::new(1);
        for number in 0..10_000_u64 {
            let now = rates.begun + Duration::from_secs(number);
            assert_eq!(rates.count(&user(&number.to_string()), now), Ok(()));
        }
        let known = rates.users.lock().unwrap().windows.len();
        assert!(known <= FIRST_SWEEP, "{known}");
        assert_eq!(rates.count(&user("9999"), rates.begun + Duration::from_secs(9_999)), Err(61));
    }
}
