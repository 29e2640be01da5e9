//! What clients have asked of a server beyond single requests: the resources that they watch, and the
//! log messages that they want. A server that was restarted, or has lost its session, is asked again.

use std::time::Duration;

use onecall_core::LogLevel;
use tokio::time::timeout;
use tracing::debug;

use super::Server;
use crate::protocol::peer::Peer;
use crate::protocol::request::{ProtocolMode, Request};
use crate::protocol::resources::ResourceRequestError;

/// How many different resources of one server clients may watch.
const MAX_WATCHED: usize = 1_000;

/// How long a subscription waits for a server without a handshake to acknowledge it.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);

impl Server {
    /// Subscribes a client to the changes of a resource. Changes from now on are announced.
    pub async fn subscribe(&self, uri: &str) -> Result<(), ResourceRequestError> {
        let (is_new, watched) = {
            let watched = self.watched.borrow();
            (!watched.contains_key(uri), watched.len())
        };
        if is_new && watched >= MAX_WATCHED {
            return Err(ResourceRequestError::TooManySubscriptions);
        }
        let mode = if is_new { Some(self.connected_mode().await?) } else { None };
        if mode == Some(ProtocolMode::Handshake) {
            let subscribed = self.request_if_supported(Request::Subscribe { uri }, |_| ()).await?;
            subscribed.ok_or(ResourceRequestError::NoSubscriptions)?;
        }
        let mut settled = self.settled.subscribe();
        self.watched.send_modify(|watched| *watched.entry(uri.to_owned()).or_default() += 1);
        if mode == Some(ProtocolMode::Stateless) {
            let has_it = |uris: &Vec<String>| uris.iter().any(|it| it == uri);
            // A server that does not answer in time may still announce changes.
            _ = timeout(SETTLE_TIMEOUT, settled.wait_for(has_it)).await;
        }
        Ok(())
    }

    /// Ends the subscription of one client to the changes of a resource.
    pub async fn unsubscribe(&self, uri: &str) {
        let mut is_last = false;
        self.watched.send_if_modified(|watched| {
            let Some(count) = watched.get_mut(uri) else { return false };
            *count = count.saturating_sub(1);
            is_last = *count == 0;
            if is_last {
                watched.remove(uri);
            }
            is_last
        });
        let peer = self.lock().peer.clone();
        if let Some(peer) = peer.filter(|_| is_last)
            && peer.protocol_mode() == ProtocolMode::Handshake
        {
            let request = Request::Unsubscribe { uri };
            if let Err(error) = peer.request(request, self.config.call_timeout, |_| ()).await {
                debug!(server = %self.config.name, %error, "a subscription was not ended");
            }
        }
    }

    /// Makes the server send log messages of this level, unless it sends less severe ones already:
    /// each client gets only those that it wants.
    pub async fn want_log_messages(&self, level: LogLevel) {
        let (peer, offers) = {
            let mut data = self.lock();
            if data.log_level.is_some_and(|present| present <= level) {
                return;
            }
            data.log_level = Some(level);
            (data.peer.clone(), data.offers)
        };
        if let Some(peer) = peer.filter(|_| offers.log_messages) {
            self.set_log_level(&peer, level).await;
        }
    }

    /// Repeats to a server that has just connected what clients have asked of it.
    pub(super) async fn restore_client_state(&self, peer: &Peer) {
        if peer.protocol_mode() != ProtocolMode::Handshake {
            return;
        }
        let (level, offers) = {
            let data = self.lock();
            (data.log_level, data.offers)
        };
        if let Some(level) = level.filter(|_| offers.log_messages) {
            self.set_log_level(peer, level).await;
        }
        let watched: Vec<String> = self.watched.borrow().keys().cloned().collect();
        for uri in watched {
            let request = Request::Subscribe { uri: &uri };
            if let Err(error) = peer.request(request, self.config.call_timeout, |_| ()).await {
                debug!(server = %self.config.name, %error, "a subscription was not renewed");
            }
        }
    }

    async fn set_log_level(&self, peer: &Peer, level: LogLevel) {
        if peer.protocol_mode() != ProtocolMode::Handshake {
            return;
        }
        let request = Request::SetLogLevel { level };
        if let Err(error) = peer.request(request, self.config.call_timeout, |_| ()).await {
            debug!(server = %self.config.name, %error, "the level of log messages was not set");
        }
    }
}
