//! The inherited standard streams belong to the gateway, not to a program.

use std::fs::OpenOptions;
use std::io;

/// Points stdin, stdout and stderr at `/dev/null`.
pub fn close_standard_streams() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
