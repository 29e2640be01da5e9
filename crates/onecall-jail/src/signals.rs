//! What signals do. [`reset`] lets programs start with the default actions: signals that the gateway
//! or its shell ignores would otherwise be ignored by all its descendants.
//! [`ignore_file_size_signal`] makes a write beyond a file size limit an error.
#![expect(unsafe_code, reason = "changing what a signal does has no safe form")]

use std::io;

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

/// Makes a write beyond the largest size of a file that this process may write (`ulimit -f`) an error
/// of the write instead of the end of the process.
///
/// # Errors
/// If the system refuses it.
pub fn ignore_file_size_signal() -> io::Result<()> {
    // SAFETY: no handler is installed, so no code of ours runs in a signal's context.
    match unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
