//! The state changes of a server. Each change is made, logged and announced here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_catalog::ToolDefinition;
use onecall_config::Transport;
use onecall_core::text::one_line;
use onecall_login::Login;
use tracing::{debug, info, warn};

use super::access::NEEDS_CREDENTIALS;
use super::lifecycle::RunEnd;
use super::{Server, StopReason};
use crate::protocol::handshake::{HandshakeResult, KnownMode};
use crate::protocol::header_parameters::HeaderParameters;
use crate::protocol::listing::ToolListing;
use crate::protocol::peer::Peer;
use crate::protocol::request::ProtocolMode;
use crate::protocol::server_events::ServerEventKind;
use crate::supervision::status::{
    AVAILABILITY_LOG_TARGET, FailureKind, LIFECYCLE_LOG_TARGET, NextStart, ServerState,
};

/// How long to wait before a server that requires a login is tried again: it may no longer require
/// one.
const LOGIN_RETRY_DELAY: Duration = Duration::from_secs(60);

/// How long requests fail at once after a server of a user required a login. Then the next request tries
/// it again: the user may have logged in.
const USER_LOGIN_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The longest reason that is shown, in characters, because a server may have written part of it.
pub(super) const MAX_REASON: usize = 2_000;

impl Server {
    pub(super) fn become_ready(
        &self,
        handshake_result: HandshakeResult,
        peer: &Arc<Peer>,
        took: Duration,
    ) {
        let HandshakeResult { server_name, server_version, protocol, offers, listed } =
            handshake_result;
        let (display_metadata, cut) =
            (self.kept_display_metadata(listed.display_metadata), listed.cut);
        let (tools, parameters) = self.with_parameters(listed.tools, peer);
        info!(
            server = %self.config.name, user = self.options.user_field(), tools = tools.len(),
            took = ?took,
            "connected to {server_name} {server_version}"
        );
        let admitted = self.admit(tools);
        let mut data = self.lock();
        let tools = admitted.tools.len();
        data.state = ServerState::Ready { server_name, server_version, protocol, tools, took };
        data.set_listing(admitted);
        data.display_metadata = display_metadata;
        data.parameters = parameters;
        data.cut = cut;
        data.offers = offers;
        data.known_mode = match peer.protocol_mode() {
            ProtocolMode::Handshake => KnownMode::Handshake,
            ProtocolMode::Stateless => KnownMode::Stateless,
        };
        data.peer = Some(Arc::clone(peer));
        data.usage.last_used = Instant::now();
        drop(data);
        self.is_up.send_replace(true);
        self.changed.notify_one();
        // What the server lists now may differ from what it listed before.
        peer.announce(ServerEventKind::Resources);
        peer.announce(ServerEventKind::Prompts);
    }

    pub(super) fn update_tools(&self, listed: ToolListing, peer: &Peer) {
        let (display_metadata, cut) =
            (self.kept_display_metadata(listed.display_metadata), listed.cut);
        let (listed, parameters) = self.with_parameters(listed.tools, peer);
        let admitted = self.admit(listed);
        let mut data = self.lock();
        data.set_listing(admitted);
        data.display_metadata = display_metadata;
        data.parameters = parameters;
        data.cut = cut;
        drop(data);
        self.changed.notify_one();
    }

    /// Finds the arguments that are repeated in headers. A tool with invalid marks is left out, as
    /// the protocol demands.
    fn with_parameters(
        &self,
        tools: Vec<ToolDefinition>,
        peer: &Peer,
    ) -> (Vec<ToolDefinition>, Option<Arc<HeaderParameters>>) {
        let has_headers = !matches!(self.config.transport, Transport::Stdio(_));
        if !has_headers || peer.protocol_mode() != ProtocolMode::Stateless {
            return (tools, None);
        }
        let mut parameters = HeaderParameters::default();
        let is_valid = |tool: &ToolDefinition| match parameters.add(tool) {
            Ok(()) => true,
            Err(why) => {
                let name = one_line(tool.tool.as_str(), 100);
                warn!(
                    server = %self.config.name, user = self.options.user_field(),
                    "onecall leaves out the tool '{name}': {why}"
                );
                false
            }
        };
        let tools = tools.into_iter().filter(is_valid).collect();
        (tools, parameters.into_shared())
    }

