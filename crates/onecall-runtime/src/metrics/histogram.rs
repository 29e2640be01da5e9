//! Histograms of durations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds in seconds: from a call to a local server up to a program at its time limit.
pub(super) const BOUNDS: [f64; 17] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0, 120.0,
];

/// Counts durations by bucket.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    buckets: [AtomicU64; BOUNDS.len()],
    /// Durations beyond the last bound.
    overflow: AtomicU64,
    nanoseconds: AtomicU64,
}

/// The values of a histogram at one moment. The sum may be slightly ahead of the counts.
pub(super) struct HistogramSnapshot {
    /// For each bound, how many durations were not longer.
    pub cumulative_counts: [u64; BOUNDS.len()],
    pub count: u64,
    pub seconds: f64,
}

impl Histogram {
    pub fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let index = BOUNDS.partition_point(|bound| *bound < seconds);
        self.buckets.get(index).unwrap_or(&self.overflow).fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    pub fn read(&self) -> HistogramSnapshot {
        let mut count = 0;
        let cumulative_counts = std::array::from_fn(|index| {
            let bucket = self.buckets.get(index);
            count += bucket.map_or(0, |bucket| bucket.load(Ordering::Relaxed));
            count
        });
        count += self.overflow.load(Ordering::Relaxed);
        let sum = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
        HistogramSnapshot { cumulative_counts, count, seconds: sum.as_secs_f64() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_counts_what_is_no_longer_than_its_bound() {
        let histogram = Histogram::default();
        for milliseconds in [1, 3, 1000, 999_000] {
            histogram.observe(Duration::from_millis(milliseconds));
        }
        let HistogramSnapshot { cumulative_counts, count, seconds } = histogram.read();
        assert_eq!(cumulative_counts, [0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3]);
        assert_eq!((count, seconds), (4, 1000.004));
    }
}
