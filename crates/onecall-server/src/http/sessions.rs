//! The MCP sessions of clients that use a protocol version with sessions (before 2026-07-28). rmcp
//! manages them; this module limits their number and lifetime, and cancels a program whose client
//! has disconnected and does not come back for the answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, FuturesUnordered};
use futures_util::{Stream, StreamExt};
use onecall_core::{GatewayId, UserName};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    JsonRpcRequest, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use thiserror::Error;
use tokio::time::timeout;

use super::streams::{
    HttpSessionTable, RECONNECT_DELAY, StreamListener, StreamPeer, TrackedStream,
};
use crate::request_id;

/// How often sessions are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// How long a session may take to accept a message. A session whose client does not read blocks
/// until then.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a session may take to accept a message that this server sends on its own.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason in the notification by which this server cancels a request whose client has left.
pub(crate) const CLIENT_HAS_LEFT: &str = "the client has left";

tokio::task_local! {
    /// The user whose request is being handled. rmcp creates sessions without saying for whom.
    static SESSION_OWNER: UserName;
    /// Who has sent the request that is being handled. rmcp opens streams without saying for whom.
    static STREAM_PEER: StreamPeer;
}

/// Handles a request; the streams that it opens are for `peer`.
pub(super) async fn with_stream_peer<T>(peer: StreamPeer, work: impl Future<Output = T>) -> T {
    STREAM_PEER.scope(peer, work).await
}

fn stream_peer() -> StreamPeer {
    STREAM_PEER.try_with(StreamPeer::clone).unwrap_or(StreamPeer::Client)
}

/// Handles a request; a session that it begins belongs to `owner`.
pub(super) async fn with_session_owner<T>(owner: UserName, work: impl Future<Output = T>) -> T {
    SESSION_OWNER.scope(owner, work).await
}

/// All MCP sessions. If there are several gateways, the id of a session names the one that has it; rmcp's
/// own manager does not know that part of it.
pub(super) struct HttpSessions {
    gateway: Option<GatewayId>,
    local: LocalSessionManager,
    table: Arc<HttpSessionTable>,
}

/// Why a session did not accept a request.
#[derive(Debug, Error)]
pub(super) enum HttpSessionError {
    #[error("there are too many sessions, and all of them are in use")]
    Full,
    #[error("the session is busy")]
    Busy,
    #[error("this message is not a request, so there is no answer to wait for")]
    NoRequest,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

impl HttpSessions {
    pub fn new(gateway: Option<GatewayId>) -> Self {
        let mut config = SessionConfig::default();
        config.sse_retry = Some(RECONNECT_DELAY);
        // Idle sessions are found by this module: a client with an open stream is not idle.
        config.keep_alive = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self { gateway, local, table: Arc::default() }
    }

    /// The id of a session without the gateway.
    fn local_id(&self, id: &SessionId) -> SessionId {
        let named = self.gateway.as_ref().map(|gateway| gateway.name_in(""));
        match named.and_then(|named| id.strip_suffix(named.as_str())) {
            Some(local) => local.into(),
            None => Arc::clone(id),
        }
    }

    /// Whether the session with this id was begun by this user.
    pub fn belongs_to(&self, id: &str, user: &UserName) -> bool {
        self.table.is_owned_by(id, user)
    }

    /// Notes that a client has left that was connected to another gateway. Returns whether the request that
    /// it has waited for is known.
    pub fn note_departure(&self, session: &str, forwarding: &str) -> bool {
        self.table.note_departure(session, forwarding)
    }

