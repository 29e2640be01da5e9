//! Tells a run that this process gives up from calls that a program cancels: in both cases the futures
//! of calls are dropped.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use super::Journal;

/// Runs `run` to its end. If the future is dropped before that, the run is abandoned: its calls are
/// not cancelled and its questions stay open, so that the run can be continued from its journal.
pub(crate) async fn abandon_if_dropped<T>(
    journal: Option<&Journal>,
    run: impl Future<Output = T>,
) -> T {
    match journal {
        Some(journal) => Abandoning { journal: Some(journal), run: Box::pin(run) }.await,
        None => run.await,
    }
}

/// A run and its journal. The journal learns about the drop before the calls of the run do, because a
/// type's own `drop` runs before those of its fields.
struct Abandoning<'a, F> {
    /// `None` once the run has ended.
    journal: Option<&'a Journal>,
    run: Pin<Box<F>>,
}

impl<F: Future> Future for Abandoning<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let result = self.run.as_mut().poll(context);
        if result.is_ready() {
            self.journal = None;
        }
        result
    }
}

impl<F> Drop for Abandoning<'_, F> {
    fn drop(&mut self) {
        if let Some(journal) = self.journal {
            journal.is_abandoned.store(true, Ordering::Release);
        }
    }
}
