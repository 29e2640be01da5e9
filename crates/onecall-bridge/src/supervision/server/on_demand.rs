//! Servers of users. Such a server is started by a request that needs it and stopped after it was not used
//! for a while, or when another server needs its place. Its tools stay known.

use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{sleep_until, timeout};
use tracing::info;

use super::lifecycle::{RunEnd, wait_for_stop};
use super::{Server, StopReason, install, routes};
use crate::supervision::backoff::Backoff;
use crate::supervision::guard::Guard;
use crate::supervision::status::{FailureKind, LIFECYCLE_LOG_TARGET, NextStart, ServerState};
use crate::users::ServerOwner;
use crate::users::processes::{Place, PlaceHolder, ProcessLimitReached};

/// How long a request waits for a place and for the end of the process before, in addition to the time
/// for a start.
const PLACE_WAIT: Duration = Duration::from_secs(30);

/// The minimum time between two checks whether a server is unused.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// A request that needs a server of a user. The server is not stopped while this exists.
pub(super) struct InUse<'a>(&'a Server);

impl<'a> InUse<'a> {
    fn new(server: &'a Server) -> Self {
        server.lock().usage.requests += 1;
        Self(server)
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let usage = &mut self.0.lock().usage;
        usage.requests = usage.requests.saturating_sub(1);
        usage.last_used = Instant::now();
    }
}

/// The place of a server, which is given back however its run ends.
struct HeldPlace<'a>(&'a Server);

impl<'a> HeldPlace<'a> {
    fn new(server: &'a Server, place: Place) -> Self {
        server.set_place(Some(place));
        Self(server)
    }
}

impl Drop for HeldPlace<'_> {
    fn drop(&mut self) {
        self.0.set_place(None);
    }
}

impl Server {
    /// Runs a server of a user whenever it is needed, until `stop` is set; returns when it has exited.
    pub(super) async fn supervise_on_demand(
        self: &Arc<Self>,
        owner: &ServerOwner,
        guard: Guard,
        mut stop: watch::Receiver<StopReason>,
    ) {
        if !self.can_start() {
            return self.become_stopped(wait_for_stop(&mut stop).await);
        }
        let mut backoff = Backoff::new();
        loop {
            let place = tokio::select! {
                place = self.place_when_needed(owner) => place,
                why = wait_for_stop(&mut stop) => return self.become_stopped(why),
            };
            let held = match place {
                Ok(place) => HeldPlace::new(self, place),
                Err(error) => {
                    self.become_refused(error);
                    continue;
                }
            };
            let ended = self.start(&guard, &mut backoff, &mut stop).await;
            drop(held);
            match ended {
                RunEnd::Stopped => break,
                RunEnd::Unused => {}
                RunEnd::Down { next_start } => {
                    tokio::select! {
                        () = sleep_until(next_start.into()) => {}
                        () = self.wait_for_login() => {}
                        _ = wait_for_stop(&mut stop) => break,
                    }
                    self.become_startable();
                }
            }
        }
        self.become_stopped(wait_for_stop(&mut stop).await);
    }

    /// Waits until the server is needed, then for its place.
    async fn place_when_needed(
        self: &Arc<Self>,
        owner: &ServerOwner,
    ) -> Result<Place, ProcessLimitReached> {
        self.wait_until_needed().await;
        self.become_restarting();
        let holder: Weak<Self> = Arc::downgrade(self);
        owner.servers.processes.acquire(holder).await
    }

