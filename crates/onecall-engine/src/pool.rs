//! A pool of workers that are forked in advance, so that a program does not wait for one to start.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use onecall_core::Failure;
use onecall_jail::{JailError, Mode, Property, Requirement};
use thiserror::Error;

use crate::examination::Examination;
use crate::files::Files;
use crate::registry::{EngineMismatch, Offers};
use crate::scratch::Provision;
use crate::worker::{StartError, Worker};
use crate::workspace::Quota;
use crate::zygote::{Zygote, ZygoteCommand};

/// How many idle workers an engine keeps, however many programs run.
const AHEAD: usize = 2;

/// How long the replacement of a worker is delayed, so that its program has the processor to
/// itself. Most programs have ended by then.
const HEAD_START: Duration = Duration::from_millis(250);

/// The delay after a program has ended, so that its answer is sent first.
const AFTERWARDS: Duration = Duration::from_millis(5);

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
    #[error("the sandbox does not keep programs from {} (`{}`): {reason}; {way_out}",
        property.kept_from(), property.name())]
    Unsafe {
        /// The property.
        property: Property,
        /// Which walls are missing, or how an attempt to break out succeeded.
        reason: String,
        /// How to run programs nevertheless.
        way_out: String,
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
        Failure::EngineUnavailable { reason: self.to_string() }
    }
}

/// An engine: a zygote and its idle workers. A zygote that has died is replaced when the next
/// program arrives.
#[derive(Debug)]
pub(crate) struct Engine {
    command: ZygoteCommand,
    sandbox: Requirement,
    /// The features that it offers to programs.
    pub(crate) offers: Offers,
    pub(crate) quota: Option<Quota>,
    /// The files that the gateway opens for its programs; `None` if they open files themselves.
    pub(crate) files: Option<Arc<Files>>,
    /// How programs get a scratch folder.
    pub(crate) provision: Provision,
    /// How many idle workers are kept.
    ahead: usize,
    state: Mutex<State>,
    remarked: AtomicBool,
    forked: Arc<AtomicU64>,
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
    /// Creates an engine that starts its zygote with `command` when it is first needed. Its
    /// programs together may fill the workspace up to `quota`; the gateway opens `files` for them.
    pub(crate) fn new(
        command: ZygoteCommand,
        sandbox: Requirement,
        offers: Offers,
        quota: Option<Quota>,
        files: Option<Files>,
        provision: Provision,
    ) -> Self {
        Self {
            command,
            sandbox,
            offers,
            quota,
            files: files.map(Arc::new),
            provision,
            ahead: AHEAD,
            state: Mutex::default(),
            remarked: AtomicBool::new(false),
            forked: Arc::default(),
        }
    }

    /// Makes this an engine for a single program, whose workers are counted as those of `other`.
    pub(crate) fn for_one_program(mut self, other: &Self) -> Self {
        self.ahead = 0;
        self.forked = Arc::clone(&other.forked);
        self
    }

    /// How many workers it has forked.
    pub(crate) fn forked(&self) -> u64 {
        self.forked.load(Ordering::Relaxed)
    }

    /// Starts the zygote and its first workers and tests their sandbox, so that the first program
    /// does not have to wait for that.
    pub(crate) async fn warm_up(&self) -> Result<(), EngineError> {
        let zygote = self.refill(&mut self.state())?;
        self.examined(&zygote).await.map(drop)
    }

    /// Forks a worker, which tests its sandbox and returns its report.
    pub(crate) async fn examine(&self) -> Result<Examination, EngineError> {
        let zygote = self.refill(&mut self.state())?;
        let mut worker = self.fork(&zygote)?;
        ready(&mut worker).await?;
        let examined = tokio::time::timeout(READY_TIMEOUT, worker.examine()).await;
        Ok(examined.map_err(|_| EngineError::NotReady)??)
    }

    /// Takes a worker that is ready for a program.
    pub(crate) async fn worker(self: &Arc<Self>) -> Result<Worker, EngineError> {
        let mut last_error = EngineError::NotReady;
        // An idle worker may have died with its zygote; the next one comes from a new zygote.
        for _ in 0..=AHEAD {
            let (mut worker, zygote) = self.take()?;
            match tokio::join!(ready(&mut worker), self.examined(&zygote)) {
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
    async fn examined(&self, zygote: &Arc<Zygote>) -> Result<(), EngineError> {
        if self.sandbox.mode == Mode::Off {
            return Ok(());
        }
        let examination = zygote.examination.get_or_try_init(|| self.examine()).await?;
        for property in Property::ALL {
            let Some(reason) = examination.fault(property) else { continue };
            if self.sandbox.demands(property) {
                let way_out = self.sandbox.way_out(property);
                return Err(EngineError::Unsafe { property, reason, way_out });
            }
            if !self.remarked.load(Ordering::Relaxed) {
                let (kept_from, name) = (property.kept_from(), property.name());
                tracing::warn!(
                    "the sandbox does not keep programs from {kept_from} (`{name}`): {reason}"
                );
            }
        }
        self.remarked.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn take(self: &Arc<Self>) -> Result<(Worker, Arc<Zygote>), EngineError> {
        let mut state = self.state();
        if self.ahead == 0 {
            let zygote = self.refill(&mut state)?;
            return Ok((self.fork(&zygote)?, zygote));
        }
        if state.waiting.len() == self.ahead
            && let Some(zygote) = state.living_zygote()
            && let Some(worker) = state.waiting.pop_front()
        {
            tokio::spawn(replenish_after(HEAD_START, Arc::downgrade(self)));
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
        tokio::spawn(replenish_after(AFTERWARDS, Arc::downgrade(self)));
    }

    fn refill(&self, state: &mut State) -> Result<Arc<Zygote>, EngineError> {
        let zygote = match state.living_zygote() {
            Some(zygote) => zygote,
            None => {
                self.sandbox.check_system()?;
                state.waiting.clear();
                let zygote = Zygote::spawn(&self.command);
                Arc::clone(state.zygote.insert(zygote.map_err(|error| self.start_error(error))?))
            }
        };
        while state.waiting.len() < self.ahead {
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refills the pool after a delay, unless the engine is gone by then.
async fn replenish_after(time: Duration, engine: Weak<Engine>) {
    tokio::time::sleep(time).await;
    let Some(engine) = engine.upgrade() else { return };
    let mut state = engine.state();
    if state.living_zygote().is_some() {
        // An error will occur again for the next program, which reports it.
        _ = engine.refill(&mut state);
    }
}

async fn ready(worker: &mut Worker) -> Result<(), EngineError> {
    match tokio::time::timeout(READY_TIMEOUT, worker.ready()).await {
        Ok(ready) => Ok(ready?),
        Err(_) => Err(EngineError::NotReady),
    }
}
