//! Requests to a server for what it has besides tools.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::timeout;

use super::Server;
use crate::error::{METHOD_NOT_FOUND, RequestError};
use crate::protocol::offering::OfferingError;
use crate::protocol::peer::Peer;
use crate::protocol::request::Request;

/// How long a server may take to list what it has, unless its calls have a limit.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);

impl Server {
    /// Makes a request; `None` if the server knows nothing of such things.
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

    /// Several requests for a list in the time of one. A server that says nothing must not cost
    /// a program that asks all servers all of its time.
    pub async fn in_time<T>(
        &self,
        requests: impl Future<Output = Result<T, OfferingError>>,
    ) -> Result<T, OfferingError> {
        let limit = self.config.call_timeout.unwrap_or(LIST_TIMEOUT);
        let expired = |_| Err(OfferingError::unanswered(RequestError::NoAnswer { limit }));
        timeout(limit, requests).await.unwrap_or_else(expired)
    }

    /// Whom to talk to, once the server was tried; starts it if nobody has needed it.
    async fn peer_when_tried(&self) -> Result<Arc<Peer>, OfferingError> {
        self.need();
        let mut tried = self.is_up.subscribe();
        let settled = async {
            // Every end of a start is told there, also one that failed.
            while !self.is_settled() && tried.changed().await.is_ok() {}
        };
        // A start has a deadline of its own, for each of its two ways.
        let _ = timeout(self.patience() * 3, settled).await;
        let peer = self.lock().peer.clone();
        peer.ok_or_else(|| OfferingError::NotRunning { message: self.not_running() })
    }
}
