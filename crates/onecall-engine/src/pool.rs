//! Workers forked ahead, so that a program never waits for one to warm up.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use onecall_core::Failure;
use onecall_jail::Mode;
use thiserror::Error;
use tokio::sync::Semaphore;

use crate::examination::Examination;
use crate::worker::Worker;
use crate::workspace::Quota;
use crate::zygote::{Zygote, ZygoteCommand};

/// Workers kept waiting for a program.
const AHEAD: usize = 2;

/// A program has the processor to itself for so long before the worker that it took is replaced.
/// Most are over by then.
const HEAD_START: Duration = Duration::from_millis(250);

/// The answer of one that is over goes out first.
const AFTERWARDS: Duration = Duration::from_millis(5);

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
    /// A worker could break out of what it said are its walls.
    #[error("{faults}; programs run nevertheless with `sandbox: best-effort` or `sandbox: off`")]
    Unsafe {
        /// Which walls do not hold, and why.
        faults: String,
    },
    /// There is no interpreter, or not one that can be used.
    #[error("{reason}")]
    NoInterpreter {
        /// What was looked for and what was found.
        reason: String,
    },
}

impl EngineError {
    /// The same to whoever waits for a program.
    pub(crate) fn failure(&self) -> Failure {
        Failure::EngineUnavailable { reason: self.to_string() }
    }
}

/// An engine: a zygote and its waiting workers. A zygote that dies is replaced
/// when the next program arrives.
#[derive(Debug)]
pub(crate) struct Engine {
    command: ZygoteCommand,
    mode: Mode,
    pub(crate) quota: Option<Quota>,
    state: Mutex<State>,
    turns: Arc<Semaphore>,
    remarked: AtomicBool,
    forked: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    zygote: Option<Arc<Zygote>>,
    waiting: VecDeque<Worker>,
}

impl State {
    fn living_zygote(&self) -> Option<Arc<Zygote>> {
        self.zygote.as_ref().filter(|zygote| !zygote.is_gone()).map(Arc::clone)
    }
}

impl Engine {
    /// An engine that starts its zygote with `command`, when first needed. Its
    /// programs together may fill the workspace up to `quota`.
    pub(crate) fn new(command: ZygoteCommand, mode: Mode, quota: Option<Quota>) -> Self {
        Self {
            command,
            mode,
            quota,
            state: Mutex::default(),
            turns: Arc::new(Semaphore::new(MAX_AT_ONCE)),
            remarked: AtomicBool::new(false),
            forked: AtomicU64::new(0),
        }
    }

    /// How many workers it has had so far.
    pub(crate) fn forked(&self) -> u64 {
        self.forked.load(Ordering::Relaxed)
    }

    /// Starts the zygote and its first workers, so that the first program finds
    /// them ready and their walls tested.
    pub(crate) async fn warm_up(&self) -> Result<(), EngineError> {
        let zygote = self.refill(&mut self.state())?;
        self.examined(&zygote).await.map(drop)
    }

    /// What a worker found when it tested its walls.
    pub(crate) async fn examine(&self) -> Result<Examination, EngineError> {
        let zygote = self.refill(&mut self.state())?;
        let mut worker = self.fork(&zygote)?;
        ready(&mut worker).await?;
        let examined = tokio::time::timeout(READY_TIMEOUT, worker.examine()).await;
        examined.map_err(|_| EngineError::NotReady)?.map_err(|reason| EngineError::Died { reason })
    }

    /// A worker that waits for its program.
    pub(crate) async fn worker(self: &Arc<Self>) -> Result<Worker, EngineError> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        let mut last_error = EngineError::NotReady;
        // A waiting worker may have died with its zygote; the next one comes
        // from a new zygote.
        for _ in 0..=AHEAD {
            let (mut worker, zygote) = self.take()?;
            match tokio::join!(ready(&mut worker), self.examined(&zygote)) {
                (Ok(()), Ok(())) => {
                    worker.hold(turn);
                    return Ok(worker);
                }
                (Err(error @ EngineError::Died { .. }), _)
                | (_, Err(error @ EngineError::Died { .. })) => last_error = error,
                (Err(error), _) | (_, Err(error)) => return Err(error),
            }
        }
        Err(last_error)
    }

    /// Waits until a worker that was kept may run another program.
    pub(crate) async fn take_turn(&self, worker: &mut Worker) {
        worker.hold(Arc::clone(&self.turns).acquire_owned().await.ok());
    }

    /// Has one worker of each zygote test the walls, which are the same for all, and
    /// decides whether they are good enough for a program.
    async fn examined(&self, zygote: &Arc<Zygote>) -> Result<(), EngineError> {
        if self.mode == Mode::Off {
            return Ok(());
        }
        let faults = zygote.examination.get_or_try_init(|| self.examine()).await?.faults();
        if faults.is_empty() {
            return Ok(());
        }
        if self.mode == Mode::Required {
            return Err(EngineError::Unsafe { faults: faults.join("; ") });
        }
        if !self.remarked.swap(true, Ordering::Relaxed) {
            for fault in faults {
                tracing::warn!("{fault}");
            }
        }
        Ok(())
    }

    fn take(self: &Arc<Self>) -> Result<(Worker, Arc<Zygote>), EngineError> {
        let mut state = self.state();
        if state.waiting.len() == AHEAD
            && let Some(zygote) = state.living_zygote()
            && let Some(worker) = state.waiting.pop_front()
        {
            tokio::spawn(replenish_after(HEAD_START, Arc::downgrade(self)));
            return Ok((worker, zygote));
        }
        // Another program has just begun, so a third may follow.
        let waiting = state.waiting.pop_front();
        let zygote = self.refill(&mut state)?;
        let worker = waiting.or_else(|| state.waiting.pop_front()).ok_or(EngineError::NotReady)?;
        Ok((worker, zygote))
    }

    /// Has the worker of a program that is over replaced.
    pub(crate) fn replenish(self: &Arc<Self>) {
        tokio::spawn(replenish_after(AFTERWARDS, Arc::downgrade(self)));
    }

    fn refill(&self, state: &mut State) -> Result<Arc<Zygote>, EngineError> {
        let zygote = match state.living_zygote() {
            Some(zygote) => zygote,
            None => {
                state.waiting.clear();
                let zygote = Zygote::spawn(&self.command);
                Arc::clone(state.zygote.insert(zygote.map_err(|error| self.start_error(error))?))
            }
        };
        while state.waiting.len() < AHEAD {
            state.waiting.push_back(self.fork(&zygote)?);
        }
        Ok(zygote)
    }

    fn fork(&self, zygote: &Arc<Zygote>) -> Result<Worker, EngineError> {
        let worker = zygote.fork().map_err(|error| self.start_error(error))?;
        self.forked.fetch_add(1, Ordering::Relaxed);
        Ok(worker)
    }

    fn start_error(&self, source: io::Error) -> EngineError {
        EngineError::Start { program: self.command.program.display().to_string(), source }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces the workers that were taken, unless the engine is gone by then.
async fn replenish_after(time: Duration, engine: Weak<Engine>) {
    tokio::time::sleep(time).await;
    let Some(engine) = engine.upgrade() else { return };
    let mut state = engine.state();
    if state.living_zygote().is_some() {
        // What fails now will fail for the next program, which is told.
        _ = engine.refill(&mut state);
    }
}

async fn ready(worker: &mut Worker) -> Result<(), EngineError> {
    match tokio::time::timeout(READY_TIMEOUT, worker.ready()).await {
        Ok(ready) => ready.map_err(|reason| EngineError::Died { reason }),
        Err(_) => Err(EngineError::NotReady),
    }
}
