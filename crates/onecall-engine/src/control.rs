//! Control over a run from outside of its program: calls that wait for a person, and the journal
//! that makes a run repeatable.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use onecall_core::{InPlaceReason, RunEngine, RunLimits};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::protocol::JournalStart;

/// How a run is controlled from outside. The default is a run that belongs to no user, asks no person
/// and has no journal.
#[derive(Clone, Copy, Default)]
pub struct RunControl<'a> {
    /// The user that the run is for. Programs of different users take turns if some have to wait.
    pub user: &'a str,
    /// Whether the worker names the type of the program's last expression, if it has a value.
    pub names_value_type: bool,
    /// The variables of a Python program's top level that can be local variables of its code, one per
    /// line. The program cannot tell the difference. Ignored in a session, whose later programs use
    /// the variables of earlier ones.
    pub fast_names: &'a str,
    /// The calls of the run that wait for a person.
    pub held: Option<&'a HeldCalls>,
    /// Present if the run is journalled.
    pub journal: Option<Journalled<'a>>,
    /// Whether the run was begun by another worker, and calls of it may have happened: it must not fail
    /// because too many programs run, so it waits for its turn however long that takes.
    pub is_continued: bool,
}

impl RunControl<'_> {
    /// How long the run waits for its turn at most; `None` if it waits however long that takes.
    pub(crate) fn queue_timeout(&self, limits: &RunLimits) -> Option<Duration> {
        (!self.is_continued).then_some(limits.timeout)
    }
}

/// What makes a run repeatable.
#[derive(Clone, Copy)]
pub struct Journalled<'a> {
    /// Makes the random numbers of the program.
    pub seed: [u8; 32],
    /// What an earlier worker observed, to be repeated; empty for a new run.
    pub observations: &'a [u8],
    /// Receives what the worker observes and reports from now on.
    pub sink: &'a dyn ObservationSink,
}

impl<'a> Journalled<'a> {
    pub(crate) fn start(&self) -> JournalStart<'a> {
        JournalStart { seed: self.seed, observations: self.observations }
    }
}

/// Receives what the worker of a journalled run reports. The worker is not trusted: the bytes mean
/// nothing to the gateway, and are only given to a later worker of the same run.
pub trait ObservationSink: Send + Sync {
    /// The program is given to this engine. If the engine lacks a module that the program imports,
    /// the program may be given to another engine before it begins.
    fn runs_on(&self, engine: RunEngine);
    /// The worker observed this.
    fn observed(&self, bytes: &[u8]);
    /// The worker has repeated all observations that it was given.
    fn replayed(&self);
    /// The worker cannot repeat the observations: the program now does something else.
    fn diverged(&self, difference: &str);
    /// The run cannot be repeated from now on.
    fn in_place_only(&self, reason: InPlaceReason);
}

/// The calls of one run that wait for a person. While the program waits for nothing else, its time
/// stands still.
#[derive(Debug, Default)]
pub struct HeldCalls {
    ids: watch::Sender<BTreeSet<u64>>,
}

impl HeldCalls {
    /// Marks a call as waiting, until the returned value is dropped.
    pub fn hold(&self, id: u64) -> HeldCall<'_> {
        self.ids.send_modify(|ids| _ = ids.insert(id));
        HeldCall { held: self, id }
    }

    /// Notifies when calls begin to wait or stop waiting.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<BTreeSet<u64>> {
        self.ids.subscribe()
    }

    /// The result of `work`, or `None` if it takes longer than `limit`. Time in which a call waits
    /// for a person does not count.
    pub async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut ids = self.watch();
        let mut time = PausableTime::new(limit);
        let (mut work, mut deadline) = (pin!(work), pin!(tokio::time::sleep(limit)));
        loop {
            let is_held = !ids.borrow_and_update().is_empty();
            let now = Instant::now();
            time.pause(is_held, now);
            deadline.as_mut().reset(time.deadline(now));
            tokio::select! {
                biased;
                result = &mut work => return Some(result),
                () = &mut deadline, if !is_held => return None,
                Ok(()) = ids.changed() => {}
            }
        }
    }
}

/// A call that waits for a person. Dropping it ends the wait.
#[derive(Debug)]
pub struct HeldCall<'a> {
    held: &'a HeldCalls,
    id: u64,
}

impl Drop for HeldCall<'_> {
    fn drop(&mut self) {
        self.held.ids.send_modify(|ids| _ = ids.remove(&self.id));
    }
}

/// A deadline that moves on while it is paused.
#[derive(Debug)]
pub(crate) struct PausableTime {
    deadline: Instant,
    paused: Option<Instant>,
}

impl PausableTime {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { deadline: Instant::now() + limit, paused: None }
    }

    /// Pauses or continues. The result says whether the deadline has moved.
    pub(crate) fn pause(&mut self, pause: bool, now: Instant) -> bool {
        match (pause, self.paused) {
            (true, None) => {
                self.paused = Some(now);
                false
            }
            (false, Some(since)) => {
                self.deadline += now.duration_since(since);
                self.paused = None;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// The deadline, if a pause ends at `now`.
    pub(crate) fn deadline(&self, now: Instant) -> Instant {
        self.deadline + self.paused.map_or(Duration::ZERO, |since| now.duration_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn a_deadline_moves_on_by_the_time_of_each_pause() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut time = PausableTime { deadline: begun + LIMIT, paused: None };
        assert!(!time.pause(false, at(1)));
        assert!(!time.pause(true, at(2)));
        assert!(!time.pause(true, at(3)));
        assert_eq!(time.deadline(at(102)), at(110));
        assert!(time.pause(false, at(102)));
        assert_eq!(time.deadline(at(103)), at(110));
        assert!(!time.pause(true, at(104)));
        assert!(time.pause(false, at(105)));
        assert_eq!(time.deadline(at(200)), at(111));
    }

    #[tokio::test]
    async fn a_held_call_has_no_time_limit() {
        let held = HeldCalls::default();
        let waiting = held.hold(1);
        let work = async {
            // The limit would end the work at once.
            tokio::task::yield_now().await;
            7
        };
        assert_eq!(held.within(Duration::ZERO, work).await, Some(7));
        drop(waiting);
        assert_eq!(held.within(Duration::ZERO, std::future::pending::<()>()).await, None);
    }
}
