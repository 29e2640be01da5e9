//! The machine that the figures come from.

use std::fs;

/// Cores, processor, kernel and load in one line.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, model)| model.trim());
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("unknown");
    format!("Machine: {cores} cores, {model}, Linux {kernel}, load {load} at the start")
}

/// The load of the last minute; a build in the background spoils every figure.
pub fn is_busy() -> bool {
    let load = read("/proc/loadavg");
    load.split_whitespace().next().and_then(|load| load.parse().ok()).is_some_and(|load: f64| load > 1.0)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
