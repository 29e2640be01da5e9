//! The programs that run now, by the names that the host gave them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use onecall_core::BoxFuture;
use onecall_runtime::Observer;
use tokio::sync::watch;

/// Programs at once; no more are taken.
const MAX_RUNS: usize = 256;

/// Bytes of the messages that asked for them.
const MAX_BYTES: usize = 256 * 1024 * 1024;

/// Every program that has no outcome yet.
#[derive(Default)]
pub(super) struct Runs(Mutex<State>);

#[derive(Default)]
struct State {
    running: HashMap<String, Running>,
    begun: u64,
    closed: bool,
}

struct Running {
    bytes: usize,
    wanted: watch::Sender<bool>,
}

/// A place among them.
pub(super) struct Admitted {
    /// Distinguishes it from every other of this process.
    pub(super) number: u64,
    /// Watches the program, and ends it when the host has had enough.
    pub(super) wish: Wish,
}

/// Whether a program is still wanted.
pub(super) struct Wish(watch::Receiver<bool>);

impl Runs {
    /// Takes a program in, whose message has this many bytes.
    pub(super) fn admit(&self, id: &str, bytes: usize) -> Result<Admitted, String> {
        let mut state = self.state();
        if state.closed {
            return Err("onecall is about to end".to_owned());
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
        let (wanted, wish) = watch::channel(true);
        state.running.insert(id.to_owned(), Running { bytes, wanted });
        state.begun += 1;
        Ok(Admitted { number: state.begun, wish: Wish(wish) })
    }

    /// Ends a program; an error if it does not run.
    pub(super) fn cancel(&self, id: &str) -> Result<(), String> {
        match self.state().running.get(id) {
            Some(running) => {
                running.wanted.send_replace(false);
                Ok(())
            }
            None => Err(format!("no program with the id '{id}' is running")),
        }
    }

    /// Forgets a program that has ended.
    pub(super) fn remove(&self, id: &str) {
        self.state().running.remove(id);
    }

    /// Ends every program, and takes no more.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        for running in state.running.values() {
            running.wanted.send_replace(false);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Wish {
    fn called_off(&self) -> BoxFuture<'_, ()> {
        let mut wish = self.0.clone();
        Box::pin(async move {
            // Nobody is left who could want it if this fails.
            _ = wish.wait_for(|wanted| !wanted).await;
        })
    }
}
