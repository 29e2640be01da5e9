//! Requests to a server for resources and prompts.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::timeout;

use super::Server;
use crate::error::{METHOD_NOT_FOUND, RequestError};
use crate::protocol::offering::OfferingError;
use crate::protocol::peer::Peer;
use crate::protocol::request::Request;

/// The time limit for lists, if calls to the server have none.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);

impl Server {
    /// Sends a request; `None` if the server does not support its method.
    pub async fn offered<T: Send + 'static>(
        &self,
        request: Request<'_>,
        decode: fn(&RawValue) -> T,
    ) -> Result<Option<T>, OfferingError> {
        let peer = self.peer_when_tried().await?;
        match peer.request(request, self.config.call_timeout, decode).await {
            Ok(answer) => Ok(Some(answer)),
            Err(RequestError::Refused { code: METHOD_NOT_FOUND, .. }) => Ok(None),
            Err(error) => Err(OfferingError::unanswered(error)),
        }
    }

    /// Applies the time limit of one request to all pages of a list. A server that does not answer
    /// must not use up the time of a program that asks all servers.
    pub async fn in_time<T>(
        &self,
        requests: impl Future<Output = Result<T, OfferingError>>,
    ) -> Result<T, OfferingError> {
        let limit = self.config.call_timeout.unwrap_or(LIST_TIMEOUT);
        let expired = |_| Err(OfferingError::unanswered(RequestError::NoAnswer { limit }));
        timeout(limit, requests).await.unwrap_or_else(expired)
    }

    /// The connection to the server after its start has ended; starts the server if it is idle.
    async fn peer_when_tried(&self) -> Result<Arc<Peer>, OfferingError> {
        self.need();
        let mut tried = self.is_up.subscribe();
        let settled = async {
            // The channel is notified at the end of every start, including a failed one.
            while !self.is_settled() && tried.changed().await.is_ok() {}
        };
        // A start has its own deadline for each of its two transports.
        let _ = timeout(self.patience() * 3, settled).await;
        let peer = self.lock().peer.clone();
        peer.ok_or_else(|| OfferingError::NotRunning { message: self.not_running() })
    }
}
