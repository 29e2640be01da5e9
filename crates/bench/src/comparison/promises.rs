//! What the design promises about onecall beside an in-process `exec` server.

use super::entrant::{CPYTHON, EXEC, PYTHON, TYPESCRIPT};
use super::{
    AT_REST, BACK_TO_BACK, CALLS, CROWD, Comparison, FIRST_ANSWER, LOOP, ROWS, Row, SLOW_CALLS,
};
use crate::rounds::Ratio;
use crate::section::Verdict;

/// The most that an entrant may need for a kind of work.
enum Limit {
    /// So many times what the `exec` server needs.
    TimesExec(f64),
    /// So many seconds or bytes.
    Absolute(f64),
}
use Limit::{Absolute, TimesExec};

/// The work, the entrants that the promise is about, and the limit.
const PROMISES: [(&str, &[&str], Limit); 9] = [
    (BACK_TO_BACK, &[PYTHON, CPYTHON, TYPESCRIPT], TimesExec(1.0)),
    (FIRST_ANSWER, &[PYTHON], Absolute(0.12)),
    (CROWD, &[PYTHON, CPYTHON, TYPESCRIPT], TimesExec(1.0)),
    (SLOW_CALLS, &[PYTHON, CPYTHON, TYPESCRIPT], TimesExec(1.1)),
    (ROWS, &[PYTHON, CPYTHON, TYPESCRIPT], TimesExec(0.8)),
    (LOOP, &[PYTHON], TimesExec(3.0)),
    (LOOP, &[CPYTHON], TimesExec(1.15)),
    (CALLS, &[PYTHON, CPYTHON, TYPESCRIPT], TimesExec(0.25)),
    (AT_REST, &[PYTHON], Absolute(70e6)),
];

impl Comparison {
    /// The promises about what was measured, and whether they are kept.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for (work, entrants, limit) in &PROMISES {
            let Some(row) = self.rows.iter().find(|row| row.name == *work) else { continue };
            let decided = entrants.iter().filter_map(|entrant| self.verdict(row, entrant, limit));
            verdicts.extend(decided);
        }
        verdicts
    }

    fn verdict(&self, row: &Row, entrant: &str, limit: &Limit) -> Option<Verdict> {
        let samples = row.samples(self.column(entrant)?)?;
        let promise = format!("{}, {entrant}", row.name);
        Some(match limit {
            TimesExec(at_most) => {
                let ratio = Ratio::of(samples, row.samples(self.column(EXEC)?)?);
                Verdict::of_ratio(&format!("{promise}, against {EXEC}"), ratio, *at_most)
            }
            Absolute(at_most) => Verdict::of_median(&promise, samples, row.unit, *at_most),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cell;
    use super::*;
    use crate::rounds::Samples;
    use crate::section::Unit;

    #[test]
    fn promises_are_decided_by_the_rows() {
        let entrants = [PYTHON, CPYTHON, EXEC].map(|name| (name, String::new())).into();
        let row = |name, unit, values: [f64; 3]| Row {
            name,
            unit,
            cells: values.map(|value| Cell::Measured(Samples::from(vec![value]))).into(),
        };
        let rows = vec![
            row(LOOP, Unit::Seconds, [0.4, 0.1, 0.1]),
            row(AT_REST, Unit::Bytes, [60e6, 200e6, 58e6]),
            row("other work", Unit::Seconds, [1.0, 1.0, 1.0]),
        ];
        let (unavailable, notes) = Default::default();
        let verdicts = Comparison { entrants, rows, unavailable, notes }.verdicts();
        let shown: Vec<_> = verdicts
            .iter()
            .map(|it| (it.promise.as_str(), it.measured.as_str(), it.holds))
            .collect();
        assert_eq!(
            shown,
            [
                (
                    "a loop of 1,000,000 steps, onecall python, against SDK exec ≤ 3×",
                    "4.00× (4.00–4.00)",
                    false
                ),
                (
                    "a loop of 1,000,000 steps, onecall cpython, against SDK exec ≤ 1.15×",
                    "1.00× (1.00–1.00)",
                    true
                ),
                (
                    "memory at rest, all processes, onecall python ≤ 70.0 MB",
                    "60.0 MB (0.86 of the target)",
                    true
                ),
            ]
        );
    }
}
