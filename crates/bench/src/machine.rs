//! Describes the machine that the results come from.

use std::fs;
use std::thread;
use std::time::Duration;

/// Cores, processor, kernel and load in one line.
pub fn describe() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
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

/// The warning beside results of a busy machine.
pub const BUSY: &str = "The machine was busy with something else: do not trust these figures.";

/// Whether another process keeps a core busy, which spoils every result. This looks at what runs
/// now: the load average still contains the build before the run.
pub fn is_busy() -> bool {
    const WINDOW: Duration = Duration::from_millis(300);
    let before = busy_ticks();
    thread::sleep(WINDOW);
    // A tick is 10 ms, so this is more than a third of one core.
    busy_ticks().saturating_sub(before) > 12
}

/// The time that the processors spent on anything but idling and waiting, in ticks.
fn busy_ticks() -> u64 {
    let stat = read("/proc/stat");
    let ticks: Vec<u64> = stat
        .lines()
        .next()
        .map(|line| line.split_whitespace().skip(1).filter_map(|tick| tick.parse().ok()).collect())
        .unwrap_or_default();
    // user, nice, system, idle, iowait, irq, softirq, steal
    [0, 1, 2, 5, 6].iter().filter_map(|index| ticks.get(*index)).sum()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
