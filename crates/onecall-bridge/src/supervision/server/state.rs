//! The state changes of a server. Each change is made, logged and announced here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_catalog::ToolDefinition;
use onecall_config::Transport;
use onecall_core::text::plain;
use onecall_login::Login;
use tracing::{debug, info, warn};

use super::life::Ended;
use super::{Server, Stop};
use crate::protocol::handshake::Greeting;
use crate::protocol::listing::Listed;
use crate::protocol::parameters::Parameters;
use crate::protocol::peer::Peer;
use crate::protocol::request::Era;
use crate::supervision::status::{
    AVAILABILITY_LOG_TARGET, LIFE_LOG_TARGET, NextStart, ServerState, Trouble,
};

/// How long to wait before a server that requires a login is tried again: it may no longer require
/// one.
const LOGIN_PAUSE: Duration = Duration::from_secs(60);

/// The longest reason that is shown, in characters, because a server may have written part of it.
pub(super) const MAX_REASON: usize = 2_000;

impl Server {
    pub(super) fn become_ready(&self, greeting: Greeting, peer: &Arc<Peer>, took: Duration) {
        let Greeting { server_name, server_version, protocol, listed, .. } = greeting;
        let (faces, cut) = (self.faces(listed.faces), listed.cut);
        let (tools, parameters) = self.with_parameters(listed.tools, peer);
        info!(
            server = %self.config.name, tools = tools.len(), took = ?took,
            "connected to {server_name} {server_version}"
        );
        let admitted = self.admit(tools);
        let mut now = self.lock();
        let tools = admitted.tools.len();
        now.state = ServerState::Ready { server_name, server_version, protocol, tools, took };
        now.take_in(admitted);
        now.faces = faces;
        now.parameters = parameters;
        now.cut = cut;
        now.peer = Some(Arc::clone(peer));
        drop(now);
        self.is_up.send_replace(true);
        self.changed.notify_one();
    }

    pub(super) fn update_tools(&self, listed: Listed, peer: &Peer) {
        let (faces, cut) = (self.faces(listed.faces), listed.cut);
        let (listed, parameters) = self.with_parameters(listed.tools, peer);
        let admitted = self.admit(listed);
        let mut now = self.lock();
        now.take_in(admitted);
        now.faces = faces;
        now.parameters = parameters;
        now.cut = cut;
        drop(now);
        self.changed.notify_one();
    }

    /// Finds the arguments that are repeated in headers. A tool with invalid marks is left out, as
    /// the protocol demands.
    fn with_parameters(
        &self,
        tools: Vec<ToolDefinition>,
        peer: &Peer,
    ) -> (Vec<ToolDefinition>, Option<Arc<Parameters>>) {
        let has_headers = !matches!(self.config.transport, Transport::Stdio(_));
        if !has_headers || peer.era() != Era::Stateless {
            return (tools, None);
        }
        let mut parameters = Parameters::default();
        let is_valid = |tool: &ToolDefinition| match parameters.add(tool) {
            Ok(()) => true,
            Err(why) => {
                let name = plain(tool.tool.as_str(), 100);
                warn!(server = %self.config.name, "the tool '{name}' was left out: {why}");
                false
            }
        };
        let tools = tools.into_iter().filter(is_valid).collect();
        (tools, parameters.into_shared())
    }

    pub(super) fn become_logged_out(&self, login: &Login) -> Ended {
        self.become_failed(&login.advice(), "", Trouble::LoggedOut, NextStart::AfterLogin);
        Ended::Down { next_start: Instant::now() + LOGIN_PAUSE }
    }

    pub(super) fn become_failed(
        &self,
        reason: &str,
        last_words: &str,
        trouble: Trouble,
        next_start: NextStart,
    ) {
        let (reason, last_words) = (plain(reason, MAX_REASON), plain(last_words, MAX_REASON));
        let mut now = self.lock();
        let is_news =
            !matches!(&now.state, ServerState::Failed { reason: old, .. } if *old == reason);
        let server = &self.config.name;
        let outlook = match next_start {
            NextStart::At(then) if self.setting.start.promises_restart() => {
                format!("; it is started again in {} s", seconds_until(then))
            }
            _ => String::new(),
        };
        warn!(target: LIFE_LOG_TARGET, %server, "not available: {reason}{outlook}");
        if is_news {
            warn!(
                target: AVAILABILITY_LOG_TARGET, %server,
                "the server is not available: {reason}{last_words}{outlook}"
            );
        } else {
            debug!(
                target: AVAILABILITY_LOG_TARGET, %server,
                "the server is still not available{outlook}"
            );
        }
        now.state = ServerState::Failed { reason, last_words, trouble, next_start };
        now.peer = None;
        drop(now);
        self.is_up.send_replace(false);
        self.changed.notify_one();
    }

    /// Marks a failed server as restarting. The reason of the failure is kept until it is up.
    pub(super) fn become_restarting(&self) {
        if let ServerState::Failed { next_start: next @ NextStart::At(_), .. } =
            &mut self.lock().state
        {
            *next = NextStart::Now;
        }
    }

    pub(super) fn become_stopped(&self, why: Stop) {
        let mut now = self.lock();
        if let ServerState::Failed { next_start, .. } = &mut now.state {
            *next_start = NextStart::Never;
        } else {
            now.state = ServerState::Failed {
                reason: why.farewell().to_owned(),
                last_words: String::new(),
                trouble: Trouble::Other,
                next_start: NextStart::Never,
            };
        }
        let is_first = now.stopped == Stop::No;
        now.stopped = why;
        now.peer = None;
        drop(now);
        if is_first && self.is_needed() {
            info!(target: LIFE_LOG_TARGET, server = %self.config.name, "{}", why.farewell());
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
