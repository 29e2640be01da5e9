//! The main loop of a server: it is started over a transport that it supports, kept running, and
//! restarted when it ends, until it is stopped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_config::Transport;
use onecall_core::text::plain;
use onecall_login::Login;
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until, timeout};
use tracing::{info, warn};

use super::install::{self, Install};
use super::state::MAX_REASON;
use super::{Server, Stop, routes};
use crate::error::StartError;
use crate::protocol::handshake::{self, Greeting};
use crate::protocol::peer::Peer;
use crate::protocol::{listing, subscription};
use crate::supervision::backoff::Backoff;
use crate::supervision::demand::ServerStart;
use crate::supervision::downloads::start_timeout;
use crate::supervision::guard::Guard;
use crate::supervision::status::{LIFE_LOG_TARGET, NextStart, ServerState, Trouble};
use crate::transport::connection::{Connection, Route};

/// The minimum time between two requests for a changed tool list, however often the server
/// announces changes.
const REFRESH_PAUSE: Duration = Duration::from_millis(500);

/// How a run of a server ended.
pub(super) enum Ended {
    Down { next_start: Instant },
    Stopped,
}

impl Server {
    /// Runs the server, and restarts it whenever it ends, until `stop` is set; returns when it has
    /// exited.
    pub async fn live(&self, guard: Guard, mut stop: watch::Receiver<Stop>) {
        if let Transport::Unresolved(unresolved) = &self.config.transport {
            // A command that does not need the server should not report its problem.
            if self.setting.start == ServerStart::OnDemand {
                tokio::select! {
                    () = self.needed() => {}
                    why = stopped(&mut stop) => return self.become_stopped(why),
                }
            }
            let (reason, trouble) = (unresolved.to_string(), Trouble::Unresolved);
            self.become_failed(&reason, "", trouble, NextStart::AfterReload);
            return self.become_stopped(stopped(&mut stop).await);
        }
        tokio::select! {
            () = self.needed() => {}
            why = stopped(&mut stop) => return self.become_stopped(why),
        }
        let mut backoff = Backoff::new();
        while let Ended::Down { next_start } = self.start(&guard, &mut backoff, &mut stop).await {
            tokio::select! {
                () = sleep_until(next_start.into()) => {}
                () = self.logged_in() => {}
                _ = stopped(&mut stop) => break,
            }
            self.become_restarting();
        }
        self.become_stopped(stopped(&mut stop).await);
    }

    async fn needed(&self) {
        // This object holds the sender, so there is no error.
        let _ = self.is_needed.subscribe().wait_for(|is_needed| *is_needed).await;
        self.announce_install();
    }

