//! The running programs, by the ids that the host gave them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use onecall_core::BoxFuture;
use onecall_runtime::Observer;
use tokio::sync::watch;

/// How many programs may run at once; further ones are refused.
const MAX_RUNS: usize = 256;

/// Bytes of the messages of all running programs.
const MAX_BYTES: usize = 256 * 1024 * 1024;

/// Every program that has no outcome yet.
#[derive(Default)]
pub(super) struct Runs(Mutex<RunsState>);

#[derive(Default)]
struct RunsState {
    running: HashMap<String, RunningProgram>,
    started_count: u64,
    closed: bool,
}

struct RunningProgram {
    bytes: usize,
    wanted: watch::Sender<bool>,
}

/// The admission of one program.
pub(super) struct AdmittedProgram {
    /// A number that is unique in this process.
    pub(super) number: u64,
    /// Observes the program, and ends it when the host cancels it.
    pub(super) cancel_signal: CancelSignal,
}

/// Whether the host still wants the result of a program.
pub(super) struct CancelSignal(watch::Receiver<bool>);

impl Runs {
    /// Admits a program whose message has this many bytes.
    pub(super) fn admit(&self, id: &str, bytes: usize) -> Result<AdmittedProgram, String> {
        let mut state = self.state();
        if state.closed {
            return Err("onecall is stopping and starts no more programs".to_owned());
        }
        if state.running.contains_key(id) {
            return Err(format!("a program with the id '{id}' is running already"));
        }
        let held: usize = state.running.values().map(|it| it.bytes).sum();
        if state.running.len() >= MAX_RUNS || held.saturating_add(bytes) > MAX_BYTES {
            return Err(format!(
                "too many programs at once: at most {MAX_RUNS}, of {} MiB in all; wait for an \
                 outcome",
                MAX_BYTES >> 20
            ));
        }
        let (wanted, cancel_signal) = watch::channel(true);
        state.running.insert(id.to_owned(), RunningProgram { bytes, wanted });
        state.started_count += 1;
        Ok(AdmittedProgram {
            number: state.started_count,
            cancel_signal: CancelSignal(cancel_signal),
        })
    }

    /// Cancels a program; an error if it does not run.
    pub(super) fn cancel(&self, id: &str) -> Result<(), String> {
        match self.state().running.get(id) {
            Some(running) => {
                running.wanted.send_replace(false);
                Ok(())
            }
            None => Err(format!("no program with the id '{id}' is running")),
        }
    }

    /// Removes a program that has ended.
    pub(super) fn remove(&self, id: &str) {
        self.state().running.remove(id);
    }

    /// Cancels every program, and admits no more.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        for running in state.running.values() {
            running.wanted.send_replace(false);
        }
    }

    fn state(&self) -> MutexGuard<'_, RunsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for CancelSignal {
    fn cancelled(&self) -> BoxFuture<'_, ()> {
        let mut cancel_signal = self.0.clone();
        Box::pin(async move {
            // This fails only if the sender is gone, and then the program is not wanted either.
            _ = cancel_signal.wait_for(|wanted| !wanted).await;
        })
    }
}
