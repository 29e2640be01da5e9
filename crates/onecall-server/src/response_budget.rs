//! Answers that are on their way to clients, and a limit for the memory that they take together. An
//! answer that finds no room waits, and while answers wait no program starts. So answers that
//! clients do not read cannot pile up.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How many bytes of answers may be on their way.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The bytes that one permit of the semaphore stands for.
const BYTES_PER_PERMIT: usize = 1024;

/// The room for unread answers in this process.
pub(crate) struct ResponseBudget {
    room: Arc<Semaphore>,
    waiting: watch::Sender<usize>,
}

/// The room that one answer takes until it is written or dropped.
pub(crate) struct BudgetReservation {
    _room: Option<OwnedSemaphorePermit>,
}

/// Counts an answer that waits for room.
struct WaitingGuard<'a>(&'a watch::Sender<usize>);

impl ResponseBudget {
    pub(crate) fn new() -> Arc<Self> {
        let room = Arc::new(Semaphore::new(MAX_BYTES / BYTES_PER_PERMIT));
        Arc::new(Self { room, waiting: watch::Sender::new(0) })
    }

    /// Waits for room for an answer. An answer that is larger than all the room waits until it is
    /// the only one.
    pub(crate) async fn reserve(self: Arc<Self>, bytes: usize) -> BudgetReservation {
        let permits = bytes.min(MAX_BYTES).div_ceil(BYTES_PER_PERMIT);
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(permits) {
            return BudgetReservation { _room: Some(room) };
        }
        self.waiting.send_modify(|count| *count += 1);
        let _waiting = WaitingGuard(&self.waiting);
        // The semaphore is never closed.
        BudgetReservation { _room: Arc::clone(&self.room).acquire_many_owned(permits).await.ok() }
    }

    /// Whether an answer waits for room.
    pub(crate) fn is_exhausted(&self) -> bool {
        *self.waiting.borrow() > 0
    }

    /// Completes when no answer waits for room.
    pub(crate) async fn wait_until_free(&self) {
        // The channel cannot be closed, because `self` owns the sender.
        let _ = self.waiting.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_finds_no_room_waits_and_says_so() {
        let budget = ResponseBudget::new();
        let first = Arc::clone(&budget).reserve(2 * MAX_BYTES).await;
        assert!(!budget.is_exhausted());
        let second = tokio::spawn(Arc::clone(&budget).reserve(1));
        let given_up = tokio::spawn(Arc::clone(&budget).reserve(MAX_BYTES));
        let both_wait = budget.waiting.subscribe().wait_for(|count| *count == 2).await.is_ok();
        assert!(both_wait && budget.is_exhausted());
        given_up.abort();
        drop(first);
        budget.wait_until_free().await;
        assert!(second.await.is_ok());
    }
}
