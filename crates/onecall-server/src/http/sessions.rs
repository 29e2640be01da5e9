//! The MCP sessions of clients that use a protocol version with sessions (before 2026-07-28). rmcp
//! manages them; this module limits their number and lifetime, and cancels a program whose client
//! has disconnected and does not come back for the answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, FuturesUnordered};
use futures_util::{Stream, StreamExt};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use thiserror::Error;
use tokio::time::timeout;

use super::streams::{Followed, Held, Open, RETRY};
use crate::request_id;

/// How often sessions are checked.
const ROUND: Duration = Duration::from_millis(500);

/// How long a session may take to accept a message. A session whose client does not read blocks
/// until then.
const BUSY: Duration = Duration::from_secs(10);

/// How long a session may take to accept a message that this server sends on its own.
const PATIENCE: Duration = Duration::from_secs(1);

/// All MCP sessions.
pub(super) struct Sessions {
    local: LocalSessionManager,
    open: Arc<Open>,
}

/// Why a session did not accept a request.
#[derive(Debug, Error)]
pub(super) enum SessionsError {
    #[error("there are too many sessions, and all of them are in use")]
    Full,
    #[error("the session is busy")]
    Busy,
    #[error("only a request has an answer to wait for")]
    NoRequest,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

impl Sessions {
    pub fn new() -> Self {
        let mut config = SessionConfig::default();
        config.sse_retry = Some(RETRY);
        // Idle sessions are found by this module: a client with an open stream is not idle.
        config.keep_alive = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self { local, open: Arc::default() }
    }

    /// Periodically cancels requests whose clients have disconnected, and closes idle sessions.
    pub async fn tend(&self) -> Infallible {
        let mut ending = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = tokio::time::sleep(ROUND) => {}
                () = self.open.client_left() => {}
                // Cancellations run concurrently, so a slow session does not delay the others.
                Some(()) = ending.next() => continue,
            }
            ending.extend(self.open.forsaken().into_iter().map(|it| self.give_up(it)));
            for id in self.open.idle() {
                // The session is removed from the list in any case.
                let _ = self.close_session(&id).await;
            }
        }
    }

    async fn give_up(&self, (id, request): (SessionId, RequestId)) {
        match self.cancel(&id, request.clone()).await {
            Ok(()) => self.open.forget(&id, &request),
            Err(_) => self.open.put_back(&id, &request),
        }
    }

    async fn cancel(&self, id: &SessionId, request: RequestId) -> Result<(), SessionsError> {
        let reason = "the client has left".to_owned();
        let cancelled = CancelledNotificationParam::new(Some(request), Some(reason));
        let cancelled =
            ClientNotification::CancelledNotification(CancelledNotification::new(cancelled));
        let message = ClientJsonRpcMessage::notification(cancelled);
        let accepted = timeout(PATIENCE, self.accept_message(id, message)).await;
        accepted.unwrap_or(Err(SessionsError::Busy))
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        if let Some(longest_unused) = self.open.crowded_out().map_err(|_| SessionsError::Full)? {
            self.close_session(&longest_unused).await?;
        }
        let (id, transport) = self.local.create_session().await?;
        self.open.begin(&id);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        self.open.touch(id);
        Ok(self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        // Otherwise rmcp would give programs some seconds to end by themselves.
        for request in self.open.end(id) {
            let _ = self.cancel(id, request).await;
        }
        // A session that is too busy to answer ends when it finds its channel closed.
        timeout(PATIENCE, self.local.close_session(id)).await.unwrap_or(Ok(()))?;
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => request.id.clone(),
            _ => return Err(SessionsError::NoRequest),
        };
        // Registered before the request is sent, because the client may disconnect at any moment.
        let Some(mut held) = Held::asking(&self.open, id, &request) else {
            let refusal = ServerSseMessage::from_message(request_id::in_use(request));
            return Ok(stream::iter([refusal]).left_stream());
        };
        match self.local.create_stream(id, message).await {
            Ok(stream) => Ok(Followed::new(held, stream).right_stream()),
            Err(error) => {
                held.answered();
                Err(error.into())
            }
        }
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        match timeout(BUSY, self.local.accept_message(id, message)).await {
            Ok(accepted) => Ok(accepted?),
            Err(_) => Err(SessionsError::Busy),
        }
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let held = Held::listening(&self.open, id, None);
        Ok(Followed::new(held, self.local.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let held = Held::listening(&self.open, id, self.open.request(id, &last_event_id));
        Ok(Followed::new(held, self.local.resume(id, last_event_id).await?))
    }
}
