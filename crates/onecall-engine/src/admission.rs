//! Admission control: limits how many programs run at once and how much memory they have together,
//! over all engines.
//!
//! A program reserves its memory limit when it begins and releases it when it ends. Programs that
//! do not fit wait. The users take turns, and the programs of one user begin in the order of their
//! arrival (`fair_queue.rs`). The program whose turn it is is not overtaken because it needs more memory
//! than others, so small programs that came later cannot delay a large one forever. The worker of a
//! session keeps its reservation between programs; an idle one is ended when the program whose turn it
//! is needs its memory.

mod fair_queue;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_core::{Failure, TotalLimits};
use tokio::sync::oneshot;

use self::fair_queue::FairQueue;
use crate::machine_memory;
use crate::worker::Worker;

/// How many programs may wait; further ones are refused. A user who has only a few of them may still
/// add one: of a full queue, each user may take an equal share.
const MAX_WAITING: usize = 1_000;

const MEBIBYTE: u64 = 1024 * 1024;

/// The advice for a program that was refused because too many programs run.
const RETRY_ADVICE: &str = "nothing of it was executed; run it again later, or raise 'max_programs' and \
     'max_total_memory_mb' in execution";

/// How busy the engines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Programs that are running.
    pub running: usize,
    /// Programs that wait until others end.
    pub waiting: usize,
    /// Bytes of memory that programs and idle sessions have reserved.
    pub reserved_bytes: u64,
    /// Bytes of memory that they may reserve together.
    pub total_bytes: u64,
}

/// Decides which programs may run.
#[derive(Debug)]
pub(crate) struct Admission(Mutex<AdmissionState>);

#[derive(Debug)]
struct AdmissionState {
    totals: TotalLimits,
    /// The total memory if none is configured.
    default_total: u64,
    /// How many programs one user may run at once, if that is limited.
    per_user: Option<usize>,
    running: usize,
    /// How many programs of each user run. Users without programs are not in it.
    running_of: HashMap<Arc<str>, usize>,
    /// How many programs of each user other gateways run.
    running_elsewhere: HashMap<Arc<str>, usize>,
    reserved: u64,
    queue: FairQueue<Waiter>,
    /// Idle workers, in the order in which they became idle.
    idle: VecDeque<Arc<IdleWorker>>,
}

#[derive(Debug)]
struct Waiter {
    memory: u64,
    admitted: oneshot::Sender<AdmissionPermit>,
}

/// The right to run of one program, with the memory that is reserved for it.
#[derive(Debug)]
pub(crate) struct AdmissionPermit {
    running_slot: RunningSlot,
    /// The reservation; `None` if the worker of a session holds it already.
    pub(crate) memory: Option<Reservation>,
}

/// One of the programs that run at once. When it is dropped, the next one can begin.
#[derive(Debug)]
struct RunningSlot {
    admission: Arc<Admission>,
    user: Arc<str>,
}

/// Memory that is reserved until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    admission: Arc<Admission>,
    bytes: u64,
}

/// A worker that keeps the variables of a session between two programs.
#[derive(Debug)]
pub(crate) struct KeptWorker {
    pub(crate) worker: Worker,
    pub(crate) memory: Reservation,
}

/// The slot of a kept worker. It is empty once the worker has been taken for a program or ended.
#[derive(Debug)]
struct IdleWorker {
    bytes: u64,
    kept: Mutex<Option<KeptWorker>>,
}

/// A session's handle to its worker, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct IdleWorkerHandle(Arc<IdleWorker>);

impl Admission {
    pub(crate) fn new(totals: TotalLimits) -> Arc<Self> {
        Arc::new(Self(Mutex::new(AdmissionState {
            totals,
            default_total: machine_memory::default_total(),
            per_user: None,
            running: 0,
            running_of: HashMap::new(),
            running_elsewhere: HashMap::new(),
            reserved: 0,
            queue: FairQueue::default(),
            idle: VecDeque::new(),
        })))
    }

