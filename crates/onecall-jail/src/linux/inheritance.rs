//! Verifies that a worker inherits none of the gateway's environment, which may contain secrets.

use std::io;

/// Checks that there are no environment variables.
///
/// The zygote is started without the gateway's variables. Clearing them here would leave the
/// strings in memory, so a variable found now counts as a missing wall.
pub(crate) fn check_environment() -> io::Result<()> {
    match std::env::vars_os().count() {
        0 => Ok(()),
        count => Err(io::Error::other(format!("{count} environment variables are visible"))),
    }
}
