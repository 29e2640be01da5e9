//! Resets ignored signals, so that programs start with the default actions: signals that the
//! gateway or its shell ignores would otherwise be ignored by all its descendants.
#![expect(unsafe_code, reason = "resetting a signal has no safe form")]

/// Resets every ignored signal to its default action, except for SIGPIPE, which Rust and Python
/// ignore themselves.
pub(crate) fn reset() {
    for signal in (1..32).filter(|signal| *signal != libc::SIGPIPE) {
        // SAFETY: all zeros is a valid `sigaction`, which the call fills in.
        let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: nothing is changed, and `now` outlives the call.
        let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut now) };
        if asked == 0 && now.sa_sigaction == libc::SIG_IGN {
            // SAFETY: no handler is installed, so no code runs in a signal's context.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}
