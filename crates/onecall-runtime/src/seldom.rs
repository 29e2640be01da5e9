//! Futures that complete seldom, such as the cancellation of a run. They are awaited beside one that
//! makes progress all the time, and would be polled with every step of it.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Polls a future once, and then only when it has been woken.
pub fn seldom<F: Future>(future: F) -> Seldom<F> {
    let wakes = Wakes { is_due: AtomicBool::new(true), task: Mutex::default() };
    Seldom { future: Box::pin(future), wakes: Arc::new(wakes), task: None }
}

/// A future that is polled only when it has been woken; see [`seldom`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct Seldom<F> {
    future: Pin<Box<F>>,
    wakes: Arc<Wakes>,
    /// The task that [`Wakes`] wakes, so that it is known without the lock.
    task: Option<Waker>,
}

/// What the future gets as its waker.
struct Wakes {
    /// Whether the future has to be polled.
    is_due: AtomicBool,
    /// The task that awaits the future.
    task: Mutex<Option<Waker>>,
}

impl Wakes {
    fn set_task(&self, task: Waker) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.is_due.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        task.into_iter().for_each(Waker::wake);
    }
}

impl<F: Future> Future for Seldom<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let is_known = self.task.as_ref().is_some_and(|task| task.will_wake(context.waker()));
        if !is_known {
            // Before the flag is read: a wake either finds this task, or has set the flag.
            self.wakes.set_task(context.waker().clone());
            self.task = Some(context.waker().clone());
        }
        if !self.wakes.is_due.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        // Before the poll: a wake that comes during it makes another one due.
        self.wakes.is_due.swap(false, Ordering::AcqRel);
        let waker = Waker::from(Arc::clone(&self.wakes));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;

    use super::*;

    #[test]
    fn a_future_is_polled_only_when_it_was_woken() {
        let (polls, is_ready, waker) = (Cell::new(0), Cell::new(false), Cell::new(None));
        let mut future = seldom(poll_fn(|context| {
            polls.set(polls.get() + 1);
            waker.set(Some(context.waker().clone()));
            if is_ready.get() { Poll::Ready(7) } else { Poll::Pending }
        }));
        let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
        let wake = || waker.take().into_iter().for_each(Waker::wake);
        for _ in 0..3 {
            assert_eq!((poll(), polls.get()), (Poll::Pending, 1));
        }
        wake();
        for _ in 0..3 {
            assert_eq!((poll(), polls.get()), (Poll::Pending, 2));
        }
        is_ready.set(true);
        assert_eq!(poll(), Poll::Pending);
        wake();
        assert_eq!((poll(), polls.get()), (Poll::Ready(7), 3));
    }

    #[tokio::test]
    async fn a_wake_reaches_the_task_that_awaits() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let received = tokio::spawn(seldom(receiver));
        tokio::task::yield_now().await;
        sender.send(7).expect("the task waits");
        assert_eq!(received.await.expect("no panic"), Ok(7));
    }
}
