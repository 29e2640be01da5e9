//! Makes the kernel end a program rather than the gateway or one of the user's servers when memory
//! runs out.

use std::fs;

/// The largest adjustment of the OOM score. Among processes with the same adjustment, the kernel
/// kills the largest.
const MAX_SCORE_ADJUSTMENT: &str = "1000";

/// Makes this process, and all that it forks from now on, the first choice of the kernel's OOM
/// killer. A process may always do so to itself; if `/proc` is not writable, the kernel decides by
/// size alone.
pub(crate) fn prefer_as_victim() {
    _ = fs::write("/proc/self/oom_score_adj", MAX_SCORE_ADJUSTMENT);
}
