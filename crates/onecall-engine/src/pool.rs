//! A pool of workers that are forked in advance, so that a program does not wait for one to start.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use onecall_core::{Failure, Unavailability};
use onecall_jail::{JailError, JailMode, Property, Requirement};
use thiserror::Error;
use tokio::sync::watch;

use crate::files::FileServer;
use crate::registry::EngineMismatch;
use crate::sandbox_report::SandboxReport;
use crate::scratch::ScratchProvision;
use crate::worker::{StartError, Worker};
use crate::workspace::Quota;
use crate::zygote::{Zygote, ZygoteCommand};

/// How many idle workers an engine keeps, however many programs run.
const IDLE_WORKERS: usize = 2;

/// How long the replacement of a worker is delayed, so that its program has the processor to
/// itself. Most programs have ended by then.
const REPLENISH_DELAY: Duration = Duration::from_millis(250);

/// The delay after a program has ended, so that its answer is sent first.
const REPLENISH_DELAY_AFTER_END: Duration = Duration::from_millis(5);

/// The timeout for a worker to become ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// Why an engine has no worker.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The operating system could not start the process.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The executable.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The process died before it could take a program.
    #[error("its worker died while starting: {reason}")]
    Died {
        /// What is known about the death of the process.
        reason: String,
    },
    /// The process started but did not become ready in time.
    #[error("its worker was not ready within {}s", READY_TIMEOUT.as_secs())]
    NotReady,
    /// A sandbox property that the configuration requires does not hold.
    #[error("the sandbox does not keep programs from {} (`{}`): {reason}; {workaround}",
        property.prevented_actions(), property.name())]
    Unsafe {
        /// The property.
        property: Property,
        /// Which walls are missing, or how an attempt to break out succeeded.
        reason: String,
        /// How to run programs nevertheless.
        workaround: String,
    },
    /// The configuration requires a sandbox, and this operating system has none.
    #[error(transparent)]
    NoSandbox(#[from] JailError),
    /// No engine runs the language, or the requested one does not.
    #[error(transparent)]
    Mismatch(#[from] EngineMismatch),
    /// No usable interpreter was found.
    #[error("{reason}")]
    NoInterpreter {
        /// The first interpreter that was tried, and why it cannot be used.
        reason: String,
    },
}

impl From<StartError> for EngineError {
    fn from(error: StartError) -> Self {
        Self::Died { reason: error.to_string() }
    }
}

impl EngineError {
    /// The error as the failure of a program that could not be run.
    pub(crate) fn failure(&self) -> Failure {
        let lasts = match self {
            Self::Start { .. } | Self::Died { .. } | Self::NotReady => Unavailability::Passing,
            Self::Unsafe { .. }
            | Self::NoSandbox(_)
            | Self::Mismatch(_)
            | Self::NoInterpreter { .. } => Unavailability::Lasting,
        };
        Failure::EngineUnavailable { reason: self.to_string(), lasts }
    }
}

/// The workers of an engine: a zygote and its idle workers. A zygote that has died is replaced when
/// the next program arrives.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    command: ZygoteCommand,
    sandbox: Requirement,
    pub(crate) quota: Option<Quota>,
    /// The files that the gateway opens for its programs; `None` if they open files themselves.
    pub(crate) files: Option<Arc<FileServer>>,
    /// How programs get a scratch folder.
    pub(crate) provision: ScratchProvision,
    /// How many idle workers are kept.
    idle_workers: usize,
    state: Mutex<PoolState>,
    has_warned: AtomicBool,
    forked: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct PoolState {
    zygote: Option<Arc<Zygote>>,
    waiting: VecDeque<Worker>,
}

impl PoolState {
    fn living_zygote(&self) -> Option<Arc<Zygote>> {
        self.zygote.as_ref().filter(|zygote| !zygote.is_gone()).map(Arc::clone)
    }
}

impl WorkerPool {
    /// Creates a pool that starts its zygote with `command` when it is first needed. Its
    /// programs together may fill the workspace up to `quota`; the gateway opens `files` for them.
    pub(crate) fn new(
        command: ZygoteCommand,
        sandbox: Requirement,
        quota: Option<Quota>,
        files: Option<FileServer>,
        provision: ScratchProvision,
    ) -> Self {
        Self {
            command,
            sandbox,
            quota,
            files: files.map(Arc::new),
            provision,
            idle_workers: IDLE_WORKERS,
            state: Mutex::default(),
            has_warned: AtomicBool::new(false),
            forked: Arc::default(),
        }
    }

    /// Makes this a pool for a single program, whose workers are counted as those of `other`.
    pub(crate) fn for_one_program(mut self, other: &Self) -> Self {
        self.idle_workers = 0;
        self.forked = Arc::clone(&other.forked);
        self
    }

    /// How many workers it has forked.
    pub(crate) fn forked(&self) -> u64 {
        self.forked.load(Ordering::Relaxed)
    }

    /// Starts the zygote and its first workers and tests their sandbox, so that the first program
    /// does not have to wait for that. Workers that were forked before the zygote was prepared are replaced
    /// later.
    pub(crate) async fn warm_up(self: &Arc<Self>) -> Result<(), EngineError> {
        let zygote = self.refill(&mut self.state())?;
        let is_prepared = zygote.is_prepared();
        if !*is_prepared.borrow() {
            tokio::spawn(replace_when_prepared(is_prepared, Arc::downgrade(self)));
        }
        self.check_sandbox(&zygote).await.map(drop)
    }

    /// Returns when the zygote has prepared itself as far as it can, or is gone.
    pub(crate) async fn prepared(&self) {
        let zygote = self.state().living_zygote();
        let Some(mut is_prepared) = zygote.map(|zygote| zygote.is_prepared()) else { return };
        // An error means that the zygote is gone.
        _ = is_prepared.wait_for(|is_prepared| *is_prepared).await;
    }

    /// Forks a worker, which tests its sandbox and returns its report.
    pub(crate) async fn test_sandbox(&self) -> Result<SandboxReport, EngineError> {
        let zygote = self.refill(&mut self.state())?;
        let mut worker = self.fork(&zygote)?;
        ready(&mut worker).await?;
        let examined = tokio::time::timeout(READY_TIMEOUT, worker.test_sandbox()).await;
        Ok(examined.map_err(|_| EngineError::NotReady)??)
    }

    /// Takes a worker that is ready for a program.
    pub(crate) async fn take_worker(self: &Arc<Self>) -> Result<Worker, EngineError> {
        let mut last_error = EngineError::NotReady;
        // An idle worker may have died with its zygote; the next one comes from a new zygote.
        for _ in 0..=IDLE_WORKERS {
            let (mut worker, zygote) = self.take_idle()?;
            match tokio::join!(ready(&mut worker), self.check_sandbox(&zygote)) {
                (Ok(()), Ok(())) => return Ok(worker),
                (Err(error @ EngineError::Died { .. }), _)
                | (_, Err(error @ EngineError::Died { .. })) => last_error = error,
                (Err(error), _) | (_, Err(error)) => return Err(error),
            }
        }
        Err(last_error)
    }

    /// Decides whether the sandbox is good enough for a program. One worker of each zygote tests
    /// it; the result is valid for all of them.
    async fn check_sandbox(&self, zygote: &Arc<Zygote>) -> Result<(), EngineError> {
        if self.sandbox.mode == JailMode::Off {
            return Ok(());
        }
        let sandbox_report = zygote.sandbox_report.get_or_try_init(|| self.test_sandbox()).await?;
        for property in Property::ALL {
            let Some(reason) = sandbox_report.fault(property) else { continue };
            if self.sandbox.demands(property) {
                let workaround = self.sandbox.workaround(property);
                return Err(EngineError::Unsafe { property, reason, workaround });
            }
            if !self.has_warned.load(Ordering::Relaxed) {
                let (prevented_actions, name) = (property.prevented_actions(), property.name());
                tracing::warn!(
                    "the sandbox does not keep programs from {prevented_actions} (`{name}`): {reason}"
                );
            }
        }
        self.has_warned.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn take_idle(self: &Arc<Self>) -> Result<(Worker, Arc<Zygote>), EngineError> {
        let mut state = self.state();
        if self.idle_workers == 0 {
            let zygote = self.refill(&mut state)?;
            return Ok((self.fork(&zygote)?, zygote));
        }
        if state.waiting.len() == self.idle_workers
            && let Some(zygote) = state.living_zygote()
            && let Some(worker) = state.waiting.pop_front()
        {
            tokio::spawn(replenish_after(REPLENISH_DELAY, Arc::downgrade(self)));
            return Ok((worker, zygote));
        }
        // Two programs have started in a short time, so a third may follow: the pool is refilled
        // now.
        let waiting = state.living_zygote().and_then(|_| state.waiting.pop_front());
        let zygote = self.refill(&mut state)?;
        let worker = waiting.or_else(|| state.waiting.pop_front()).ok_or(EngineError::NotReady)?;
        Ok((worker, zygote))
    }

    /// Replaces the worker of a program that has ended.
    pub(crate) fn replenish(self: &Arc<Self>) {
        tokio::spawn(replenish_after(REPLENISH_DELAY_AFTER_END, Arc::downgrade(self)));
    }

    fn refill(&self, state: &mut PoolState) -> Result<Arc<Zygote>, EngineError> {
        let zygote = match state.living_zygote() {
            Some(zygote) => zygote,
            None => {
                self.sandbox.check_system()?;
                state.waiting.clear();
                let zygote = Zygote::spawn(&self.command);
                Arc::clone(state.zygote.insert(zygote.map_err(|error| self.start_error(error))?))
            }
        };
        while state.waiting.len() < self.idle_workers {
            state.waiting.push_back(self.fork(&zygote)?);
        }
        Ok(zygote)
    }

    fn fork(&self, zygote: &Arc<Zygote>) -> Result<Worker, EngineError> {
        let worker = zygote.fork(self.files.as_ref()).map_err(|error| self.start_error(error))?;
        self.forked.fetch_add(1, Ordering::Relaxed);
        Ok(worker)
    }

    fn start_error(&self, source: io::Error) -> EngineError {
        EngineError::Start { program: self.command.program.display().to_string(), source }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refills the pool after a delay, unless the pool is gone by then.
async fn replenish_after(time: Duration, pool: Weak<WorkerPool>) {
    tokio::time::sleep(time).await;
    let Some(pool) = pool.upgrade() else { return };
    let mut state = pool.state();
    if state.living_zygote().is_some() {
        // An error will occur again for the next program, which reports it.
        _ = pool.refill(&mut state);
    }
}

/// Replaces the idle workers when their zygote is prepared, unless the pool or the zygote is gone by then.
async fn replace_when_prepared(mut is_prepared: watch::Receiver<bool>, pool: Weak<WorkerPool>) {
    if is_prepared.wait_for(|is_prepared| *is_prepared).await.is_err() {
        return;
    }
    let Some(pool) = pool.upgrade() else { return };
    let mut state = pool.state();
    if state.living_zygote().is_some() {
        state.waiting.clear();
        // An error will occur again for the next program, which reports it.
        _ = pool.refill(&mut state);
    }
}

async fn ready(worker: &mut Worker) -> Result<(), EngineError> {
    match tokio::time::timeout(READY_TIMEOUT, worker.ready()).await {
        Ok(ready) => Ok(ready?),
        Err(_) => Err(EngineError::NotReady),
    }
}
