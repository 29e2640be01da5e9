//! Answers that are on their way to clients, and a limit for the memory that they take together. An
//! answer that finds no room waits, and while answers wait no program starts. So answers that
//! clients do not read cannot pile up. Of several users, each has a part of the room: a user whose
//! clients do not read holds up nobody else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use onecall_core::UserName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How many bytes of answers may be on their way.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// How many of these bytes one of several users may take.
const MAX_USER_BYTES: usize = MAX_BYTES / 4;

/// The bytes that one permit of the semaphore stands for.
const BYTES_PER_PERMIT: usize = 1024;

/// The room for unread answers in this process, and the parts of users.
pub(crate) struct ResponseBudgets {
    total: Arc<ResponseBudget>,
    /// The parts of users who have answers on their way; `None` if there is only one user.
    users: Option<Mutex<HashMap<UserName, Weak<ResponseBudget>>>>,
}

impl ResponseBudgets {
    /// All the room is for one user.
    pub(crate) fn for_one_user() -> Arc<Self> {
        Arc::new(Self { total: ResponseBudget::new(MAX_BYTES, None), users: None })
    }

    /// Each user has a part of the room.
    pub(crate) fn for_users() -> Arc<Self> {
        let users = Some(Mutex::default());
        Arc::new(Self { total: ResponseBudget::new(MAX_BYTES, None), users })
    }

    /// The room for the answers of all users.
    pub(crate) fn total(&self) -> &Arc<ResponseBudget> {
        &self.total
    }

    /// The room for the answers of one user.
    pub(crate) fn of(&self, user: &UserName) -> Arc<ResponseBudget> {
        let Some(users) = &self.users else { return Arc::clone(&self.total) };
        let mut users = users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(budget) = users.get(user).and_then(Weak::upgrade) {
            return budget;
        }
        users.retain(|_, budget| budget.strong_count() > 0);
        let budget = ResponseBudget::new(MAX_USER_BYTES, Some(Arc::clone(&self.total)));
        users.insert(user.clone(), Arc::downgrade(&budget));
        budget
    }
}

/// A limit for unread answers.
pub(crate) struct ResponseBudget {
    max_bytes: usize,
    room: Arc<Semaphore>,
    waiting: watch::Sender<usize>,
    /// A larger limit, which these answers count against, too.
    total: Option<Arc<ResponseBudget>>,
}

/// The room that one answer takes until it is written or dropped.
pub(crate) struct BudgetReservation {
    _room: Option<OwnedSemaphorePermit>,
    _total: Option<OwnedSemaphorePermit>,
    /// Keeps the budget of a user as long as an answer counts against it.
    _budget: Arc<ResponseBudget>,
}

/// Counts an answer that waits for room.
struct WaitingGuard<'a>(&'a watch::Sender<usize>);

impl ResponseBudget {
    fn new(max_bytes: usize, total: Option<Arc<Self>>) -> Arc<Self> {
        let room = Arc::new(Semaphore::new(max_bytes / BYTES_PER_PERMIT));
        Arc::new(Self { max_bytes, room, waiting: watch::Sender::new(0), total })
    }

    /// Waits for room for an answer. An answer that is larger than all the room waits until it is
    /// the only one.
    pub(crate) async fn reserve(self: Arc<Self>, bytes: usize) -> BudgetReservation {
        let room = self.acquire(bytes).await;
        let total = match &self.total {
            // An answer that is larger than the part of its user counts as that part.
            Some(total) => total.acquire(bytes.min(self.max_bytes)).await,
            None => None,
        };
        BudgetReservation { _room: room, _total: total, _budget: self }
    }

    async fn acquire(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let permits = bytes.min(self.max_bytes).div_ceil(BYTES_PER_PERMIT);
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(permits) {
            return Some(room);
        }
        self.waiting.send_modify(|count| *count += 1);
        let _waiting = WaitingGuard(&self.waiting);
        // The semaphore is never closed.
        Arc::clone(&self.room).acquire_many_owned(permits).await.ok()
    }

    /// Whether an answer waits for room.
    pub(crate) fn is_exhausted(&self) -> bool {
        *self.waiting.borrow() > 0
    }

    /// Completes when no answer waits for room.
    pub(crate) async fn wait_until_free(&self) {
        for budget in self.total.iter().map(Arc::as_ref).chain([self]) {
            // The channel cannot be closed, because the budget owns the sender.
            let _ = budget.waiting.subscribe().wait_for(|count| *count == 0).await;
        }
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
        let budget = Arc::clone(ResponseBudgets::for_one_user().total());
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

    #[tokio::test]
    async fn a_user_whose_answers_wait_holds_up_nobody_else() {
        let budgets = ResponseBudgets::for_users();
        let [anna, ben] = ["anna", "ben"].map(UserName::from_existing);
        let unread = budgets.of(&anna).reserve(MAX_BYTES).await;
        let waits = tokio::spawn(budgets.of(&anna).reserve(1));
        let annas = budgets.of(&anna);
        assert!(annas.waiting.subscribe().wait_for(|count| *count == 1).await.is_ok());
        budgets.of(&ben).wait_until_free().await;
        drop(budgets.of(&ben).reserve(MAX_USER_BYTES).await);
        assert!(annas.is_exhausted() && !budgets.of(&ben).is_exhausted());
        drop(unread);
        annas.wait_until_free().await;
        assert!(waits.await.is_ok());
    }
}
