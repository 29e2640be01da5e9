//! Counts requests, answers and their times.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many errors are kept as text.
const MAX_KEPT_ERRORS: usize = 10;

/// The counters that all clients share.
pub struct RequestStats {
    begin: Instant,
    time: Duration,
    counters: Mutex<Counters>,
}

#[derive(Default)]
struct Counters {
    sent: u64,
    abandoned: u64,
    lost: u64,
    wrong: u64,
    errors: Vec<String>,
    answered: u64,
    /// When each timed answer arrived, and how long it took.
    answers: Vec<(Duration, Duration)>,
}

/// The final totals.
pub struct Totals {
    pub sent: u64,
    pub answered: u64,
    /// Programs whose clients disconnected before an answer.
    pub abandoned: u64,
    pub lost: u64,
    /// Programs with a wrong answer, or with that of another program.
    pub wrong: u64,
    pub errors: Vec<String>,
    pub slices: Vec<Slice>,
}

/// The answers in one part of the run.
pub struct Slice {
    /// When the part began.
    pub from: Duration,
    pub answers: usize,
    /// The durations that 50, 95, 99 and 100 percent did not exceed.
    pub percentiles: [Duration; 4],
}

const SHARES: [f64; 4] = [0.5, 0.95, 0.99, 1.0];

impl RequestStats {
    pub fn new(time: Duration) -> Self {
        Self { begin: Instant::now(), time, counters: Mutex::default() }
    }

    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Whether more programs are to be started.
    pub fn is_running(&self) -> bool {
        self.elapsed() < self.time
    }

    pub fn count_sent(&self) {
        self.change(|counters| counters.sent += 1);
    }

    pub fn count_abandoned(&self) {
        self.change(|counters| {
            counters.sent += 1;
            counters.abandoned += 1;
        });
    }

    /// Counts an answer and its check; `took` is its time, if it is timed.
    pub fn count_answer(&self, took: Option<Duration>, verdict: Result<(), String>) {
        let now = self.elapsed();
        self.change(|counters| {
            counters.answered += 1;
            counters.answers.extend(took.map(|took| (now, took)));
            if let Err(error) = verdict {
                counters.wrong += 1;
                counters.keep_error(error);
            }
        });
    }

    /// Counts a missing answer.
    pub fn count_lost(&self, why: String) {
        self.change(|counters| {
            counters.lost += 1;
            counters.keep_error(why);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.counters.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The totals, with the run divided into so many parts.
    pub fn totals(&self, parts: u32) -> Totals {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let length = self.time.max(Duration::from_millis(1)) / parts;
        let slices = (0..parts).map(|part| {
            let from = length * part;
            let is_last = part + 1 == parts;
            let is_here = |at: Duration| at >= from && (is_last || at < from + length);
            let took =
                counters.answers.iter().filter(|(at, _)| is_here(*at)).map(|(_, took)| *took);
            let mut took: Vec<Duration> = took.collect();
            took.sort();
            let percentiles = SHARES.map(|share| percentile(&took, share));
            Slice { from, answers: took.len(), percentiles }
        });
        Totals {
            sent: counters.sent,
            answered: counters.answered,
            abandoned: counters.abandoned,
            lost: counters.lost,
            wrong: counters.wrong,
            errors: counters.errors.clone(),
            slices: slices.collect(),
        }
    }
}

impl Counters {
    fn keep_error(&mut self, error: String) {
        if self.errors.len() < MAX_KEPT_ERRORS {
            self.errors.push(error);
        }
    }
}

fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let index = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(index.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_came() {
        let took: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        let at = |share| percentile(&took, share).as_millis();
        assert_eq!((at(0.5), at(0.95), at(0.99), at(1.0)), (50, 95, 99, 100));
        assert_eq!(percentile(&[], 0.5), Duration::ZERO);
    }

    #[test]
    fn nothing_is_counted_twice() {
        let stats = RequestStats::new(Duration::from_secs(1));
        stats.count_sent();
        stats.count_answer(Some(Duration::from_millis(3)), Ok(()));
        stats.count_sent();
        stats.count_answer(None, Err("another's".to_owned()));
        stats.count_sent();
        stats.count_lost("nothing came".to_owned());
        stats.count_abandoned();
        let totals = stats.totals(2);
        let counts = [totals.sent, totals.answered, totals.abandoned, totals.lost, totals.wrong];
        assert_eq!(counts, [4, 2, 1, 1, 1]);
        assert_eq!(totals.errors, ["another's", "nothing came"]);
        assert_eq!(totals.slices.iter().map(|slice| slice.answers).sum::<usize>(), 1);
    }
}
