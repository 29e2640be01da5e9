//! The main loop of a server: it is started over a transport that it supports, kept running, and
//! restarted when it ends, until it is stopped.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_config::Transport;
use onecall_core::text::one_line;
use onecall_login::Login;
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until, timeout};
use tracing::{info, warn};

use super::install::{self, FirstStart};
use super::state::MAX_REASON;
use super::{Server, StopReason, routes};
use crate::error::StartError;
use crate::protocol::handshake::{self, HandshakeResult, KnownMode, ServerOffers};
use crate::protocol::peer::Peer;
use crate::protocol::request::ProtocolMode;
use crate::protocol::{listing, subscription};
use crate::supervision::backoff::Backoff;
use crate::supervision::demand::ServerStart;
use crate::supervision::downloads::start_timeout;
use crate::supervision::guard::Guard;
use crate::supervision::status::{FailureKind, LIFECYCLE_LOG_TARGET, NextStart, ServerState};
use crate::transport::connection::{Connection, Route};

/// The minimum time between two requests for a changed tool list, however often the server
/// announces changes.
const REFRESH_PAUSE: Duration = Duration::from_millis(500);

/// How a run of a server ended.
pub(super) enum RunEnd {
    Down {
        next_start: Instant,
    },
    /// The server of a user was not used, or another server needs its place.
    Unused,
    Stopped,
}

impl Server {
    /// Runs the server, and restarts it whenever it ends, until `stop` is set; returns when it has
    /// exited.
    pub async fn supervise(self: &Arc<Self>, guard: Guard, mut stop: watch::Receiver<StopReason>) {
        if let Some(owner) = &self.owner {
            return self.supervise_on_demand(owner, guard, stop).await;
        }
        if let Some(reason) = self.unresolved_reason() {
            // A command that does not need the server should not report its problem.
            if self.options.start == ServerStart::OnDemand {
                tokio::select! {
                    () = self.wait_until_needed() => {}
                    why = wait_for_stop(&mut stop) => return self.become_stopped(why),
                }
            }
            self.become_failed(&reason, "", FailureKind::Unresolved, NextStart::AfterReload);
            return self.become_stopped(wait_for_stop(&mut stop).await);
        }
        tokio::select! {
            () = self.wait_until_needed() => {}
            why = wait_for_stop(&mut stop) => return self.become_stopped(why),
        }
        let mut backoff = Backoff::new();
        while let RunEnd::Down { next_start } = self.start(&guard, &mut backoff, &mut stop).await {
            tokio::select! {
                () = sleep_until(next_start.into()) => {}
                () = self.wait_for_login() => {}
                _ = wait_for_stop(&mut stop) => break,
            }
            self.become_restarting();
        }
        self.become_stopped(wait_for_stop(&mut stop).await);
    }

    /// Why the server cannot be started with this entry.
    fn unresolved_reason(&self) -> Option<String> {
        match &self.config.transport {
            Transport::Unresolved(unresolved) => Some(unresolved.to_string()),
            // Without them it would run with no credentials, or with those of another user.
            _ if self.config.is_per_user() => {
                Some("it needs the credentials of a user, and was started for no user".to_owned())
            }
            _ => None,
        }
    }

    pub(super) async fn wait_until_needed(&self) {
        // This object holds the sender, so there is no error.
        let _ = self.is_needed.subscribe().wait_for(|is_needed| *is_needed).await;
        self.announce_install();
    }

    /// Starts the server over a transport that it supports; returns when it has ended.
    pub(super) async fn start(
        &self,
        guard: &Guard,
        backoff: &mut Backoff,
        stop: &mut watch::Receiver<StopReason>,
    ) -> RunEnd {
        let Some((route, fallback)) = routes(&self.config.transport) else {
            return RunEnd::Stopped;
        };
        let first = match self.run(route, guard.clone(), backoff, stop).await {
            Ok(ended) => return ended,
            Err(error) => error,
        };
        let may_fall_back = match &self.config.transport {
            Transport::Either { .. } => first.may_be_other_address(),
            _ => first.may_be_older_transport(),
        };
        let error = match fallback.filter(|_| may_fall_back) {
            None => first,
            Some(route) => match self.run(route, guard.clone(), backoff, stop).await {
                Ok(ended) => return ended,
                Err(second) => self.both_failed_error(first, second),
            },
        };
        if let Some(login) = self.login.as_ref().filter(|_| error.needs_login()) {
            return self.become_logged_out(login);
        }
        if self.owner.is_some() && error.failure_kind() == FailureKind::LoggedOut {
            return self.become_without_access();
        }
        let next_start = Instant::now() + backoff.delay_after(Duration::ZERO);
        let (reason, stderr_tail) = (error.to_string(), error.stderr_tail());
        self.become_failed(&reason, stderr_tail, error.failure_kind(), NextStart::At(next_start));
        RunEnd::Down { next_start }
    }

