//! The interface for observing a program while it runs.

use std::sync::Arc;

use onecall_core::{BoxFuture, Caller, Media};

use crate::CallEvent;

/// Receives the events of a running program. Every method has a default that does nothing.
pub trait Observer: Send + Sync {
    /// The program is queued until other programs end; `_ahead` others are ahead of it.
    fn queued(&self, _ahead: usize) {}
    /// Reads one step of a call from the log of the run.
    fn call_event(&self, _event: &CallEvent<'_>) {}
    /// The client of the run, to which servers may send progress and questions during calls.
    fn caller(&self) -> Option<Arc<Caller>> {
        None
    }
    /// The name that the client of the run gives itself.
    fn client(&self) -> String {
        String::new()
    }
    /// The program printed something.
    fn stdout(&self, _bytes: &[u8]) {}
    /// The program wrote something to stderr.
    fn stderr(&self, _bytes: &[u8]) {}
    /// The program displayed an image or audio.
    fn displayed(&self, _media: &Media) {}
    /// Completes when there is room for the program's answer; the program does not start before.
    fn room_for_answer(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
    /// Completes when the client cancels the program. The program is then killed, and its outcome
    /// reports what it has done so far. (If the future of the run is dropped instead, there is no
    /// outcome.)
    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopObserver;

impl Observer for NoopObserver {}
