//! Waits for a future on the calling thread.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Wakes a thread that waits for a future.
struct ThreadWaker {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Drives a future to its end. The result is `None`, and the future is dropped, if nothing happens for
/// as long as `patience`. Other than the functions of tokio, it may be called anywhere.
pub(super) fn wait<T>(future: impl Future<Output = T>, patience: Duration) -> Option<T> {
    let thread_waker =
        Arc::new(ThreadWaker { thread: thread::current(), is_woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&thread_waker));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return Some(done);
        }
        let deadline = Instant::now() + patience;
        while !thread_waker.is_woken.swap(false, Ordering::Acquire) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            thread::park_timeout(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use super::*;

    #[test]
    fn a_future_ends_or_is_given_up() {
        assert_eq!(wait(future::ready(7), Duration::ZERO), Some(7));
        assert_eq!(wait(future::pending::<()>(), Duration::from_millis(20)), None);
        let mut polls = 0;
        let third = future::poll_fn(|context| {
            polls += 1;
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            if polls < 3 { Poll::Pending } else { Poll::Ready(polls) }
        });
        assert_eq!(wait(third, Duration::from_secs(10)), Some(3));
    }
}
