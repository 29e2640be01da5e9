//! The figures of the overview: sums over the runs and calls of a period, which the store keeps by hour and by
//! day.

use std::collections::BTreeMap;
use std::time::Duration;

use onecall_core::Timestamp;
use onecall_core::storage::{FigureQuery, FigureUnit, Figures, StoreError};

use super::context::PageContext;

/// A period that the overview shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// The name in the address.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// How many intervals it has, and how long each is.
    pub(super) intervals: usize,
    pub(super) interval: Duration,
    /// The sums that an interval is made of.
    unit: FigureUnit,
    /// The sums that the figures of tools are made of. The period begins with one of them.
    tool_unit: FigureUnit,
}

/// The periods, the usual one first.
pub(super) const PERIODS: [Period; 3] = [
    Period {
        name: "day",
        title: "24 hours",
        intervals: 24,
        interval: Duration::from_secs(3_600),
        unit: FigureUnit::Hour,
        tool_unit: FigureUnit::Hour,
    },
    Period {
        name: "week",
        title: "7 days",
        intervals: 28,
        interval: Duration::from_secs(6 * 3_600),
        unit: FigureUnit::Hour,
        tool_unit: FigureUnit::Day,
    },
    Period {
        name: "month",
        title: "30 days",
        intervals: 30,
        interval: Duration::from_secs(86_400),
        unit: FigureUnit::Day,
        tool_unit: FigureUnit::Day,
    },
];

/// The sums over a period, for its charts.
#[derive(Clone, Debug, Default)]
pub(super) struct Overview {
    /// The beginning of the first interval.
    pub(super) from: Timestamp,
    pub(super) intervals: Vec<Figures>,
    pub(super) total: Figures,
    pub(super) tools: BTreeMap<String, Figures>,
}

impl Overview {
    /// Reads the sums over the runs that the reader sees.
    pub(super) fn read(context: &PageContext, period: Period) -> Result<Self, StoreError> {
        let from = beginning(period, context.now);
        let Period { unit, tool_unit, .. } = period;
        let (until, user) =
            (context.now.after(Duration::from_millis(1)), context.viewer.only_user());
        let query = FigureQuery { unit, tool_unit, since: from, until, user };
        let stored = context.store.figures(&query)?;
        let mut overview = Self {
            from,
            intervals: vec![Figures::default(); period.intervals],
            total: Figures::default(),
            tools: stored.tools,
        };
        let length = milliseconds(period.interval);
        for (starts, figures) in stored.intervals {
            let index = usize::try_from((starts.0 - from.0).div_euclid(length)).unwrap_or(0);
            if let Some(interval) = overview.intervals.get_mut(index) {
                interval.add_all(&figures);
            }
            overview.total.add_all(&figures);
        }
        Ok(overview)
    }

    /// The sums over the calls of all tools whose names begin with `prefix`.
    pub(super) fn tools_with(&self, prefix: &str) -> Figures {
        let mut sums = Figures::default();
        let tools = self.tools.iter().filter(|(tool, _)| tool.starts_with(prefix));
        tools.for_each(|(_, figures)| sums.add_all(figures));
        sums
    }
}

/// The beginning of a period that ends with this hour or day.
fn beginning(period: Period, now: Timestamp) -> Timestamp {
    let count = i64::try_from(period.intervals).unwrap_or(1);
    let length = milliseconds(period.interval).saturating_mul(count);
    let end = period.tool_unit.start_of(now).after(period.tool_unit.length());
    Timestamp(end.0.saturating_sub(length))
}

fn milliseconds(interval: Duration) -> i64 {
    i64::try_from(interval.as_millis()).unwrap_or(i64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_made_of_whole_units() {
        let now = Timestamp(1_790_000_123_456);
        for period in PERIODS {
            let from = beginning(period, now);
            for unit in [period.unit, period.tool_unit] {
                assert_eq!(from, unit.start_of(from), "{}", period.name);
            }
            let length = period.interval.saturating_mul(u32::try_from(period.intervals).unwrap());
            assert!(from < now && from.after(length) > now, "{}", period.name);
        }
    }
}