    /// Replaces the limits. Programs that are running keep what they have reserved.
    pub(crate) fn set_totals(self: &Arc<Self>, totals: TotalLimits) {
        self.state().totals = totals;
        self.admit_waiting();
    }

    /// Sets how many programs one user may run at once. Programs that are running go on.
    pub(crate) fn set_programs_per_user(self: &Arc<Self>, limit: Option<usize>) {
        self.state().per_user = limit;
        self.admit_waiting();
    }

    /// How many programs of each user run.
    pub(crate) fn programs_by_user(&self) -> HashMap<Arc<str>, usize> {
        self.state().running_of.clone()
    }

    /// Sets how many programs of each user other gateways run. They count for the limit of a user.
    pub(crate) fn set_programs_elsewhere(self: &Arc<Self>, programs: HashMap<Arc<str>, usize>) {
        self.state().running_elsewhere = programs;
        self.admit_waiting();
    }

    pub(crate) fn load(&self) -> Load {
        let mut state = self.state();
        state.remove_cancelled();
        Load {
            running: state.running,
            waiting: state.queue.len(),
            reserved_bytes: state.reserved,
            total_bytes: state.total_for(0),
        }
    }

    /// Waits until a program of `user` may run that needs `memory`; `None` if its worker has a
    /// reservation already. If it has to wait, for at most `queue_timeout`, `on_queued` is called with
    /// the number of programs whose turn is before its own. Without a timeout it waits however long that
    /// takes, and a full queue does not refuse it.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        user: &str,
        memory: Option<u64>,
        queue_timeout: Option<Duration>,
        on_queued: impl FnOnce(usize),
    ) -> Result<AdmissionPermit, Failure> {
        let memory = memory.unwrap_or(0);
        let (queued, before) = {
            let mut state = self.state();
            if memory > state.total_for(memory) {
                return Err(exceeds_total_memory(memory, state.total_for(memory)));
            }
            state.remove_cancelled();
            let has_turn = memory == 0 || state.next_user().is_none();
            if has_turn && state.may_run_more(user) && state.has_room(memory) {
                return Ok(state.admit(self, user.into(), memory));
            }
            if queue_timeout.is_some() && state.queue.is_full_for(user, MAX_WAITING) {
                let (running, waiting) = (state.running, state.queue.len());
                let reason = format!("{running} run and {waiting} wait already; {RETRY_ADVICE}");
                return Err(Failure::TooManyPrograms { reason });
            }
            let (admitted, permit) = oneshot::channel();
            let before = state.queue.push(user, Waiter { memory, admitted });
            (PendingAdmission { admission: Arc::clone(self), permit }, before)
        };
        self.admit_waiting();
        queued.wait(memory, queue_timeout, || on_queued(before)).await
    }

    /// Keeps a worker for the next program of its session.
    pub(crate) fn keep(&self, kept: KeptWorker) -> IdleWorkerHandle {
        let bytes = kept.memory.bytes;
        let worker = Arc::new(IdleWorker { bytes, kept: Mutex::new(Some(kept)) });
        let mut state = self.state();
        state.idle.retain(|idle| idle.is_alive());
        state.idle.push_back(Arc::clone(&worker));
        IdleWorkerHandle(worker)
    }

    /// Lets every program begin that can begin now.
    fn admit_waiting(self: &Arc<Self>) {
        // Values that are dropped here may call this function again, so the lock must not be held.
        while let Some(step) = self.next_step() {
            match step {
                // If the receiver has gone away, dropping the permit releases it.
                AdmissionStep::Begin(admitted, permit) => drop(admitted.send(permit)),
                AdmissionStep::End(worker) => drop(worker),
            }
        }
    }

    fn next_step(self: &Arc<Self>) -> Option<AdmissionStep> {
        self.state().next_step(self)
    }

    fn state(&self) -> MutexGuard<'_, AdmissionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One step towards admitting the programs that wait.
