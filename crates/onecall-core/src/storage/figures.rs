//! Sums over runs and calls, by hour and by day. A store adds to them when it stores a run, so that an
//! overview of a month does not read all runs of the month.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{RunSummary, StoredCall};
use crate::{Timestamp, TokenUsage, UserName};

/// The upper bounds of the buckets for durations in one power of ten. Each is about a quarter above the one
/// before.
const BOUNDS: [u64; 10] = [10, 13, 16, 20, 25, 32, 40, 50, 63, 80];

/// How many buckets there are: the last one is for everything above 13 minutes.
const BUCKETS: u16 = 80;

/// The number of the first bucket among the counters.
const FIRST_BUCKET: i64 = 100;

/// The length of the intervals that sums are kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FigureUnit {
    /// An hour.
    Hour,
    /// A day of UTC.
    Day,
}

impl FigureUnit {
    /// All units.
    pub const ALL: [Self; 2] = [Self::Hour, Self::Day];

    /// The length of an interval.
    #[must_use]
    pub fn length(self) -> Duration {
        match self {
            Self::Hour => Duration::from_secs(3_600),
            Self::Day => Duration::from_secs(86_400),
        }
    }

    /// The length of an interval in milliseconds.
    #[must_use]
    pub fn milliseconds(self) -> i64 {
        i64::try_from(self.length().as_millis()).unwrap_or(i64::MAX)
    }

    /// The beginning of the interval that a time belongs to.
    #[must_use]
    pub fn start_of(self, time: Timestamp) -> Timestamp {
        let length = self.milliseconds();
        Timestamp(time.0.div_euclid(length).saturating_mul(length))
    }
}

/// What is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Runs.
    Runs,
    /// Runs that failed.
    FailedRuns,
    /// Calls.
    Calls,
    /// Calls that failed.
    FailedCalls,
    /// Calls that were answered from the cache.
    CachedCalls,
    /// The tokens that models would have used with direct calls.
    DirectTokens,
    /// The tokens that models did not use, because they sent programs.
    SavedTokens,
    /// Runs whose tokens are estimated and not counted.
    EstimatedRuns,
    /// Runs, or calls of a tool that were not answered from the cache, whose duration is in this bucket.
    Duration(DurationBucket),
}

impl Counter {
    /// The counters that are not for durations, by the numbers that stores keep them under.
    const NUMBERED: [(i64, Self); 8] = [
        (1, Self::Runs),
        (2, Self::FailedRuns),
        (3, Self::Calls),
        (4, Self::FailedCalls),
        (5, Self::CachedCalls),
        (6, Self::DirectTokens),
        (7, Self::SavedTokens),
        (8, Self::EstimatedRuns),
    ];

    /// The number that stores keep the counter under.
    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            Self::Duration(DurationBucket(bucket)) => FIRST_BUCKET + i64::from(bucket),
            other => Self::NUMBERED.iter().find(|it| it.1 == other).map_or(0, |it| it.0),
        }
    }

    /// The counter with this number; `None` if there is no such counter.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        if let Some((_, counter)) = Self::NUMBERED.iter().find(|it| it.0 == number) {
            return Some(*counter);
        }
        let bucket = u16::try_from(number.checked_sub(FIRST_BUCKET)?).ok()?;
        (bucket < BUCKETS).then_some(Self::Duration(DurationBucket(bucket)))
    }
}

/// A range of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurationBucket(u16);

impl DurationBucket {
    /// The bucket that a duration belongs to.
    #[must_use]
    pub fn of(duration: Duration) -> Self {
        let bucket = (0..BUCKETS - 1).find(|bucket| duration <= Self(*bucket).longest());
        Self(bucket.unwrap_or(BUCKETS - 1))
    }

    /// The longest duration of the bucket. The last bucket has longer ones, too.
    #[must_use]
    pub fn longest(self) -> Duration {
        let (power, step) = (u32::from(self.0 / 10), usize::from(self.0 % 10));
        let bound = BOUNDS.get(step).copied().unwrap_or(10);
        Duration::from_micros(bound.saturating_mul(10_u64.saturating_pow(power)))
    }
}

/// The sums of one interval, or of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures(BTreeMap<Counter, i64>);

impl Figures {
    /// Adds to a counter.
    pub fn add(&mut self, counter: Counter, value: i64) {
        let sum = self.0.entry(counter).or_default();
        *sum = sum.saturating_add(value);
    }

    /// Adds all sums of another interval.
    pub fn add_all(&mut self, other: &Self) {
        other.0.iter().for_each(|(counter, value)| self.add(*counter, *value));
    }

    /// The value of a counter.
    #[must_use]
    pub fn signed(&self, counter: Counter) -> i64 {
        self.0.get(&counter).copied().unwrap_or(0)
    }

    /// The value of a counter that is not negative.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        u64::try_from(self.signed(counter)).unwrap_or(0)
    }

    /// A duration that this percentage of the runs or calls does not exceed: the longest one of its bucket.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let buckets: Vec<(DurationBucket, u64)> = self
            .0
            .iter()
            .filter_map(|(counter, value)| match counter {
                Counter::Duration(bucket) => Some((*bucket, u64::try_from(*value).unwrap_or(0))),
                _ => None,
            })
            .collect();
        let total: u64 = buckets.iter().map(|(_, count)| count).sum();
        let rank = total.saturating_mul(percent).div_ceil(100).max(1);
        let mut seen = 0_u64;
        let found = buckets.iter().find(|(_, count)| {
            seen = seen.saturating_add(*count);
            seen >= rank
        });
        found.map(|(bucket, _)| bucket.longest())
    }

    /// All counters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, i64)> {
        self.0.iter().map(|(counter, value)| (*counter, *value))
    }
}

