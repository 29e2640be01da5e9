//! What the HTTP server asks of Linux, and what it does without on other systems.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Has the kernel end a connection whose other end acknowledges nothing for this long.
#[cfg(target_os = "linux")]
pub(super) fn limit_unacknowledged(stream: impl AsFd, time: Duration) -> io::Result<()> {
    let milliseconds = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds)?)
}

/// Leaves the time after which a silent connection ends to the system.
#[cfg(not(target_os = "linux"))]
pub(super) fn limit_unacknowledged(_stream: impl AsFd, _time: Duration) -> io::Result<()> {
    Ok(())
}