    /// Periodically cancels requests whose clients have disconnected, and closes idle sessions.
    pub async fn maintain(&self) -> Infallible {
        let mut cancellations = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
                () = self.table.client_disconnected() => {}
                // Cancellations run concurrently, so a slow session does not delay the others.
                Some(()) = cancellations.next() => continue,
            }
            cancellations.extend(
                self.table.take_abandoned().into_iter().map(|it| self.cancel_abandoned(it)),
            );
            for id in self.table.idle() {
                // The session is removed from the list in any case.
                let _ = self.close_session(&id).await;
            }
        }
    }

    async fn cancel_abandoned(&self, (id, request): (SessionId, RequestId)) {
        match self.cancel(&id, request.clone()).await {
            Ok(()) => self.table.forget(&id, &request),
            Err(_) => self.table.put_back(&id, &request),
        }
    }

    async fn cancel(&self, id: &SessionId, request: RequestId) -> Result<(), HttpSessionError> {
        let reason = CLIENT_HAS_LEFT.to_owned();
        let cancelled = CancelledNotificationParam::new(Some(request), Some(reason));
        let cancelled =
            ClientNotification::CancelledNotification(CancelledNotification::new(cancelled));
        let message = ClientJsonRpcMessage::notification(cancelled);
        let accepted = timeout(CANCEL_TIMEOUT, self.accept_message(id, message)).await;
        accepted.unwrap_or(Err(HttpSessionError::Busy))
    }
}

impl SessionManager for HttpSessions {
    type Error = HttpSessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), HttpSessionError> {
        let owner = SESSION_OWNER.try_with(UserName::clone).ok();
        if let Some(longest_unused) =
            self.table.session_to_evict(owner.as_ref()).map_err(|_| HttpSessionError::Full)?
        {
            self.close_session(&longest_unused).await?;
        }
        let (mut id, transport) = self.local.create_session().await?;
        if let Some(gateway) = &self.gateway {
            id = gateway.name_in(&id).into();
        }
        self.table.begin(&id, owner);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, HttpSessionError> {
        Ok(self.local.initialize_session(&self.local_id(id), message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, HttpSessionError> {
        self.table.touch(id);
        Ok(self.local.has_session(&self.local_id(id)).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), HttpSessionError> {
        // Otherwise rmcp would give programs some seconds to end by themselves.
        for request in self.table.end(id) {
            let _ = self.cancel(id, request).await;
        }
        // A session that is too busy to answer ends when it finds its channel closed.
        timeout(CANCEL_TIMEOUT, self.local.close_session(&self.local_id(id)))
            .await
            .unwrap_or(Ok(()))?;
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, HttpSessionError>
    {
        let ClientJsonRpcMessage::Request(JsonRpcRequest { id: request, .. }) = &message else {
            return Err(HttpSessionError::NoRequest);
        };
        let request = request.clone();
        // Registered before the request is sent, because the client may disconnect at any moment.
        let Some(mut listener) =
            StreamListener::for_request(&self.table, id, &request, stream_peer())
        else {
            let refusal = ServerSseMessage::from_message(request_id::in_use(request));
            return Ok(stream::iter([refusal]).left_stream());
        };
        match self.local.create_stream(&self.local_id(id), message).await {
            Ok(stream) => Ok(TrackedStream::new(listener, stream).right_stream()),
            Err(error) => {
                listener.mark_answered();
                Err(error.into())
            }
        }
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), HttpSessionError> {
        match timeout(MESSAGE_TIMEOUT, self.local.accept_message(&self.local_id(id), message)).await
        {
            Ok(accepted) => Ok(accepted?),
            Err(_) => Err(HttpSessionError::Busy),
        }
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, HttpSessionError>
    {
        let listener = StreamListener::for_get(&self.table, id, None, stream_peer());
        Ok(TrackedStream::new(
            listener,
            self.local.create_standalone_stream(&self.local_id(id)).await?,
        ))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, HttpSessionError>
    {
        let listener = StreamListener::for_get(
            &self.table,
            id,
            self.table.request_of_event(id, &last_event_id),
            stream_peer(),
        );
        Ok(TrackedStream::new(
            listener,
            self.local.resume(&self.local_id(id), last_event_id).await?,
        ))
    }
}
