//! When memory runs out, the kernel ends a program before the gateway or one of the user's
//! servers.

use std::fs;

/// How much sooner than others the kernel ends this process: the most it takes. Among those
/// with the same number it ends the largest.
const FIRST: &str = "1000";

/// Puts this process, and all it forks from now on, first in line for the kernel's OOM killer.
/// A process may always do so to itself; where `/proc` cannot be written to, the kernel
/// decides by size alone.
pub(crate) fn go_first() {
    _ = fs::write("/proc/self/oom_score_adj", FIRST);
}