    /// Starts the server over a transport that it supports; returns when it has ended.
    async fn start(
        &self,
        guard: &Guard,
        backoff: &mut Backoff,
        stop: &mut watch::Receiver<Stop>,
    ) -> Ended {
        let Some((route, fallback)) = routes(&self.config.transport) else { return Ended::Stopped };
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
                Err(second) => self.neither(first, second),
            },
        };
        if let Some(login) = self.login.as_ref().filter(|_| error.needs_login()) {
            return self.become_logged_out(login);
        }
        let next_start = Instant::now() + backoff.pause_after(Duration::ZERO);
        let (reason, last_words) = (error.to_string(), error.last_words());
        self.become_failed(&reason, last_words, error.trouble(), NextStart::At(next_start));
        Ended::Down { next_start }
    }

    /// The error of a server that could not be reached over either of its transports.
    fn neither(&self, first: StartError, second: StartError) -> StartError {
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
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Ended, StartError> {
        self.lock().transport = route.label();
        if let Some(login) = &self.login {
            login.begin();
        }
        let install = tokio::select! {
            install = Install::expected_of(&self.config, &self.setting) => install,
            why = stopped(stop) => {
                self.become_stopped(why);
                return Ok(Ended::Stopped);
            }
        };
        let (name, login) = (&self.config.name, self.login.clone());
        let mut connection = Connection::start(name, route, login, guard, &self.setting)?;
        info!(target: LIFE_LOG_TARGET, server = %name, "{}", connection.beginning());
        let peer = Arc::clone(connection.peer());
        let outcome = tokio::select! {
            outcome = self.serve(&mut connection, install, backoff) => outcome,
            outcome = peer.answer_questions(self.config.call_timeout) => outcome,
            why = stopped(stop) => {
                self.become_stopped(why);
                Ok(Ended::Stopped)
            }
        };
        peer.close(&format!("server '{}' {}", self.config.name, stop.borrow().farewell()));
        connection.stop().await;
        outcome
    }

    /// Performs the handshake and keeps the server running until it ends.
    async fn serve(
        &self,
        connection: &mut Connection,
        install: Option<Install>,
        backoff: &mut Backoff,
    ) -> Result<Ended, StartError> {
        let started = Instant::now();
        let peer = Arc::clone(connection.peer());
        let greeting = self.greet(connection, install).await?;
        let announces_changes = greeting.announces_changes;
        self.become_ready(greeting, &peer, started.elapsed());
        let ready = Instant::now();
        let ending = tokio::select! {
            ending = connection.ended() => ending,
            ending = self.refresh_forever(&peer) => ending,
            ending = self.renew_forever(&peer) => ending,
            ending = subscription::keep(&peer), if announces_changes => ending,
            ending = peer.enforce_deadlines() => ending,
            login = self.login_lost() => {
                let ended = self.become_logged_out(login);
                peer.close(&self.not_running());
                return Ok(ended);
            }
        };
        let next_start = Instant::now() + backoff.pause_after(ready.elapsed());
        // The state changes first, so that the errors of lost calls can say when the server
        // restarts.
        let (last_words, next) = (connection.last_words(), NextStart::At(next_start));
        self.become_failed(&ending, &last_words, Trouble::Ended, next);
        peer.close(&format!("server '{}' {ending}", self.config.name));
        Ok(Ended::Down { next_start })
    }

    async fn greet(
        &self,
        connection: &mut Connection,
        install: Option<Install>,
    ) -> Result<Greeting, StartError> {
        let peer = Arc::clone(connection.peer());
        let (download, turn) = Install::parts(install);
        let limit = start_timeout(&self.config, download.as_ref());
        let greeted = tokio::select! {
            greeting = timeout(limit, handshake::greet(&peer, &self.config.name)) => {
                let too_late =
                    |_| Err(StartError::TimedOut { limit, last_words: connection.last_words() });
                greeting.unwrap_or_else(too_late)
            }
            ending = connection.ended() => {
                Err(StartError::Ended { ending, last_words: connection.last_words() })
            }
            never = install::pass_on(turn) => never,
        };
        if let (Ok(_), Some(download)) = (&greeted, &download) {
            self.setting.downloads.remember(download);
        }
        greeted
    }

    /// Returns when the server has become unusable until the user logs in.
    async fn login_lost(&self) -> &Arc<Login> {
        match &self.login {
            Some(login) => {
                login.lost().await;
                login
            }
            None => std::future::pending().await,
        }
    }

    /// Whether the server is waiting for the user to log in.
    fn waits_for_login(&self) -> bool {
        let state = &self.lock().state;
        matches!(state, ServerState::Failed { next_start: NextStart::AfterLogin, .. })
    }

    /// Returns when the user has logged in to a server that waits for it.
    async fn logged_in(&self) {
        match self.login.as_ref().filter(|_| self.waits_for_login()) {
            Some(login) => login.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Repeats the handshake whenever the server has lost the session.
    async fn renew_forever<T>(&self, peer: &Peer) -> T {
        let server = &self.config.name;
        loop {
            peer.forgotten().await;
            let limit = self.config.usual_connect_timeout();
            let greeting = timeout(limit, handshake::greet(peer, server)).await;
            match greeting.unwrap_or_else(|_| Err(too_late(limit))) {
                Ok(greeting) => {
                    info!(%server, "the server had forgotten us and knows us again");
                    self.update_tools(greeting.listed, peer);
                }
                Err(error) => {
                    warn!(%server, "the server has forgotten us: {error}");
                    peer.introduced(Err(&plain(&error.to_string(), MAX_REASON)));
                }
            }
        }
    }

    /// Lists the tools again whenever the server announces a change.
    async fn refresh_forever<T>(&self, peer: &Peer) -> T {
        let server = &self.config.name;
        loop {
            peer.tools_changed().await;
            let limit = self.config.usual_connect_timeout();
            let listed = timeout(limit, listing::list(peer, server)).await;
            match listed.unwrap_or_else(|_| Err(too_late(limit))) {
                Ok(listed) => self.update_tools(listed, peer),
                Err(error) => warn!(%server, "the changed tools could not be listed: {error}"),
            }
            sleep(REFRESH_PAUSE).await;
        }
    }
}

/// The timeout error of a server that is up; its stderr goes to the log and is not repeated here.
fn too_late(limit: Duration) -> StartError {
    StartError::TimedOut { limit, last_words: String::new() }
}

/// Returns when the server is to stop, or when the sender was dropped.
async fn stopped(stop: &mut watch::Receiver<Stop>) -> Stop {
    stop.wait_for(|stop| *stop != Stop::No).await.map_or(Stop::Shutdown, |stop| *stop)
}
