//! Workers forked ahead, so that a program never waits for one to warm up.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Semaphore;

use crate::worker::Worker;
use crate::zygote::{Zygote, ZygoteCommand};

/// Workers kept waiting for a program.
const AHEAD: usize = 2;

/// Programs that run at once; further ones wait for their turn.
pub(crate) const MAX_AT_ONCE: usize = 256;

/// A worker that is not ready by then never will be.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// Why no worker could be had.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The operating system refused to start it.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The executable.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It started and died before it could take a program.
    #[error("its worker died while starting: {reason}")]
    Died {
        /// What is known of its death.
        reason: String,
    },
    /// It started and never became ready.
    #[error("its worker was not ready within {}s", READY_TIMEOUT.as_secs())]
    NotReady,
}

/// An engine: a zygote and its waiting workers. A zygote that dies is replaced
/// when the next program arrives.
#[derive(Debug)]
pub struct Engine {
    command: ZygoteCommand,
    state: Mutex<State>,
    turns: Arc<Semaphore>,
    remarked: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    zygote: Option<Arc<Zygote>>,
    waiting: VecDeque<Worker>,
}

impl Engine {
    /// An engine that starts its zygote with `command`, when first needed.
    #[must_use]
    pub fn new(command: ZygoteCommand) -> Self {
        Self {
            command,
            state: Mutex::default(),
            turns: Arc::new(Semaphore::new(MAX_AT_ONCE)),
            remarked: AtomicBool::new(false),
        }
    }

    /// Starts the zygote and its first workers, so that the first program finds
    /// them ready. Must be called inside a tokio runtime.
    pub fn warm_up(&self) -> Result<(), EngineError> {
        self.refill(&mut self.state())
    }

    /// A worker that waits for its program.
    pub(crate) async fn worker(&self) -> Result<Worker, EngineError> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        let mut last_error = EngineError::NotReady;
        // A waiting worker may have died with its zygote; the next one comes
        // from a new zygote.
        for _ in 0..=AHEAD {
            let mut worker = self.take()?;
            match tokio::time::timeout(READY_TIMEOUT, worker.ready()).await {
                Ok(Ok(remarks)) => {
                    self.log_remarks(&remarks);
                    worker.hold(turn);
                    return Ok(worker);
                }
                Ok(Err(reason)) => last_error = EngineError::Died { reason },
                Err(_) => return Err(EngineError::NotReady),
            }
        }
        Err(last_error)
    }

    /// Every worker has the same to say, so the first one's word is enough.
    fn log_remarks(&self, remarks: &str) {
        if !remarks.is_empty() && !self.remarked.swap(true, Ordering::Relaxed) {
            for remark in remarks.lines() {
                tracing::warn!("{remark}");
            }
        }
    }

    fn take(&self) -> Result<Worker, EngineError> {
        let mut state = self.state();
        let waiting = state.waiting.pop_front();
        self.refill(&mut state)?;
        match waiting {
            Some(worker) => Ok(worker),
            None => state.waiting.pop_front().ok_or(EngineError::NotReady),
        }
    }

    fn refill(&self, state: &mut State) -> Result<(), EngineError> {
        let failed = |source| EngineError::Start {
            program: self.command.program.display().to_string(),
            source,
        };
        let zygote = match &state.zygote {
            Some(zygote) if !zygote.is_gone() => Arc::clone(zygote),
            _ => {
                state.waiting.clear();
                Arc::clone(state.zygote.insert(Zygote::spawn(&self.command).map_err(failed)?))
            }
        };
        while state.waiting.len() < AHEAD {
            state.waiting.push_back(zygote.fork().map_err(failed)?);
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
