//! A transport that protects the server from its client on stdio: a request id cannot be used for
//! two requests at a time, and answers that the client does not read cannot pile up.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use onecall_core::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;

use crate::request_id;
use crate::response_budget::ResponseBudget;

/// A transport to one client. While answers wait for room, no further message is read.
pub(super) struct BoundedTransport<T> {
    inner: T,
    budget: Arc<ResponseBudget>,
    /// The requests that have not been answered yet.
    unanswered: HashSet<RequestId>,
    /// An error response that is being sent.
    refusal: Option<BoxFuture<'static, io::Result<()>>>,
}

impl<T: Transport<RoleServer, Error = io::Error>> BoundedTransport<T> {
    pub fn new(inner: T, budget: Arc<ResponseBudget>) -> Self {
        Self { inner, budget, unanswered: HashSet::new(), refusal: None }
    }

    fn reserve_and_send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> BoxFuture<'static, io::Result<()>> {
        let reservation = Arc::clone(&self.budget).reserve(length(&message));
        let send = self.inner.send(message);
        Box::pin(async move {
            let _reservation = reservation.await;
            send.await
        })
    }

    /// Checks a message; the error is a request id that is already in use.
    fn check(&mut self, message: &ClientJsonRpcMessage) -> Result<(), RequestId> {
        match message {
            ClientJsonRpcMessage::Request(request)
                if !self.unanswered.insert(request.id.clone()) =>
            {
                return Err(request.id.clone());
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(it) = &notification.notification
                    && let Some(id) = &it.params.request_id
                {
                    // A cancelled request is not answered.
                    self.unanswered.remove(id);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl<T: Transport<RoleServer, Error = io::Error>> Transport<RoleServer> for BoundedTransport<T> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = answered {
            self.unanswered.remove(id);
        }
        self.reserve_and_send(message)
    }

    // rmcp may drop the future at any time and call again, so unfinished work is kept in `self`.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(refusal) = &mut self.refusal {
                // If the client cannot be written to, the next read fails as well.
                let _ = refusal.await;
                self.refusal = None;
            }
            self.budget.wait_until_free().await;
            let message = self.inner.receive().await?;
            match self.check(&message) {
                Ok(()) => return Some(message),
                Err(id) => {
                    self.refusal = Some(self.reserve_and_send(request_id::in_use(id)));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}

/// The length of a message in its serialized form.
fn length(message: &ServerJsonRpcMessage) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A message that cannot be serialized is not sent either.
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}
