//! Finds out how much memory the machine has for programs.

use std::fs;
use std::path::Path;

/// Where control groups (version 2) are mounted.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// The assumption if the kernel gives no information: enough for a few programs.
const ASSUMED_MEMORY: u64 = 4 * 1024 * 1024 * 1024;

/// The default limit for all programs together: three quarters of the memory of the gateway's
/// control group, or else of the machine. The rest is for the gateway and its servers.
pub(crate) fn default_total() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let group = fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| {
        let group = own_group(&text)?;
        limit_of(group, |file| fs::read_to_string(Path::new(CONTROL_GROUPS).join(file)).ok())
    });
    machine.into_iter().chain(group).min().unwrap_or(ASSUMED_MEMORY) / 4 * 3
}

/// `MemTotal` of `/proc/meminfo`.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

/// The group of this process in `/proc/self/cgroup`, without its leading slash.
fn own_group(groups: &str) -> Option<&Path> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(path))
}

/// The lowest limit of a group and its parents; `read` reads a file below their mount point.
fn limit_of(group: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let limit = |group: &Path| read(&group.join("memory.max"))?.trim().parse::<u64>().ok();
    group.ancestors().filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_memory_is_read() {
        let text = "MemFree:         1 kB\nMemTotal:       16000 kB\nMemAvailable: 2 kB\n";
        assert_eq!(total_of(text), Some(16_384_000));
        assert_eq!(total_of("MemTotal: much"), None);
        assert_eq!(total_of(""), None);
    }

    #[test]
    fn the_lowest_limit_of_all_control_groups_counts() {
        let group = own_group("1:name=systemd:/x\n0::/a/b/c\n").unwrap();
        let limit = |files: &'static [(&str, &str)]| {
            limit_of(group, move |wanted| {
                let found = files.iter().find(|(path, _)| Path::new(path) == wanted);
                found.map(|(_, text)| (*text).to_owned())
            })
        };
        assert_eq!(limit(&[("a/b/c/memory.max", "max\n"), ("a/memory.max", "2000\n")]), Some(2000));
        assert_eq!(limit(&[("a/b/c/memory.max", "7\n"), ("memory.max", "9\n")]), Some(7));
        assert_eq!(limit(&[("a/b/c/memory.max", "max\n")]), None);
        assert_eq!(limit(&[]), None);
        assert_eq!(own_group("4:memory:/v1\n"), None);
        assert_eq!(own_group("0::/\n"), Some(Path::new("")));
    }
}