enum AdmissionStep {
    /// A program can begin.
    Begin(oneshot::Sender<AdmissionPermit>, AdmissionPermit),
    /// An idle session has to be ended for its memory.
    End(KeptWorker),
}

impl AdmissionState {
    /// The memory that all programs may use together. Without a configured total, a single program
    /// may always use its own limit.
    fn total_for(&self, memory: u64) -> u64 {
        self.totals.memory_bytes.unwrap_or(self.default_total.max(memory))
    }

    fn fits(&self, memory: u64, reserved: u64) -> bool {
        memory == 0 || reserved.saturating_add(memory) <= self.total_for(memory)
    }

    fn has_room(&self, memory: u64) -> bool {
        self.running < self.totals.max_programs && self.fits(memory, self.reserved)
    }

    /// Whether the user has fewer programs running than one user may have.
    fn may_run_more(&self, user: &str) -> bool {
        let count = |programs: &HashMap<Arc<str>, usize>| programs.get(user).copied().unwrap_or(0);
        let running = count(&self.running_of).saturating_add(count(&self.running_elsewhere));
        self.per_user.is_none_or(|limit| running < limit)
    }

    /// The user whose turn it is. Users who may not run more programs are passed over.
    fn next_user(&self) -> Option<Arc<str>> {
        self.queue.users().find(|user| self.may_run_more(user)).cloned()
    }

    fn admit(
        &mut self,
        admission: &Arc<Admission>,
        user: Arc<str>,
        memory: u64,
    ) -> AdmissionPermit {
        self.running += 1;
        *self.running_of.entry(Arc::clone(&user)).or_default() += 1;
        self.reserved = self.reserved.saturating_add(memory);
        let memory =
            (memory > 0).then(|| Reservation { admission: Arc::clone(admission), bytes: memory });
        let running_slot = RunningSlot { admission: Arc::clone(admission), user };
        AdmissionPermit { running_slot, memory }
    }

    /// Notes that a program of the user has ended.
    fn release(&mut self, user: &Arc<str>) {
        self.running = self.running.saturating_sub(1);
        if let Some(running) = self.running_of.get_mut(user) {
            *running = running.saturating_sub(1);
            if *running == 0 {
                self.running_of.remove(user);
            }
        }
    }

    /// Removes programs from the queue that were cancelled, or that can never begin because the
    /// limits have changed.
    fn remove_cancelled(&mut self) {
        let mut queue = std::mem::take(&mut self.queue);
        queue.retain(|waiter: &Waiter| {
            !waiter.admitted.is_closed() && waiter.memory <= self.total_for(waiter.memory)
        });
        self.queue = queue;
    }

    fn next_step(&mut self, admission: &Arc<Admission>) -> Option<AdmissionStep> {
        self.remove_cancelled();
        let user = self.next_user()?;
        let first = self.queue.first(&user)?.memory;
        if self.has_room(first) {
            return self.begin(user, 0, admission);
        }
        if self.running >= self.totals.max_programs {
            return None;
        }
        if let Some(worker) = self.evict_idle(first) {
            return Some(AdmissionStep::End(worker));
        }
        // A session's program has its memory already, so it may begin before the program whose turn it
        // is, which may get that memory later.
        let has_memory = |waiter: &Waiter| waiter.memory == 0;
        let position = |user: &Arc<str>| {
            let position = self.queue.position(user, has_memory)?;
            self.may_run_more(user).then(|| (Arc::clone(user), position))
        };
        let (user, position) = self.queue.users().find_map(position)?;
        self.begin(user, position, admission)
    }

    /// Lets the program at a position of its user's queue begin.
    fn begin(
        &mut self,
        user: Arc<str>,
        position: usize,
        admission: &Arc<Admission>,
    ) -> Option<AdmissionStep> {
        let Waiter { memory, admitted } = self.queue.remove(&user, position)?;
        Some(AdmissionStep::Begin(admitted, self.admit(admission, user, memory)))
    }

