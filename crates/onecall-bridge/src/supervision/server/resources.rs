//! Requests to a server for resources and prompts.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::timeout;

use super::Server;
use crate::error::{METHOD_NOT_FOUND, RequestError};
use crate::protocol::peer::Peer;
use crate::protocol::request::{ProtocolMode, Request};
use crate::protocol::resources::ResourceRequestError;

/// The time limit for lists, if calls to the server have none.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);

impl Server {
    /// Sends a request; `None` if the server does not support its method.
    pub async fn request_if_supported<T: Send + 'static>(
        &self,
        request: Request<'_>,
        decode: fn(&RawValue) -> T,
    ) -> Result<Option<T>, ResourceRequestError> {
        let _in_use = self.start_for_request().await;
        let peer = self.peer_after_start().await?;
        match peer.request(request, self.config.call_timeout, decode).await {
            Ok(answer) => Ok(Some(answer)),
            Err(RequestError::Refused { code: METHOD_NOT_FOUND, .. }) => Ok(None),
            Err(error) => {
                let (reason, refusal) = (self.request_failure(&error), error.refusal());
                Err(ResourceRequestError::Unanswered { reason, refusal })
            }
        }
    }

    /// Applies the time limit of one request to all pages of a list. A server that does not answer
    /// must not use up the time of a program that asks all servers.
    pub async fn with_list_timeout<T>(
        &self,
        requests: impl Future<Output = Result<T, ResourceRequestError>>,
    ) -> Result<T, ResourceRequestError> {
        let limit = self.config.call_timeout.unwrap_or(LIST_TIMEOUT);
        let expired = |_| Err(ResourceRequestError::unanswered(RequestError::NoAnswer { limit }));
        timeout(limit, requests).await.unwrap_or_else(expired)
    }

    /// Whether the server uses a handshake, once it is connected.
    pub(super) async fn connected_mode(&self) -> Result<ProtocolMode, ResourceRequestError> {
        let _in_use = self.start_for_request().await;
        Ok(self.peer_after_start().await?.protocol_mode())
    }

    /// The connection to the server after its start has ended; starts the server if it is idle.
    async fn peer_after_start(&self) -> Result<Arc<Peer>, ResourceRequestError> {
        self.start_if_idle();
        let mut tried = self.is_up.subscribe();
        let settled = async {
            // The channel is notified at the end of every start, including a failed one.
            while !self.is_settled() && tried.changed().await.is_ok() {}
        };
        // A start has its own deadline for each of its two transports.
        let _ = timeout(self.start_wait() * 3, settled).await;
        let peer = self.lock().peer.clone();
        peer.ok_or_else(|| ResourceRequestError::NotRunning { message: self.unavailable_message() })
    }
}
