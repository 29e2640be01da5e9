//! The results of a soak test, and whether they are acceptable.

use std::fmt::Write;
use std::time::Duration;

use super::stats::Totals;
use super::watch::{Measurement, slope};

const MEGABYTE: f64 = 1e6;

/// How much memory may grow between an early and the last part of the run: a share, and below it a
/// tolerance for what an allocator keeps.
const ALLOWED_GROWTH: f64 = 0.10;
const ALLOCATOR_TOLERANCE: f64 = 4.0 * MEGABYTE;

/// One gateway over the whole run.
pub struct GatewayMeasurements {
    pub name: &'static str,
    /// The measurements at rest, before and after.
    pub before: Measurement,
    pub after: Measurement,
    /// The measurements under load.
    pub measurements: Vec<Measurement>,
}

pub struct Report {
    pub time: Duration,
    pub totals: Totals,
    pub killed: u64,
    pub gateways: Vec<GatewayMeasurements>,
    /// The command lines of processes that still ran after the end.
    pub left_behind: Vec<String>,
}

impl Report {
    /// Everything that is not acceptable.
    pub fn faults(&self) -> Vec<String> {
        let totals = &self.totals;
        let mut faults = Vec::new();
        let unaccounted =
            totals.sent.saturating_sub(totals.answered + totals.abandoned + totals.lost);
        let mut fault = |is_fault: bool, text: String| {
            if is_fault {
                faults.push(text);
            }
        };
        fault(totals.answered == 0, "nothing was answered".to_owned());
        fault(totals.lost > 0, format!("{} answers were lost", totals.lost));
        fault(totals.wrong > 0, format!("{} answers were wrong or another's", totals.wrong));
        fault(unaccounted > 0, format!("{unaccounted} programs are not accounted for"));
        for gateway in &self.gateways {
            let GatewayMeasurements { name, before, after, .. } = gateway;
            fault(
                before.descriptors != after.descriptors,
                format!(
                    "the gateway over {name} holds {} descriptors at rest, and held {} before",
                    after.descriptors, before.descriptors
                ),
            );
            fault(
                before.processes != after.processes,
                format!(
                    "below the gateway over {name} are {} processes at rest, and were {} before",
                    after.processes, before.processes
                ),
            );
            for (what, bytes) in MEMORY {
                let (early, late) = gateway.early_and_late(bytes);
                fault(
                    late > early * (1.0 + ALLOWED_GROWTH) + ALLOCATOR_TOLERANCE,
                    format!(
                        "{what} of {name} grew from {:.1} to {:.1} MB",
                        early / MEGABYTE,
                        late / MEGABYTE
                    ),
                );
            }
        }
        let left = self.left_behind.join("; ");
        fault(!left.is_empty(), format!("left behind: {left}"));
        faults
    }

    pub fn to_markdown(&self) -> String {
        let totals = &self.totals;
        let mut text = format!(
            "Soak of {:.1} minutes: {} programs, {} answers, {} left by their clients, {} killed, \
             {} lost, {} wrong\n\n",
            self.time.as_secs_f64() / 60.0,
            totals.sent,
            totals.answered,
            totals.abandoned,
            self.killed,
            totals.lost,
            totals.wrong
        );
        text.push_str("| from | answers | 50% | 95% | 99% | most |\n|--:|--:|--:|--:|--:|--:|\n");
        for slice in &totals.slices {
            let _ = write!(text, "| {:.0} s | {} |", slice.from.as_secs_f64(), slice.answers);
            for percentile in slice.percentiles {
                let _ = write!(text, " {:.0} ms |", percentile.as_secs_f64() * 1e3);
            }
            text.push('\n');
        }
        text.push_str(
            "\n| at rest | gateway | zygotes | descriptors | processes | memory per minute under load |\n\
             |---|--:|--:|--:|--:|--:|\n",
        );
        for gateway in &self.gateways {
            for (when, measurement) in [("before", &gateway.before), ("after", &gateway.after)] {
                let trend = match when {
                    "before" => String::new(),
                    _ => gateway.trend(),
                };
                let _ = writeln!(
                    text,
                    "| {}, {when} | {:.1} MB | {:.1} MB | {} | {} | {trend} |",
                    gateway.name,
                    measurement.gateway as f64 / MEGABYTE,
                    measurement.zygotes as f64 / MEGABYTE,
                    measurement.descriptors,
                    measurement.processes
                );
            }
        }
        let faults = self.faults();
        if faults.is_empty() {
            text.push_str("\npass\n");
        }
        for fault in faults {
            let _ = writeln!(text, "\nbroke: {fault}");
        }
        for error in &totals.errors {
            let _ = writeln!(text, "  {error}");
        }
        text
    }
}

/// A memory value of a measurement, in bytes.
type Bytes = fn(&Measurement) -> u64;

/// The memory values that are checked.
const MEMORY: [(&str, Bytes); 2] = [
    ("the gateway", |measurement| measurement.gateway),
    ("the zygotes", |measurement| measurement.zygotes),
];

impl GatewayMeasurements {
    /// The medians of the second and of the last fifth of the run.
    fn early_and_late(&self, bytes: Bytes) -> (f64, f64) {
        let fifth = self.measurements.len() / 5;
        let median = |measurements: &[Measurement]| {
            let mut values: Vec<u64> = measurements.iter().map(bytes).collect();
            values.sort_unstable();
            values.get(values.len() / 2).copied().unwrap_or_default() as f64
        };
        let late = self.measurements.len().saturating_sub(fifth);
        let early = self.measurements.get(fifth..2 * fifth).unwrap_or_default();
        (median(early), median(self.measurements.get(late..).unwrap_or_default()))
    }

    fn trend(&self) -> String {
        let [gateway, zygotes] =
            MEMORY.map(|(_, bytes)| slope(&self.measurements, bytes) / MEGABYTE);
        format!("{gateway:+.2} MB, {zygotes:+.2} MB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::stats::RequestStats;

    fn report(measurements: Vec<Measurement>) -> Report {
        let stats = RequestStats::new(Duration::from_secs(10));
        stats.count_sent();
        stats.count_answer(Some(Duration::from_millis(2)), Ok(()));
        let rest = Measurement { descriptors: 20, processes: 9, ..Measurement::default() };
        let gateways = vec![GatewayMeasurements {
            name: "stdio",
            before: rest.clone(),
            after: rest,
            measurements,
        }];
        Report {
            time: Duration::from_secs(10),
            totals: stats.totals(2),
            killed: 0,
            gateways,
            left_behind: Vec::new(),
        }
    }

    fn growing(by: u64) -> Vec<Measurement> {
        let measurement = |second: u64| Measurement {
            at: Duration::from_secs(second),
            gateway: 20_000_000 + second * by,
            ..Measurement::default()
        };
        (0..50).map(measurement).collect()
    }

    #[test]
    fn steady_memory_passes_and_growing_memory_does_not() {
        assert_eq!(report(growing(1_000)).faults(), Vec::<String>::new());
        assert_eq!(
            report(growing(400_000)).faults(),
            ["the gateway of stdio grew from 26.0 to 38.0 MB"]
        );
    }

    #[test]
    fn what_is_left_open_or_running_is_a_fault() {
        let mut report = report(Vec::new());
        report.gateways[0].after.descriptors = 21;
        report.left_behind.push("fixture-server".to_owned());
        assert_eq!(
            report.faults(),
            [
                "the gateway over stdio holds 21 descriptors at rest, and held 20 before",
                "left behind: fixture-server"
            ]
        );
        assert!(!report.to_markdown().contains("pass"));
    }
}
