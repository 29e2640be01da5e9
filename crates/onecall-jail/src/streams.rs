//! Detaches the inherited standard streams, which belong to the gateway.

use std::fs::OpenOptions;
use std::io;

/// Redirects stdin, stdout and stderr to `/dev/null`.
pub fn close_standard_streams() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
