//! Measures contenders in rounds, each once per round, so that a machine that slows down affects
//! all of them; and the statistics of their samples.

use std::thread;
use std::time::{Duration, Instant};

/// The pause between two measurements, so that the last one has no after-effects such as forked
/// workers and ending processes.
const PAUSE: Duration = Duration::from_millis(40);

/// Values that were measured in the same way, one per round.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn values(&self) -> &[f64] {
        &self.0
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The value below which this share of the samples lies, interpolated between two samples if
    /// necessary; 0 if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let position = share * sorted.len().saturating_sub(1) as f64;
        let at = |index: f64| sorted.get(index as usize).copied().unwrap_or_default();
        let (below, above) = (at(position.floor()), at(position.ceil()));
        below + (above - below) * position.fract()
    }

    /// Each sample minus the median of `other`.
    pub fn minus(&self, other: &Self) -> Self {
        let median = other.median();
        Self(self.0.iter().map(|value| value - median).collect())
    }

    /// Each sample divided by a number.
    pub fn per(&self, count: f64) -> Self {
        Self(self.0.iter().map(|value| value / count).collect())
    }
}

impl From<Vec<f64>> for Samples {
    fn from(values: Vec<f64>) -> Self {
        Self(values)
    }
}

/// The ratio of two measurements.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// The ratio of the medians.
    pub value: f64,
    /// The quartiles of the ratios within each round.
    pub quartiles: (f64, f64),
}

impl Ratio {
    pub fn of(samples: &Samples, baseline: &Samples) -> Self {
        let value = samples.median() / baseline.median();
        Self { value, ..Self::within_rounds(samples, baseline) }
    }

    /// The ratio with the median of the ratios within each round, for differences that are smaller
    /// than those between rounds.
    pub fn within_rounds(samples: &Samples, baseline: &Samples) -> Self {
        let pairs = samples.0.iter().zip(&baseline.0);
        let by_round = Samples(pairs.map(|(sample, base)| sample / base).collect());
        let quartiles = (by_round.quantile(0.25), by_round.quantile(0.75));
        Self { value: by_round.median(), quartiles }
    }
}

/// One of several things that are measured in turn. What is measured in a round is a number, unless
/// it is said otherwise.
pub struct Contender<'a, T = f64> {
    pub name: &'static str,
    measure: Box<dyn FnMut() -> Result<T, String> + 'a>,
}

impl<'a, T> Contender<'a, T> {
    /// Creates a contender; `measure` returns the result of one round.
    pub fn new(name: &'static str, measure: impl FnMut() -> Result<T, String> + 'a) -> Self {
        Self { name, measure: Box::new(measure) }
    }
}

/// Measures every contender once per round and returns its samples; see [`take_turns`].
pub fn interleave(
    rounds: usize,
    contenders: Vec<Contender<'_>>,
) -> Result<Vec<(&'static str, Samples)>, String> {
    let measured = take_turns(rounds, contenders)?;
    Ok(measured.into_iter().map(|(name, values)| (name, values.into())).collect())
}

/// Measures every contender once per round, after one round that does not count, and returns the
/// results of each. Every other round runs in reverse order: a processor that has just been busy is
/// faster, so no contender always benefits.
pub fn take_turns<T>(
    rounds: usize,
    mut contenders: Vec<Contender<'_, T>>,
) -> Result<Vec<(&'static str, Vec<T>)>, String> {
    let mut measured: Vec<_> =
        contenders.iter().map(|contender| (contender.name, Vec::new())).collect();
    for round in 0..=rounds {
        let mut turns: Vec<_> = contenders.iter_mut().zip(&mut measured).collect();
        if round % 2 == 1 {
            turns.reverse();
        }
        for (contender, (name, results)) in turns {
            thread::sleep(PAUSE);
            let result = (contender.measure)().map_err(|error| format!("{name}: {error}"))?;
            if round > 0 {
                results.push(result);
            }
        }
    }
    Ok(measured)
}

/// Runs `work`; returns its result and the seconds it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_samples() {
        let samples = Samples(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!((samples.median(), samples.quantile(0.25)), (2.5, 1.75));
        assert_eq!(Samples::default().median(), 0.0);
    }

    #[test]
    fn a_ratio_pairs_the_rounds() {
        let ratio = Ratio::of(&Samples(vec![2.0, 6.0, 4.0]), &Samples(vec![1.0, 3.0, 2.0]));
        assert_eq!((ratio.value, ratio.quartiles), (2.0, (2.0, 2.0)));
    }
}
