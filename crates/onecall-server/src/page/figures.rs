//! The figures of the overview: sums over the runs and calls of a period. Making them means reading all of
//! these, so they are kept, and made again in the background when they are old.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_core::storage::{CompleteStore, RunFilter, RunSummary, StoreError, StoredCall};
use onecall_core::{RunId, Timestamp, UserName};

/// How old figures may be before they are made again.
const MAX_AGE: Duration = Duration::from_secs(5);

/// How many kinds of figures are kept.
const MAX_KEPT: usize = 64;

/// A period that the overview shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Period {
    /// The name in the address.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// How many intervals it has, and how long each is.
    pub(super) intervals: usize,
    pub(super) interval: Duration,
}

/// The periods, the usual one first.
pub(super) const PERIODS: [Period; 3] = [
    Period { name: "day", title: "24 hours", intervals: 24, interval: Duration::from_secs(3_600) },
    Period {
        name: "week",
        title: "7 days",
        intervals: 28,
        interval: Duration::from_secs(6 * 3_600),
    },
    Period {
        name: "month",
        title: "30 days",
        intervals: 30,
        interval: Duration::from_secs(86_400),
    },
];

/// The sums over a period.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// The beginning of the first interval.
    pub(super) from: Timestamp,
    pub(super) intervals: Vec<IntervalFigures>,
    pub(super) total: IntervalFigures,
    pub(super) tools: BTreeMap<String, ToolFigures>,
}

/// The sums over one interval.
#[derive(Clone, Debug, Default)]
pub(super) struct IntervalFigures {
    pub(super) runs: u64,
    pub(super) failed_runs: u64,
    pub(super) calls: u64,
    pub(super) failed_calls: u64,
    pub(super) cached_calls: u64,
    pub(super) direct_tokens: u64,
    pub(super) saved_tokens: i64,
    pub(super) times: Percentiles,
}

/// The sums over the calls of one tool.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolFigures {
    pub(super) calls: u64,
    pub(super) failed: u64,
    pub(super) cached: u64,
    pub(super) times: Percentiles,
}

/// Durations, of which only two remain when all are known: a month has too many to keep.
#[derive(Clone, Debug, Default)]
pub(super) struct Percentiles {
    durations: Vec<Duration>,
    /// The duration that half of them do not exceed.
    pub(super) half: Option<Duration>,
    /// The duration that 95% of them do not exceed.
    pub(super) most: Option<Duration>,
}

impl Percentiles {
    /// Finds the two durations, and forgets the others.
    fn finish(&mut self) {
        let mut durations = std::mem::take(&mut self.durations);
        durations.sort_unstable();
        (self.half, self.most) = (percentile(&durations, 50), percentile(&durations, 95));
    }
}

impl IntervalFigures {
    fn add(&mut self, run: &RunSummary) {
        self.runs += 1;
        self.failed_runs += u64::from(run.outcome != "ok");
        self.calls += run.call_count;
        self.failed_calls += run.failed_calls;
        self.cached_calls += run.cached_calls;
        self.times.durations.push(run.duration);
        if let Some(tokens) = run.agent_tokens() {
            self.direct_tokens = self.direct_tokens.saturating_add(tokens.direct);
            self.saved_tokens = self.saved_tokens.saturating_add(tokens.saved());
        }
    }
}

impl ToolFigures {
    fn add(&mut self, call: &StoredCall) {
        self.calls += 1;
        self.failed += u64::from(call.error.is_some());
        self.cached += u64::from(call.cached);
        // An answer from the cache says nothing about the tool.
        self.times.durations.extend(call.duration.filter(|_| !call.cached));
    }
}

/// Of sorted durations, the one that this percentage of them does not exceed.
fn percentile(durations: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (durations.len() * percent).div_ceil(100).max(1);
    durations.get(rank - 1).copied()
}

impl Figures {
    fn read(
        store: &dyn CompleteStore,
        period: Period,
        user: Option<&UserName>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let length = i64::try_from(period.interval.as_millis()).unwrap_or(i64::MAX).max(1);
        let count = i64::try_from(period.intervals).unwrap_or(1);
        // Intervals begin at full hours or days.
        let from = Timestamp((now.0.div_euclid(length) - count + 1).saturating_mul(length));
        let mut figures = Self {
            from,
            intervals: vec![IntervalFigures::default(); period.intervals],
            ..Self::default()
        };
        let filter = RunFilter { since: Some(from), user: user.cloned(), ..RunFilter::default() };
        let mut own = HashSet::<RunId>::new();
        for run in store.runs(&filter)? {
            let index = usize::try_from((run.started.0 - from.0).div_euclid(length)).unwrap_or(0);
            if let Some(interval) = figures.intervals.get_mut(index) {
                interval.add(&run);
            }
            figures.total.add(&run);
            if user.is_some() {
                own.insert(run.id);
            }
        }
        store.for_each_call(Some(from), &mut |run, call| {
            if user.is_none() || own.contains(run) {
                figures.tools.entry(call.name.clone()).or_default().add(&call);
            }
        })?;
        let intervals = figures.intervals.iter_mut().chain([&mut figures.total]);
        intervals.for_each(|interval| interval.times.finish());
        figures.tools.values_mut().for_each(|tool| tool.times.finish());
        Ok(figures)
    }
}

/// The figures that were made lately.
#[derive(Default)]
pub(super) struct FiguresCache(Mutex<HashMap<(Period, Option<UserName>), Kept>>);

struct Kept {
    figures: Arc<Figures>,
    made: Instant,
    /// Whether new figures are being made.
    is_being_made: Arc<AtomicBool>,
}

impl FiguresCache {
    /// The figures of a period: those of a moment ago, if there are any, or new ones. Blocks while the
    /// first ones are made.
    pub(super) fn get(
        self: &Arc<Self>,
        store: &Arc<dyn CompleteStore>,
        period: Period,
        user: Option<UserName>,
    ) -> Result<Arc<Figures>, StoreError> {
        let key = (period, user);
        let known = self.lock().get(&key).map(|kept| {
            let is_old = kept.made.elapsed() > MAX_AGE;
            let begins = is_old && !kept.is_being_made.swap(true, Ordering::Relaxed);
            (Arc::clone(&kept.figures), begins)
        });
        let Some((figures, begins)) = known else { return self.make(store, key) };
        if begins {
            let (cache, store) = (Arc::clone(self), Arc::clone(store));
            std::thread::spawn(move || {
                if cache.make(&store, key.clone()).is_err() {
                    // The next reader sees the error.
                    cache.lock().remove(&key);
                }
            });
        }
        Ok(figures)
    }

    fn make(
        &self,
        store: &Arc<dyn CompleteStore>,
        key: (Period, Option<UserName>),
    ) -> Result<Arc<Figures>, StoreError> {
        let figures = Figures::read(store.as_ref(), key.0, key.1.as_ref(), Timestamp::now())?;
        let figures = Arc::new(figures);
        let (made, is_being_made) = (Instant::now(), Arc::default());
        let mut kept = self.lock();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(key, Kept { figures: Arc::clone(&figures), made, is_being_made });
        Ok(figures)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Period, Option<UserName>), Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let durations: Vec<_> = (1..=10).map(Duration::from_secs).collect();
        assert_eq!(percentile(&durations, 50), Some(Duration::from_secs(5)));
        assert_eq!(percentile(&durations, 95), Some(Duration::from_secs(10)));
        assert_eq!(percentile(&[], 50), None);
    }
}
