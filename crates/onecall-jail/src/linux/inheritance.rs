//! The gateway's environment may hold secrets; a worker finds none of it.

use std::io;

/// Checks that there is no environment variable.
///
/// The zygote is started with nothing of the gateway's. Clearing it here would leave
/// the strings in memory, so a variable found now is a missing wall.
pub(crate) fn check_environment() -> io::Result<()> {
    match std::env::vars_os().count() {
        0 => Ok(()),
        count => Err(io::Error::other(format!("{count} environment variables are visible"))),
    }
}
