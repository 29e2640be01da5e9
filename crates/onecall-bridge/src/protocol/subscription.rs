//! Subscriptions to notifications. A server without a handshake sends notifications that belong to no
//! call only while a client keeps a request for them open.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onecall_core::text::one_line;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::debug;

use crate::error::RequestError;
use crate::protocol::handshake::ServerOffers;
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

/// The resources that clients have subscribed to, each with the number of its subscriptions.
pub(crate) type WatchedResources = BTreeMap<String, usize>;

/// Keeps a subscription request open for what the server offers and clients watch. Never returns. The
/// peer handles the notifications. `settled` gets the resources of each request that the server has
/// acknowledged or refused.
pub(crate) async fn keep_open<T>(
    peer: &Peer,
    offers: ServerOffers,
    mut watched: watch::Receiver<WatchedResources>,
    settled: &watch::Sender<Vec<String>>,
) -> T {
    let mut pause = FIRST_PAUSE;
    loop {
        let uris: Vec<String> = watched.borrow_and_update().keys().cloned().collect();
        let Some(notifications) = wanted(offers, &uris) else {
            is_different(&mut watched, &uris).await;
            continue;
        };
        let started = Instant::now();
        let request = Request::Listen { notifications: &notifications };
        let ended = tokio::select! {
            ended = timeout(MAX_OPEN_TIME, peer.request(request, None, |_| ())) => ended,
            // Dropping the request ends the subscription, and the next one has the other resources.
            () = is_different(&mut watched, &uris) => continue,
            never = note_acknowledgement(peer, &uris, settled) => never,
        };
        match ended {
            Ok(Err(RequestError::Refused { message, .. })) => {
                let message = one_line(&message, 200);
                debug!(message, "the server refuses to send notifications of changes");
                settled.send_replace(uris.clone());
                is_different(&mut watched, &uris).await;
                continue;
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

/// Notes when the server acknowledges a request for these resources. Never returns.
async fn note_acknowledgement<T>(
    peer: &Peer,
    uris: &[String],
    settled: &watch::Sender<Vec<String>>,
) -> T {
    peer.subscription_acknowledged().await;
    settled.send_replace(uris.to_vec());
    std::future::pending().await
}

/// The notifications to subscribe to, as JSON; `None` if there are none.
fn wanted(offers: ServerOffers, uris: &[String]) -> Option<String> {
    let mut notifications = serde_json::Map::new();
    for (key, is_offered) in [
        ("toolsListChanged", offers.tool_changes),
        ("promptsListChanged", offers.prompt_changes),
        ("resourcesListChanged", offers.resource_changes),
    ] {
        if is_offered {
            notifications.insert(key.to_owned(), json!(true));
        }
    }
    if !uris.is_empty() {
        notifications.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    (!notifications.is_empty()).then(|| serde_json::Value::Object(notifications).to_string())
}

/// Returns when clients watch other resources than these; never if that cannot happen any more.
async fn is_different(watched: &mut watch::Receiver<WatchedResources>, uris: &[String]) {
    if watched.wait_for(|now| !now.keys().eq(uris)).await.is_err() {
        std::future::pending::<()>().await;
    }
}
