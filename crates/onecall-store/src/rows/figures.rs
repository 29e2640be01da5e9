//! The rows of sums over runs and calls.

use std::collections::BTreeMap;

use onecall_core::storage::{Counter, FigureQuery, FigureUnit, Figures, PeriodFigures, RunSummary};
use onecall_core::{Timestamp, UserName};

/// The user of sums over the runs of all users. No user has an empty name.
const EVERYONE: &str = "";

/// How many runs of older versions are added to the sums in one transaction, so that other processes can write
/// in between.
pub(crate) const RUNS_AT_ONCE: i64 = 200;

/// How many calls those runs may have, if there is more than one run.
const CALLS_AT_ONCE: i64 = 20_000;

/// How many counters are removed in one transaction, so that other processes can write in between.
pub(crate) const REMOVED_AT_ONCE: i64 = 5_000;

/// A counter in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FigureKey<'a> {
    pub(crate) unit: i64,
    pub(crate) user: &'a str,
    pub(crate) starts: i64,
    /// The name of a tool; empty for sums over runs.
    pub(crate) tool: &'a str,
    pub(crate) counter: i64,
}

/// What is added to which counters because of some runs. The rows are in the order of their keys, so that
/// processes that store runs at the same time lock them in the same order.
#[derive(Default)]
pub(crate) struct FigureRows<'a>(BTreeMap<FigureKey<'a>, i64>);

impl<'a> FigureRows<'a> {
    /// The rows of one run.
    pub(crate) fn of_run(run: &'a RunSummary, figures: &BTreeMap<&'a str, Figures>) -> Self {
        let mut rows = Self::default();
        rows.add(run, figures);
        rows
    }

    /// Adds what a run adds to the sums.
    pub(crate) fn add(&mut self, run: &'a RunSummary, figures: &BTreeMap<&'a str, Figures>) {
        // The only user of a gateway without users sees what everyone does.
        let own = Some(run.user.as_str()).filter(|_| !run.user.is_local());
        for unit in FigureUnit::ALL {
            for user in [Some(EVERYONE), own].into_iter().flatten() {
                for (tool, figures) in figures {
                    for (counter, value) in figures.iter() {
                        let key = FigureKey {
                            unit: unit.milliseconds(),
                            user,
                            starts: unit.start_of(run.started).0,
                            tool,
                            counter: counter.number(),
                        };
                        let sum = self.0.entry(key).or_default();
                        *sum = sum.saturating_add(value);
                    }
                }
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (FigureKey<'a>, i64)> {
        self.0.iter().map(|(key, value)| (*key, *value))
    }
}

/// How many of these runs, which have this many calls, are added to the sums in one transaction.
pub(crate) fn runs_at_once(calls: impl IntoIterator<Item = i64>) -> usize {
    let mut total = 0_i64;
    let fits = |calls: &i64| {
        total = total.saturating_add(*calls);
        total <= CALLS_AT_ONCE
    };
    calls.into_iter().take_while(fits).count().max(1)
}

/// The user whose sums a query asks for.
pub(crate) fn user_of(query: &FigureQuery) -> &str {
    query.user.as_ref().map_or(EVERYONE, UserName::as_str)
}

/// Adds a row of a query for sums over runs.
pub(crate) fn add_interval(figures: &mut PeriodFigures, starts: i64, counter: i64, value: i64) {
    if let Some(counter) = Counter::from_number(counter) {
        figures.intervals.entry(Timestamp(starts)).or_default().add(counter, value);
    }
}

/// Adds a row of a query for sums over the calls of tools.
pub(crate) fn add_tool(figures: &mut PeriodFigures, tool: String, counter: i64, value: i64) {
    if let Some(counter) = Counter::from_number(counter) {
        figures.tools.entry(tool).or_default().add(counter, value);
    }
}