    /// The error of a server that could not be reached over either of its transports.
    fn both_failed_error(&self, first: StartError, second: StartError) -> StartError {
        let (first, second) = (Box::new(first), Box::new(second));
        match &self.config.transport {
            Transport::Either { http, sse } => {
                let urls = [http.url.clone(), sse.url.clone()];
                StartError::NeitherAddress { urls, first, second }
            }
            _ => StartError::NeitherTransport { first, second },
        }
    }

    /// Runs the server until it ends or `stop` is set; returns an error if it did not become
    /// usable.
    async fn run(
        &self,
        route: Route<'_>,
        guard: Guard,
        backoff: &mut Backoff,
        stop: &mut watch::Receiver<StopReason>,
    ) -> Result<RunEnd, StartError> {
        self.lock().transport = route.label();
        // This may be the second transport that is tried.
        self.set_ending(false);
        if let Some(login) = &self.login {
            login.reset();
        }
        let install = tokio::select! {
            install = FirstStart::acquire(&self.config, &self.options) => install,
            why = wait_for_stop(stop) => {
                self.become_stopped(why);
                return Ok(RunEnd::Stopped);
            }
        };
        let (name, login) = (&self.config.name, self.login.clone());
        let mut connection = Connection::start(name, route, login, guard, &self.options)?;
        info!(
            target: LIFECYCLE_LOG_TARGET, server = %name, user = self.options.user_field(),
            "{}", connection.start_description()
        );
        let peer = Arc::clone(connection.peer());
        let outcome = tokio::select! {
            outcome = self.serve(&mut connection, install, backoff) => outcome,
            outcome = peer.answer_questions(self.config.call_timeout) => outcome,
            why = wait_for_stop(stop) => {
                self.become_stopped(why);
                Ok(RunEnd::Stopped)
            }
        };
        peer.close(&format!("server '{}' {}", self.config.name, stop.borrow().status_phrase()));
        self.set_ending(true);
        connection.stop().await;
        outcome
    }

    /// Performs the handshake and keeps the server running until it ends.
    async fn serve(
        &self,
        connection: &mut Connection,
        install: Option<FirstStart>,
        backoff: &mut Backoff,
    ) -> Result<RunEnd, StartError> {
        let started = Instant::now();
        let peer = Arc::clone(connection.peer());
        let handshake_result = self.perform_handshake(connection, install).await?;
        let offers = handshake_result.offers;
        self.prepare_pins(&handshake_result.listed.tools).await;
        self.become_ready(handshake_result, &peer, started.elapsed());
        let ready = Instant::now();
        let ending = tokio::select! {
            ending = connection.ended() => ending,
            ending = self.refresh_tools_forever(&peer) => ending,
            ending = self.renew_session_forever(&peer) => ending,
            ending = self.keep_client_state(&peer, offers) => ending,
            ending = peer.enforce_deadlines() => ending,
            () = self.until_unused() => return Ok(RunEnd::Unused),
            login = self.login_required() => {
                if self.has_left() {
                    return Ok(RunEnd::Unused);
                }
                let ended = self.become_logged_out(login);
                peer.close(&self.unavailable_message());
                return Ok(ended);
            }
        };
        // A request may wait for the next start already, which must not end as a failure.
        if self.has_left() {
            return Ok(RunEnd::Unused);
        }
        let next_start = Instant::now() + backoff.delay_after(ready.elapsed());
        // The state changes first, so that the errors of lost calls can say when the server
        // restarts.
        let (stderr_tail, next) = (connection.stderr_tail(), NextStart::At(next_start));
        self.become_failed(&ending, &stderr_tail, FailureKind::Ended, next);
        peer.close(&format!("server '{}' {ending}", self.config.name));
        Ok(RunEnd::Down { next_start })
    }

