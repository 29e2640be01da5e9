//! Which requests of a client wait for which durable runs, so that a cancelled request cancels its
//! run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_core::RunId;
use onecall_gateway::Gateway;
use rmcp::model::RequestId;

/// How many requests are remembered.
const MAX_REMEMBERED: usize = 256;

/// The requests of one client that waited for a durable run and got no answer.
#[derive(Default)]
pub(crate) struct DurableRequests(Mutex<VecDeque<(RequestId, RunId)>>);

/// A request that waits for a run. If it is dropped without an answer, its client has left, and the
/// run is cancelled unless it waits for a person.
pub(crate) struct WaitingRequest<'a> {
    requests: &'a DurableRequests,
    gateway: &'a Arc<Gateway>,
    id: RequestId,
    run: RunId,
    is_answered: bool,
}

impl DurableRequests {
    pub(crate) fn begin<'a>(
        &'a self,
        gateway: &'a Arc<Gateway>,
        id: RequestId,
        run: RunId,
    ) -> WaitingRequest<'a> {
        let mut requests = self.lock();
        requests.push_back((id.clone(), run.clone()));
        if requests.len() > MAX_REMEMBERED {
            requests.pop_front();
        }
        drop(requests);
        WaitingRequest { requests: self, gateway, id, run, is_answered: false }
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
    /// The request is answered.
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            self.requests.take(&self.id);
        } else {
            // It is remembered, because a notification may say that it was cancelled.
            self.gateway.client_has_left(&self.run);
        }
    }
}