    pub(super) fn become_logged_out(&self, login: &Login) -> RunEnd {
        if self.owner.is_some() {
            return self.become_without_access();
        }
        self.become_failed(&login.advice(), "", FailureKind::LoggedOut, NextStart::AfterLogin);
        RunEnd::Down { next_start: Instant::now() + LOGIN_RETRY_DELAY }
    }

    /// Marks a server of a user as unusable until the user logs in. What the user has to do is not
    /// part of the state: see `access`.
    pub(super) fn become_without_access(&self) -> RunEnd {
        let (kind, next_start) = (FailureKind::LoggedOut, NextStart::AfterLogin);
        self.become_failed(NEEDS_CREDENTIALS, "", kind, next_start);
        RunEnd::Down { next_start: Instant::now() + USER_LOGIN_RETRY_DELAY }
    }

    pub(super) fn become_failed(
        &self,
        reason: &str,
        stderr_tail: &str,
        failure_kind: FailureKind,
        next_start: NextStart,
    ) {
        let (reason, stderr_tail) =
            (one_line(reason, MAX_REASON), one_line(stderr_tail, MAX_REASON));
        let mut data = self.lock();
        if self.owner.is_some() {
            // A later request says whether the server is needed again.
            self.is_needed.send_replace(false);
        }
        let is_new =
            !matches!(&data.state, ServerState::Failed { reason: old, .. } if *old == reason);
        let (server, user) = (&self.config.name, self.options.user_field());
        let outlook = match next_start {
            NextStart::At(then) if self.promises_restart() => {
                format!("; onecall starts it again in {} s", seconds_until(then))
            }
            _ => String::new(),
        };
        warn!(target: LIFECYCLE_LOG_TARGET, %server, user, "not available: {reason}{outlook}");
        if is_new {
            warn!(
                target: AVAILABILITY_LOG_TARGET, %server, user,
                "the server is not available: {reason}{stderr_tail}{outlook}"
            );
        } else {
            debug!(
                target: AVAILABILITY_LOG_TARGET, %server, user,
                "the server is still not available{outlook}"
            );
        }
        data.state = ServerState::Failed { reason, stderr_tail, failure_kind, next_start };
        data.peer = None;
        drop(data);
        self.is_up.send_replace(false);
        self.changed.notify_one();
    }

    /// Marks a failed server as restarting. The reason of the failure is kept until it is up.
    pub(super) fn become_restarting(&self) {
        let data = &mut *self.lock();
        if let ServerState::Failed { next_start, failure_kind, .. } = &mut data.state {
            // A server that waits for a login is only asked again.
            data.restarts += u64::from(*failure_kind != FailureKind::LoggedOut);
            if matches!(next_start, NextStart::At(_)) {
                *next_start = NextStart::Now;
            }
        }
    }

    /// Whether the server starts again after a failure, so that messages may say when. A server of a
    /// user starts again only if it is needed.
    pub(super) fn promises_restart(&self) -> bool {
        self.options.start.promises_restart() && (self.owner.is_none() || self.is_needed())
    }

    pub(super) fn become_stopped(&self, why: StopReason) {
        let mut data = self.lock();
        if let ServerState::Failed { next_start, .. } = &mut data.state {
            *next_start = NextStart::Never;
        } else {
            data.state = ServerState::Failed {
                reason: why.status_phrase().to_owned(),
                stderr_tail: String::new(),
                failure_kind: FailureKind::Other,
                next_start: NextStart::Never,
            };
        }
        let is_first = data.stopped == StopReason::NotStopping;
        data.stopped = why;
        data.peer = None;
        drop(data);
        if is_first && self.is_needed() {
            info!(
                target: LIFECYCLE_LOG_TARGET, server = %self.config.name,
                user = self.options.user_field(), "{}", why.status_phrase()
            );
        }
        self.is_up.send_replace(false);
        self.changed.notify_one();
    }
}

/// The time until `then` in whole seconds, at least one.
pub(super) fn seconds_until(then: Instant) -> u64 {
    let wait = then.saturating_duration_since(Instant::now());
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}
