//! Which requests of a client wait for which durable runs, so that a cancelled request cancels its
//! run.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use onecall_core::RunId;
use onecall_gateway::RunFollower;
use rmcp::model::RequestId;

/// How many requests are remembered.
const MAX_REMEMBERED: usize = 256;

/// The requests of one client that waited for a durable run and got no answer.
#[derive(Default)]
pub(crate) struct DurableRequests(Mutex<VecDeque<(RequestId, RunId)>>);

/// A request that waits for a run and follows it. If it is dropped without an answer, its client has
/// left.
pub(crate) struct WaitingRequest<'a> {
    requests: &'a DurableRequests,
    id: RequestId,
    /// `None` once the request is answered.
    follower: Option<RunFollower>,
}

impl DurableRequests {
    /// Notes that the request with this id waits for the run that it follows.
    pub(crate) fn begin(&self, id: RequestId, follower: RunFollower) -> WaitingRequest<'_> {
        let mut requests = self.lock();
        requests.push_back((id.clone(), follower.run().clone()));
        if requests.len() > MAX_REMEMBERED {
            requests.pop_front();
        }
        drop(requests);
        WaitingRequest { requests: self, id, follower: Some(follower) }
    }

    /// Takes the run that a request waited for.
    pub(crate) fn take(&self, request: &RequestId) -> Option<RunId> {
        let mut requests = self.lock();
        let at = requests.iter().position(|(id, _)| id == request)?;
        requests.remove(at).map(|(_, run)| run)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(RequestId, RunId)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingRequest<'_> {
    /// The request is answered: it follows the run no longer.
    pub(crate) fn answered(mut self) {
        self.follower = None;
        self.requests.take(&self.id);
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        // The request is remembered, because a notification may say that it was cancelled.
        if let Some(follower) = self.follower.take() {
            follower.client_has_left();
        }
    }
}
