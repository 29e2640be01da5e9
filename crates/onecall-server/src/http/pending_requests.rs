//! Counts the requests that are being answered, so that a server that is to end can wait for them.
//! Streams on which a client only listens are not among them.

use std::sync::Arc;

use tokio::sync::watch;

/// The number of requests that are being answered.
#[derive(Clone, Default)]
pub(super) struct PendingRequests(Arc<watch::Sender<usize>>);

/// A request that is being answered, until this is dropped.
pub(super) struct PendingRequest(PendingRequests);

impl PendingRequests {
    pub(super) fn begin(&self) -> PendingRequest {
        self.0.send_modify(|count| *count += 1);
        PendingRequest(self.clone())
    }

    /// Completes when all requests are answered.
    pub(super) async fn all_answered(&self) {
        // The sender is a part of this, so it is not gone.
        _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