    /// Takes the worker that has been idle for the longest time, if ending idle workers can make
    /// room for `memory`.
    fn evict_idle(&mut self, memory: u64) -> Option<KeptWorker> {
        self.idle.retain(|idle| idle.is_alive());
        let idle: u64 = self.idle.iter().map(|idle| idle.bytes).sum();
        if !self.fits(memory, self.reserved.saturating_sub(idle)) {
            return None;
        }
        // A worker that was taken for a program in the meantime is skipped.
        std::iter::from_fn(|| self.idle.pop_front()).find_map(|idle| idle.take())
    }
}

impl AdmissionPermit {
    /// Whether no other program is running.
    pub(crate) fn is_alone(&self) -> bool {
        self.running_slot.admission.state().running == 1
    }
}

impl Drop for RunningSlot {
    fn drop(&mut self) {
        self.admission.state().release(&self.user);
        self.admission.admit_waiting();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        {
            let mut state = self.admission.state();
            state.reserved = state.reserved.saturating_sub(self.bytes);
        }
        self.admission.admit_waiting();
    }
}

impl IdleWorker {
    fn is_alive(&self) -> bool {
        self.kept().is_some()
    }

    fn take(&self) -> Option<KeptWorker> {
        self.kept().take()
    }

    fn kept(&self) -> MutexGuard<'_, Option<KeptWorker>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleWorkerHandle {
    /// Whether the worker was not ended for its memory.
    pub(crate) fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    /// Takes the worker for a program; `None` if it was ended for its memory.
    pub(crate) fn take(&self) -> Option<KeptWorker> {
        self.0.take()
    }
}

impl Drop for IdleWorkerHandle {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// A program in the queue. It leaves the queue when this is dropped.
struct PendingAdmission {
    admission: Arc<Admission>,
    permit: oneshot::Receiver<AdmissionPermit>,
}

impl PendingAdmission {
    async fn wait(
        mut self,
        memory: u64,
        queue_timeout: Option<Duration>,
        on_queued: impl FnOnce(),
    ) -> Result<AdmissionPermit, Failure> {
        if let Ok(permit) = self.permit.try_recv() {
            return Ok(permit);
        }
        on_queued();
        let Load { running, waiting, .. } = self.admission.load();
        tracing::info!("a program waits: {running} run, {waiting} wait");
        let permit = &mut self.permit;
        let admitted = match queue_timeout {
            Some(queue_timeout) => match tokio::time::timeout(queue_timeout, permit).await {
                Ok(admitted) => admitted,
                Err(_) => return Err(self.timed_out(queue_timeout)),
            },
            None => permit.await,
        };
        admitted.map_err(|_| exceeds_total_memory(memory, self.admission.state().total_for(memory)))
    }

    fn timed_out(&self, queue_timeout: Duration) -> Failure {
        let seconds = queue_timeout.as_secs_f64();
        let Load { running, .. } = self.admission.load();
        let reason =
            format!("{running} still run after it waited {seconds}s for them; {RETRY_ADVICE}");
        Failure::TooManyPrograms { reason }
    }
}

impl Drop for PendingAdmission {
    fn drop(&mut self) {
        self.permit.close();
        // The program may have been admitted at this moment; its permit is released.
        drop(self.permit.try_recv());
        self.admission.admit_waiting();
    }
}

fn exceeds_total_memory(memory: u64, total: u64) -> Failure {
    let (memory, total) = (memory / MEBIBYTE, total / MEBIBYTE);
    let message = format!(
        "the program may use {memory} MB of memory, but all programs together only {total} MB; \
         raise 'max_total_memory_mb' in execution, or lower 'memory_mb'"
    );
    Failure::refused("MemoryLimit", message)
}

#[cfg(test)]
mod tests;