/// Selects sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureQuery {
    /// The length of the intervals.
    pub unit: FigureUnit,
    /// The unit that the sums over tools are read from. Long ones are read faster.
    pub tool_unit: FigureUnit,
    /// The beginning of the first interval, of either unit.
    pub since: Timestamp,
    /// Only intervals that begin before this time.
    pub until: Timestamp,
    /// Only the runs of this user.
    pub user: Option<UserName>,
}

/// The sums over a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeriodFigures {
    /// The sums over the runs of each interval in which something ran.
    pub intervals: BTreeMap<Timestamp, Figures>,
    /// The sums over the calls of each tool.
    pub tools: BTreeMap<String, Figures>,
}

impl PeriodFigures {
    /// What a run adds to the sums: to those over runs, by an empty name, and to those over calls, by the names
    /// of tools.
    #[must_use]
    pub fn of_run<'a>(run: &RunSummary, calls: &'a [StoredCall]) -> BTreeMap<&'a str, Figures> {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let mut figures = BTreeMap::<&str, Figures>::new();
        let own = figures.entry("").or_default();
        own.add(Counter::Runs, 1);
        own.add(Counter::FailedRuns, i64::from(run.outcome != "ok"));
        own.add(Counter::Calls, signed(run.call_count));
        own.add(Counter::FailedCalls, signed(run.failed_calls));
        own.add(Counter::CachedCalls, signed(run.cached_calls));
        own.add(Counter::Duration(DurationBucket::of(run.duration)), 1);
        if let Some(tokens) = run.agent_tokens() {
            own.add(Counter::DirectTokens, signed(tokens.direct));
            own.add(Counter::SavedTokens, tokens.saved());
            own.add(Counter::EstimatedRuns, i64::from(tokens.estimated));
        }
        for call in calls {
            let tool = figures.entry(call.name.as_str()).or_default();
            tool.add(Counter::Calls, 1);
            tool.add(Counter::FailedCalls, i64::from(call.error.is_some()));
            tool.add(Counter::CachedCalls, i64::from(call.cached));
            // An answer from the cache says nothing about the tool.
            if let Some(duration) = call.duration.filter(|_| !call.cached) {
                tool.add(Counter::Duration(DurationBucket::of(duration)), 1);
            }
        }
        figures.values_mut().for_each(|figures| figures.0.retain(|_, value| *value != 0));
        figures
    }

    /// What changes in the sums over runs when the tokens of a run are counted.
    #[must_use]
    pub fn of_counted_tokens(
        run: &RunSummary,
        tokens: TokenUsage,
    ) -> BTreeMap<&'static str, Figures> {
        let mut change = Figures::default();
        if let Some(before) = run.agent_tokens() {
            let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
            change.add(Counter::DirectTokens, signed(tokens.direct) - signed(before.direct));
            change.add(Counter::SavedTokens, tokens.saved().saturating_sub(before.saved()));
            change.add(
                Counter::EstimatedRuns,
                i64::from(tokens.estimated) - i64::from(before.estimated),
            );
        }
        BTreeMap::from([("", change)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_has_a_bucket() {
        let micros = Duration::from_micros;
        for (duration, longest) in [(0, 10), (10, 10), (11, 13), (99, 100), (5_001, 6_300)] {
            assert_eq!(DurationBucket::of(micros(duration)).longest(), micros(longest));
        }
        let longest = DurationBucket(BUCKETS - 1);
        assert_eq!(DurationBucket::of(Duration::from_secs(86_400)), longest);
        assert_eq!(longest.longest(), Duration::from_secs(800));
        let bounds: Vec<_> = (0..BUCKETS).map(|bucket| DurationBucket(bucket).longest()).collect();
        assert!(bounds.is_sorted_by(|one, other| one < other), "{bounds:?}");
    }

    #[test]
    fn every_counter_has_a_number() {
        let buckets = (0..BUCKETS).map(|bucket| Counter::Duration(DurationBucket(bucket)));
        let counters = Counter::NUMBERED.into_iter().map(|it| it.1).chain(buckets);
        for counter in counters {
            assert_eq!(Counter::from_number(counter.number()), Some(counter));
        }
        for number in [0, 9, 99, 180, i64::MIN, i64::MAX] {
            assert_eq!(Counter::from_number(number), None);
        }
    }

    #[test]
    fn a_percentile_is_not_exceeded_by_this_part() {
        let mut figures = Figures::default();
        assert_eq!(figures.percentile(50), None);
        for second in 1..=10 {
            let bucket = DurationBucket::of(Duration::from_secs(second));
            figures.add(Counter::Duration(bucket), 1);
        }
        assert_eq!(figures.percentile(50), Some(Duration::from_secs(5)));
        assert_eq!(figures.percentile(95), Some(Duration::from_secs(10)));
    }
}
