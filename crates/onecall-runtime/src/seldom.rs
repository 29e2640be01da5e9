//! Futures that complete seldom, such as the cancellation of a run. They are awaited beside one that
//! makes progress all the time, and would be polled with every step of it.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

/// Polls a future once, and then only when it has been woken.
pub fn seldom<F: Future>(future: F) -> Seldom<F> {
    Seldom(FuturesUnordered::from_iter([future]))
}

/// A future that is polled only when it has been woken; see [`seldom`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct Seldom<F>(FuturesUnordered<F>);

impl<F: Future> Future for Seldom<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        match self.0.poll_next_unpin(context) {
            Poll::Ready(Some(output)) => Poll::Ready(output),
            // After its end, a future may stay pending.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::task::Waker;

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
