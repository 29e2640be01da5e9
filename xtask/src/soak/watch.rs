//! Measures the resources of gateways: memory, descriptors, processes.

use std::fs;
use std::time::Duration;

use testkit::process::{self, Process, wait_until};

use super::program::VICTIM_BYTES;

/// How long a gateway may take to become idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A state counts as idle after it was seen this often in a row.
const IDLE_REPEATS: u32 = 20;

/// A measurement of a gateway.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    pub at: Duration,
    /// Resident bytes of the gateway, and below it of its zygotes.
    pub gateway: u64,
    pub zygotes: u64,
    pub descriptors: u64,
    pub processes: usize,
}

impl Measurement {
    pub fn take(pid: u32, at: Duration) -> Self {
        let descendants = process::descendants(pid);
        let resident = |process: &Process| process.resident_bytes().unwrap_or_default();
        Self {
            at,
            gateway: Process::read(pid).as_ref().map(resident).unwrap_or_default(),
            zygotes: zygotes(&descendants, pid).map(resident).sum(),
            descriptors: descriptors(pid),
            processes: descendants.len(),
        }
    }

    /// The measurement when the gateway is idle and all its `servers` run; if it never becomes
    /// idle, the last one.
    pub fn when_idle(pid: u32, servers: &str, count: usize) -> Self {
        let mut last = Self::default();
        let mut times = 0;
        wait_until(IDLE_TIMEOUT, || {
            let now = Self::take(pid, Duration::ZERO);
            times = if now.has_same_resources(&last) { times + 1 } else { 0 };
            last = now;
            let is_up = |process: &&Process| process.command.contains(servers);
            times >= IDLE_REPEATS && process::descendants(pid).iter().filter(is_up).count() == count
        });
        last
    }

    /// Waits until the resources are as before; if that never happens, returns the last
    /// measurement.
    pub fn when_as_before(pid: u32, before: &Self) -> Self {
        let mut last = Self::default();
        wait_until(IDLE_TIMEOUT, || {
            last = Self::take(pid, Duration::ZERO);
            last.has_same_resources(before)
        });
        last
    }

    /// Whether the numbers of descriptors and processes are equal.
    pub fn has_same_resources(&self, other: &Self) -> bool {
        (self.descriptors, self.processes) == (other.descriptors, other.processes)
    }
}

fn zygotes(descendants: &[Process], gateway: u32) -> impl Iterator<Item = &Process> {
    descendants
        .iter()
        .filter(move |process| process.parent == gateway && process.command.contains("zygote"))
}

/// The number of open descriptors: the size of the folder, which the kernel shows even for a
/// process that is protected from others.
fn descriptors(pid: u32) -> u64 {
    fs::metadata(format!("/proc/{pid}/fd")).map_or(0, |folder| folder.len())
}

/// Workers with as much memory as only those use that wait to be killed.
pub fn victims(gateway: u32) -> Vec<u32> {
    let is_victim =
        |process: &Process| process.resident_bytes().is_some_and(|bytes| bytes > VICTIM_BYTES);
    process::descendants(gateway).iter().filter(|one| is_victim(one)).map(|one| one.pid).collect()
}

/// Bytes per minute: the slope through all measurements by least squares.
pub fn slope(measurements: &[Measurement], bytes: fn(&Measurement) -> u64) -> f64 {
    let points: Vec<(f64, f64)> = measurements
        .iter()
        .map(|measurement| (measurement.at.as_secs_f64() / 60.0, bytes(measurement) as f64))
        .collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let square: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    if square > 0.0 { both / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_per_minute() {
        let measurement = |seconds: u64, gateway: u64| Measurement {
            at: Duration::from_secs(seconds),
            gateway,
            ..Measurement::default()
        };
        let measurements = [measurement(0, 100), measurement(30, 150), measurement(60, 200)];
        assert_eq!(slope(&measurements, |measurement| measurement.gateway), 100.0);
        assert_eq!(slope(&measurements[..1], |measurement| measurement.gateway), 0.0);
    }
}
