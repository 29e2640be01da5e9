//! Answers that are on their way to clients, and a limit for the memory that they take together. An
//! answer that finds no room waits, and while answers wait no program starts. So answers that
//! clients do not read cannot pile up.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How many bytes of answers may be on their way.
const MAX_UNREAD: usize = 64 * 1024 * 1024;

/// The bytes that one permit of the semaphore stands for.
const UNIT: usize = 1024;

/// The room for unread answers in this process.
pub(crate) struct Unread {
    room: Arc<Semaphore>,
    waiting: watch::Sender<usize>,
}

/// The room that one answer takes until it is written or dropped.
pub(crate) struct Charge {
    _room: Option<OwnedSemaphorePermit>,
}

/// Counts an answer that waits for room.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl Unread {
    pub(crate) fn new() -> Arc<Self> {
        let room = Arc::new(Semaphore::new(MAX_UNREAD / UNIT));
        Arc::new(Self { room, waiting: watch::Sender::new(0) })
    }

    /// Waits for room for an answer. An answer that is larger than all the room waits until it is
    /// the only one.
    pub(crate) async fn charge(self: Arc<Self>, bytes: usize) -> Charge {
        let units = bytes.min(MAX_UNREAD).div_ceil(UNIT);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(units) {
            return Charge { _room: Some(room) };
        }
        self.waiting.send_modify(|count| *count += 1);
        let _waiting = Waiting(&self.waiting);
        // The semaphore is never closed.
        Charge { _room: Arc::clone(&self.room).acquire_many_owned(units).await.ok() }
    }

    /// Whether an answer waits for room.
    pub(crate) fn is_short(&self) -> bool {
        *self.waiting.borrow() > 0
    }

    /// Completes when no answer waits for room.
    pub(crate) async fn settled(&self) {
        // The channel cannot be closed, because `self` owns the sender.
        let _ = self.waiting.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_finds_no_room_waits_and_says_so() {
        let unread = Unread::new();
        let first = Arc::clone(&unread).charge(2 * MAX_UNREAD).await;
        assert!(!unread.is_short());
        let second = tokio::spawn(Arc::clone(&unread).charge(1));
        let given_up = tokio::spawn(Arc::clone(&unread).charge(MAX_UNREAD));
        let both_wait = unread.waiting.subscribe().wait_for(|count| *count == 2).await.is_ok();
        assert!(both_wait && unread.is_short());
        given_up.abort();
        drop(first);
        unread.settled().await;
        assert!(second.await.is_ok());
    }
}
