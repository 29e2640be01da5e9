//! Subscriptions to tool changes. A server without a handshake sends such notifications only while
//! a client keeps a request for them open.

use std::time::{Duration, Instant};

use onecall_core::text::one_line;
use tokio::time::timeout;
use tracing::debug;

use crate::error::RequestError;
use crate::protocol::peer::Peer;
use crate::protocol::request::Request;

/// The pause before the request is repeated; it doubles each time the request ends early.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// A request that stayed open this long resets the pause.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// How long one request is kept open. It is renewed because a dead connection cannot be
/// distinguished from one without notifications.
const MAX_OPEN_TIME: Duration = Duration::from_secs(30 * 60);

/// Keeps a subscription request open. Never returns. The peer handles the notifications.
pub(crate) async fn keep_open<T>(peer: &Peer) -> T {
    let mut pause = FIRST_PAUSE;
    loop {
        let started = Instant::now();
        match timeout(MAX_OPEN_TIME, peer.request(Request::Listen, None, |_| ())).await {
            Ok(Err(RequestError::Refused { message, .. })) => {
                let message = one_line(&message, 200);
                debug!(message, "the server refuses to send notifications of changes");
                return std::future::pending().await;
            }
            Ok(Err(error)) => debug!(%error, "the server stopped sending notifications of changes"),
            Ok(Ok(())) => debug!("the server stopped sending notifications of changes"),
            Err(_) => debug!("subscribing again to the server's notifications of changes"),
        }
        if started.elapsed() >= STABLE_AFTER {
            pause = FIRST_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
