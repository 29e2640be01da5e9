//! The requests to one server that wait for their answers, with their deadlines. Each request gets
//! exactly one result: an answer, a timeout or the reason why the connection closed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_core::Caller;
use tokio::sync::Notify;

use crate::error::RequestError;
use crate::protocol::reply::Reply;
use crate::protocol::request_origin::RequestOrigin;

/// Receives the answer on the reader's task, where it can be parsed in place, and passes the result
/// on to the waiting caller.
pub(super) type Waiter = Box<dyn FnOnce(Result<Reply<'_>, RequestError>) + Send>;

pub(super) struct PendingRequests {
    requests: Mutex<PendingState>,
    /// Whether the task that enforces the deadlines has a timer set.
    timer_is_set: AtomicBool,
    deadline_set: Notify,
}

enum PendingState {
    Open(HashMap<u64, PendingRequest>),
    /// The connection is closed, for this reason.
    Closed(Arc<str>),
}

struct PendingRequest {
    waiter: Waiter,
    deadline: Option<Deadline>,
    origin: Option<RequestOrigin>,
}

#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

/// A request whose time limit has passed.
pub(super) struct ExpiredRequest {
    pub id: u64,
    pub limit: Duration,
    pub waiter: Waiter,
}

impl PendingRequests {
    pub fn new() -> Self {
        Self {
            requests: Mutex::new(PendingState::Open(HashMap::new())),
            timer_is_set: AtomicBool::new(false),
            deadline_set: Notify::new(),
        }
    }

    pub fn add(
        &self,
        id: u64,
        limit: Option<Duration>,
        origin: Option<&RequestOrigin>,
        waiter: Waiter,
    ) -> Result<(), RequestError> {
        let deadline = limit.map(|limit| Deadline { at: Instant::now() + limit, limit });
        match &mut *self.lock() {
            PendingState::Open(waiting) => {
                waiting.insert(id, PendingRequest { waiter, deadline, origin: origin.cloned() });
            }
            PendingState::Closed(reason) => {
                return Err(RequestError::ClosedBeforeSending { reason: Arc::clone(reason) });
            }
        }
        // All limits of a server are equal, so a timer that is already set expires first.
        if deadline.is_some() && !self.timer_is_set.swap(true, Ordering::Relaxed) {
            self.deadline_set.notify_one();
        }
        Ok(())
    }

    pub fn take(&self, id: u64) -> Option<Waiter> {
        match &mut *self.lock() {
            PendingState::Open(waiting) => waiting.remove(&id).map(|pending| pending.waiter),
            PendingState::Closed(_) => None,
        }
    }

    pub fn contains(&self, id: u64) -> bool {
        match &*self.lock() {
            PendingState::Open(waiting) => waiting.contains_key(&id),
            PendingState::Closed(_) => false,
        }
    }

    /// The call that a request was made for.
    pub fn origin(&self, id: u64) -> Option<RequestOrigin> {
        match &*self.lock() {
            PendingState::Open(waiting) => waiting.get(&id)?.origin.clone(),
            PendingState::Closed(_) => None,
        }
    }

    /// The client that all pending calls are made for; `None` without calls or with several
    /// clients.
    pub fn only_caller(&self) -> Option<Arc<Caller>> {
        let requests = self.lock();
        let PendingState::Open(waiting) = &*requests else { return None };
        let mut origins = waiting.values().filter_map(|pending| pending.origin.as_ref());
        let first = &origins.next()?.caller;
        origins.all(|other| other.caller.client == first.client).then(|| Arc::clone(first))
    }

    /// Removes and returns the requests whose deadline has passed, with the next deadline.
    pub fn take_expired(&self, now: Instant) -> (Vec<ExpiredRequest>, Option<Instant>) {
        let mut expired = Vec::new();
        let mut requests = self.lock();
        let next = match &mut *requests {
            PendingState::Open(waiting) => {
                let has_passed = |pending: &PendingRequest| {
                    pending.deadline.is_some_and(|deadline| deadline.at <= now)
                };
                let passed = waiting.extract_if(|_, pending| has_passed(pending));
                expired.extend(passed.map(|(id, pending)| {
                    let limit = pending.deadline.map_or(Duration::ZERO, |it| it.limit);
                    ExpiredRequest { id, limit, waiter: pending.waiter }
                }));
                waiting.values().filter_map(|pending| Some(pending.deadline?.at)).min()
            }
            PendingState::Closed(_) => None,
        };
        self.timer_is_set.store(next.is_some(), Ordering::Relaxed);
        (expired, next)
    }

    /// Returns when a first deadline has been set.
    pub async fn deadline_set(&self) {
        self.deadline_set.notified().await;
    }

    /// Rejects every further request with `reason` and returns the pending ones. The first reason
    /// is kept.
    pub fn close(&self, reason: &Arc<str>) -> Vec<(u64, Waiter)> {
        let mut requests = self.lock();
        let PendingState::Open(waiting) = &mut *requests else { return Vec::new() };
        let waiting = std::mem::take(waiting);
        *requests = PendingState::Closed(Arc::clone(reason));
        waiting.into_iter().map(|(id, pending)| (id, pending.waiter)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, PendingState> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
