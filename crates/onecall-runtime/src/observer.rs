//! Watching a program while it runs.

use std::sync::Arc;

use onecall_core::{BoxFuture, Caller, Shown};

use crate::CallEvent;

/// Hears of a program's steps as they happen.
pub trait Observer: Send + Sync {
    /// The program has to wait until others end. So many that wait came before it.
    fn waits(&self, _before: usize) {}
    /// Reads one step of a call from the log of the run.
    fn call_event(&self, _event: &CallEvent<'_>) {}
    /// Who may be told and asked things by the servers that execute the calls.
    fn caller(&self) -> Option<Arc<Caller>> {
        None
    }
    /// What the client calls itself that asked for the program.
    fn client(&self) -> String {
        String::new()
    }
    /// The program printed something.
    fn stdout(&self, _bytes: &[u8]) {}
    /// The program wrote something to stderr.
    fn stderr(&self, _bytes: &[u8]) {}
    /// The program showed something.
    fn shown(&self, _shown: &Shown) {}
    /// Returns when there is room for the program's answer; the program does not start
    /// before.
    fn room_for_answer(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
    /// Ends if the program is not wanted any more. It is killed then, and what it has done
    /// so far is told as its outcome; nothing is told of a program whose future is dropped.
    fn called_off(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// An observer that does not care.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
