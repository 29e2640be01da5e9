//! Subscriptions to tool changes. A server without a handshake sends such notifications only while
//! a client keeps a request for them open.

use std::time::{Duration, Instant};

use onecall_core::text::plain;
use tokio::time::timeout;
use tracing::debug;

use crate::error::RequestError;
use crate::protocol::peer::Peer;
use crate::protocol::request::Request;

/// The pause before the request is repeated; it doubles each time the request ends early.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// A request that stayed open this long resets the pause.
const STEADY: Duration = Duration::from_secs(10);

/// How long one request is kept open. It is renewed because a dead connection cannot be
/// distinguished from one without notifications.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Keeps a subscription request open. Never returns. The peer handles the notifications.
pub(crate) async fn keep<T>(peer: &Peer) -> T {
    let mut pause = PAUSE;
    loop {
        let started = Instant::now();
        match timeout(LONGEST, peer.request(Request::Listen, None, |_| ())).await {
            Ok(Err(RequestError::Refused { message, .. })) => {
                let message = plain(&message, 200);
                debug!(message, "the server does not tell about changes after all");
                return std::future::pending().await;
            }
            Ok(Err(error)) => debug!(%error, "the server stopped telling about changes"),
            Ok(Ok(())) => debug!("the server stopped telling about changes"),
            Err(_) => debug!("the server is asked anew to tell about changes"),
        }
        if started.elapsed() >= STEADY {
            pause = PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
