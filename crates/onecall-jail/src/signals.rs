//! A program begins with the usual signals, whoever started the gateway: what it or
//! its shell ignores would be ignored by everything that comes after it.
#![expect(unsafe_code, reason = "resetting a signal has no safe form")]

/// Gives every signal its default again, but for SIGPIPE, which Rust and Python ignore.
pub(crate) fn reset() {
    let keep = [libc::SIGPIPE, libc::SIGKILL, libc::SIGSTOP];
    for signal in (1..32).filter(|signal| !keep.contains(signal)) {
        // SAFETY: no handler is installed, so no code of ours runs in a signal's context.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