    /// Sets the place of the server, or gives it back.
    fn set_place(&self, place: Option<Place>) {
        let before = {
            let mut own = self.place.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *own, place)
        };
        // The end of a place waits for a lock, so no other one may be held here.
        drop(before);
    }

    /// Reports whether the process or connection of a server of a user is about to end.
    pub(super) fn set_ending(&self, is_ending: bool) {
        if let Some(place) = &*self.place.lock().unwrap_or_else(PoisonError::into_inner) {
            place.set_ending(is_ending);
        }
    }

    /// Starts a server of a user for a request, and waits until its start has ended. The server is not
    /// stopped until the returned object is dropped. `None` for any other server.
    pub(super) async fn start_for_request(&self) -> Option<InUse<'_>> {
        self.owner.as_ref()?;
        let in_use = InUse::new(self);
        let mut tried = self.is_up.subscribe();
        if let Some(login) = self.login.as_ref().filter(|_| self.waits_for_login()) {
            login.look_for_change().await;
        }
        self.demand();
        let ended = async {
            // The channel is notified at the end of every start, including a failed one.
            while self.is_starting() && tried.changed().await.is_ok() {}
        };
        // A start has its own deadline for each of its two transports.
        let _ = timeout(self.start_wait() * 3 + PLACE_WAIT, ended).await;
        Some(in_use)
    }

    /// Whether this is the server of a user with an entry and credentials that it can start with.
    fn can_start(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| !owner.lacks_credentials())
            && routes(&self.config.transport).is_some()
    }

    /// Marks a server of a user as needed, unless it is up.
    pub(super) fn demand(&self) {
        if !self.can_start() || self.lock().peer.is_some() {
            return;
        }
        let starting = install::initial_state(&self.config, &self.options);
        // A user who has just logged in repeats the call at once.
        let has_logged_in =
            self.waits_for_login() && self.login.as_ref().is_some_and(|login| login.has_changed());
        let mut data = self.lock();
        if data.peer.is_some() || data.stopped != StopReason::NotStopping {
            return;
        }
        let begins = data.usage.may_start || has_logged_in && is_logged_out(&data.state);
        if begins {
            data.usage.may_start = false;
            data.state = starting;
        } else if is_logged_out(&data.state) {
            return;
        }
        self.is_needed.send_replace(true);
        drop(data);
        if begins {
            // Requests that wait for its tools have to know that these may still arrive.
            self.changed.notify_one();
        }
    }

    fn is_starting(&self) -> bool {
        match &self.lock().state {
            ServerState::Connecting => true,
            ServerState::Installing { since } => !self.is_no_longer_awaited(*since),
            ServerState::Failed { next_start, .. } => *next_start == NextStart::Now,
            ServerState::Idle | ServerState::Local { .. } | ServerState::Ready { .. } => false,
        }
    }

    /// Returns when the server was not used for a while, or is to stop for another server. From then
    /// on it is idle. Never returns for a server that all users share.
    pub(super) async fn until_unused(&self) {
        let Some(owner) = &self.owner else { return std::future::pending().await };
        let processes = &owner.servers.processes;
        let mut check_at = Instant::now().checked_add(processes.idle());
        loop {
            tokio::select! {
                () = self.is_unused.notified() => {}
                () = sleep_until_some(check_at) => {
                    check_at = self.stop_if_idle_for(processes.idle());
                }
            }
            if self.has_left() {
                return;
            }
        }
    }

    /// Begins to stop the server if it was not used for this long. Otherwise returns when to check it
    /// again.
    fn stop_if_idle_for(&self, idle: Duration) -> Option<Instant> {
        let last_used = {
            let usage = &self.lock().usage;
            if usage.requests > 0 { Instant::now() } else { usage.last_used }
        };
        if last_used.elapsed() >= idle && self.stop_unless_used_since(last_used) {
            return None;
        }
        let check_at = self.lock().usage.last_used.max(last_used).checked_add(idle)?;
        Some(check_at.max(Instant::now() + MIN_CHECK_INTERVAL))
    }

    /// Whether a server of a user has begun to stop because it is not used.
    pub(super) fn has_left(&self) -> bool {
        self.owner.is_some() && self.lock().peer.is_none()
    }

    /// Begins to stop the server if it was not used since `since`; returns whether it stops.
    fn stop_unless_used_since(&self, since: Instant) -> bool {
        let mut data = self.lock();
        let Some(peer) = &data.peer else { return false };
        if data.usage.requests > 0 || data.usage.last_used > since {
            return false;
        }
        if peer.has_open_questions() {
            data.usage.last_used = Instant::now();
            return false;
        }
        data.peer = None;
        data.state = ServerState::Idle;
        data.usage.may_start = true;
        self.is_needed.send_replace(false);
        self.is_up.send_replace(false);
        drop(data);
        info!(
            target: LIFECYCLE_LOG_TARGET, server = %self.config.name,
            user = self.options.user_field(), "stopped, because it is not used"
        );
        self.changed.notify_one();
        self.is_unused.notify_one();
        true
    }

    /// Marks a server as not started, because there is no place for it.
    fn become_refused(&self, error: ProcessLimitReached) {
        let reason = error.to_string();
        self.become_failed(&reason, "", FailureKind::Other, NextStart::WhenNeeded);
        self.lock().usage.may_start = true;
    }

    /// Lets the next request start a server that has failed, unless one has asked for it already.
    fn become_startable(&self) {
        let mut data = self.lock();
        if self.is_needed() {
            return;
        }
        data.usage.may_start = true;
        if let ServerState::Failed { next_start: next @ NextStart::At(_), .. } = &mut data.state {
            *next = NextStart::WhenNeeded;
        }
    }
}

/// Whether a server of a user waits for a login: a request alone cannot change that.
fn is_logged_out(state: &ServerState) -> bool {
    matches!(state, ServerState::Failed { next_start: NextStart::AfterLogin, .. })
}

/// Sleeps until `then`, or for ever.
async fn sleep_until_some(then: Option<Instant>) {
    match then {
        Some(then) => sleep_until(then.into()).await,
        None => std::future::pending().await,
    }
}

impl PlaceHolder for Server {
    fn unused_since(&self) -> Option<Instant> {
        let data = self.lock();
        let is_unused = data.peer.as_ref().is_some_and(|peer| !peer.has_open_questions())
            && data.usage.requests == 0;
        is_unused.then_some(data.usage.last_used)
    }

    fn stop_if_unused(&self) -> bool {
        let since = self.lock().usage.last_used;
        self.stop_unless_used_since(since)
    }
}