    async fn perform_handshake(
        &self,
        connection: &mut Connection,
        install: Option<FirstStart>,
    ) -> Result<HandshakeResult, StartError> {
        let peer = Arc::clone(connection.peer());
        let (download, permit) = FirstStart::into_parts(install);
        let limit = start_timeout(&self.config, download.as_ref());
        let known = self.take_known_mode();
        let completed = tokio::select! {
            handshake_result = timeout(limit, handshake::perform(&peer, &self.config.name, known)) => {
                let timeout_error =
                    |_| Err(StartError::TimedOut { limit, stderr_tail: connection.stderr_tail() });
                handshake_result.unwrap_or_else(timeout_error)
            }
            ending = connection.ended() => {
                Err(StartError::Ended { ending, stderr_tail: connection.stderr_tail() })
            }
            never = install::release_after_delay(permit) => never,
        };
        if let (Ok(_), Some(download)) = (&completed, &download) {
            self.options.downloads.remember(download);
        }
        completed
    }

    /// What is known about the server's first request. That it answers discovery is forgotten until it
    /// has done so again: a newer version of a server on stdio may end at that request.
    fn take_known_mode(&self) -> KnownMode {
        let mut data = self.lock();
        match data.known_mode {
            KnownMode::Stateless => mem::replace(&mut data.known_mode, KnownMode::Unknown),
            known => known,
        }
    }

    /// Returns when the server has become unusable until the user logs in.
    async fn login_required(&self) -> &Arc<Login> {
        match &self.login {
            Some(login) => {
                login.login_required().await;
                login
            }
            None => std::future::pending().await,
        }
    }

    /// Whether the server is waiting for the user to log in.
    pub fn waits_for_login(&self) -> bool {
        let state = &self.lock().state;
        matches!(state, ServerState::Failed { next_start: NextStart::AfterLogin, .. })
    }

    /// Returns when the user has logged in to a server that waits for it.
    pub(super) async fn wait_for_login(&self) {
        match self.login.as_ref().filter(|_| self.waits_for_login()) {
            Some(login) => login.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Keeps what clients have asked of the server beyond single requests. Never returns.
    async fn keep_client_state<T>(&self, peer: &Peer, offers: ServerOffers) -> T {
        match peer.protocol_mode() {
            ProtocolMode::Stateless => {
                let watched = self.watched.subscribe();
                subscription::keep_open(peer, offers, watched, &self.settled).await
            }
            ProtocolMode::Handshake => {
                self.restore_client_state(peer).await;
                std::future::pending().await
            }
        }
    }

    /// Repeats the handshake whenever the server has lost the session.
    async fn renew_session_forever<T>(&self, peer: &Peer) -> T {
        let (server, user) = (&self.config.name, self.options.user_field());
        loop {
            peer.session_lost().await;
            let limit = self.config.connect_timeout_or_default();
            let renewal = handshake::perform(peer, server, KnownMode::Handshake);
            let handshake_result = timeout(limit, renewal).await;
            match handshake_result.unwrap_or_else(|_| Err(timeout_error(limit))) {
                Ok(handshake_result) => {
                    info!(%server, user, "the server lost the session; onecall opened a new one");
                    self.prepare_pins(&handshake_result.listed.tools).await;
                    self.update_tools(handshake_result.listed, peer);
                    self.restore_client_state(peer).await;
                }
                Err(error) => {
                    warn!(%server, user, "the server lost the session, and onecall could not open a new one: {error}");
                    peer.handshake_finished(Err(&one_line(&error.to_string(), MAX_REASON)));
                }
            }
        }
    }

    /// Lists the tools again whenever the server announces a change.
    async fn refresh_tools_forever<T>(&self, peer: &Peer) -> T {
        let (server, user) = (&self.config.name, self.options.user_field());
        loop {
            peer.tools_changed().await;
            let limit = self.config.connect_timeout_or_default();
            let listed = timeout(limit, listing::list(peer, server)).await;
            match listed.unwrap_or_else(|_| Err(timeout_error(limit))) {
                Ok(listed) => {
                    self.prepare_pins(&listed.tools).await;
                    self.update_tools(listed, peer);
                }
                Err(error) => {
                    warn!(%server, user, "cannot list the server's changed tools: {error}")
                }
            }
            sleep(REFRESH_PAUSE).await;
        }
    }
}

/// The timeout error of a server that is up; its stderr goes to the log and is not repeated here.
fn timeout_error(limit: Duration) -> StartError {
    StartError::TimedOut { limit, stderr_tail: String::new() }
}

/// Returns when the server is to stop, or when the sender was dropped.
pub(super) async fn wait_for_stop(stop: &mut watch::Receiver<StopReason>) -> StopReason {
    stop.wait_for(|stop| *stop != StopReason::NotStopping)
        .await
        .map_or(StopReason::Shutdown, |stop| *stop)
}
