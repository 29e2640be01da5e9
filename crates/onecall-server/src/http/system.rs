//! Socket options that only Linux has, with replacements for other systems.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Makes the kernel close a connection whose peer acknowledges nothing for this long.
#[cfg(target_os = "linux")]
pub(super) fn limit_unacknowledged(stream: impl AsFd, time: Duration) -> io::Result<()> {
    let milliseconds = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds)?)
}

/// Leaves the timeout for silent connections to the operating system.
#[cfg(not(target_os = "linux"))]
pub(super) fn limit_unacknowledged(_stream: impl AsFd, _time: Duration) -> io::Result<()> {
    Ok(())
}
