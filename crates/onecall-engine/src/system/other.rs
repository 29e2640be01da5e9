//! The functions of `linux.rs` with system calls that every Unix has. A function for which that is
//! not possible belongs to the sandbox, which exists only on Linux, and fails here.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{RecvFlags, SendFlags};
use rustix::process::Pid;

/// Flags for sending. Processes of onecall ignore the signal for a closed receiver.
pub(crate) const SEND_FLAGS: SendFlags = SendFlags::empty();

/// Flags for receiving descriptors.
pub(crate) const RECEIVE_FLAGS: RecvFlags = RecvFlags::empty();

/// Fails: only a program in a sandbox asks for files on such a socket.
pub(crate) fn packet_sockets() -> io::Result<(OwnedFd, OwnedFd)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "sockets for packets need Linux"))
}

/// Fails: the system's Python is supported on Linux only.
pub(crate) fn open_memory_usage() -> io::Result<File> {
    let reason = "onecall runs programs on the system's Python on Linux only; set `engine: python`";
    Err(io::Error::new(io::ErrorKind::Unsupported, reason))
}

/// Leaves the pipe as it is.
pub(crate) fn enlarge_pipe(_pipe: impl AsFd, _bytes: usize) -> io::Result<()> {
    Ok(())
}

/// Does nothing: other systems choose the size of pages themselves.
pub(crate) fn allow_large_pages() {}

/// Does nothing: other systems decide themselves about pages.
pub(crate) fn prepare_memory_for_forks() {}

/// A descriptor by which one thread wakes another that polls it.
#[derive(Debug)]
pub(crate) struct Wakeup {
    polled: UnixStream,
    waker: UnixStream,
}

impl Wakeup {
    /// Creates a descriptor that is not readable yet.
    pub(crate) fn new() -> io::Result<Self> {
        let (polled, waker) = UnixStream::pair()?;
        polled.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        Ok(Self { polled, waker })
    }

    /// Makes the descriptor readable.
    pub(crate) fn wake(&self) -> io::Result<()> {
        match (&self.waker).write(&[1]) {
            Ok(_) => Ok(()),
            // The buffer is full, so the descriptor is readable already.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes the descriptor unreadable again.
    pub(crate) fn clear(&self) -> io::Result<()> {
        let mut bytes = [0u8; 256];
        loop {
            match (&self.polled).read(&mut bytes) {
                Ok(count) if count == bytes.len() => {}
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.polled.as_fd()
    }
}

/// Watches for the end of a process that is about to be forked: the kernel then closes its end of a
/// pipe.
#[derive(Debug)]
pub(crate) struct ExitWatch {
    polled: PipeReader,
    held: PipeWriter,
}

impl ExitWatch {
    /// Creates a watch. This must happen before the fork.
    pub(crate) fn new() -> io::Result<Self> {
        let (polled, held) = io::pipe()?;
        Ok(Self { polled, held })
    }

    /// In the parent: a descriptor that becomes readable when the child has ended.
    pub(crate) fn of_child(self, _child: Pid) -> io::Result<OwnedFd> {
        drop(self.held);
        Ok(self.polled.into())
    }

    /// In the child: makes its end visible to the parent.
    pub(crate) fn of_this_process(self) {
        // Stays open for as long as this process lives.
        _ = self.held.into_raw_fd();
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn is_readable(descriptor: &impl AsFd) -> bool {
        let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec::default())).unwrap() > 0
    }

    #[test]
    fn whoever_polls_is_woken_until_it_is_cleared() {
        let wakeup = Wakeup::new().unwrap();
        wakeup.clear().unwrap();
        assert!(!is_readable(&wakeup));
        for _ in 0..10_000 {
            wakeup.wake().unwrap();
        }
        assert!(is_readable(&wakeup));
        wakeup.clear().unwrap();
        assert!(!is_readable(&wakeup));
        wakeup.wake().unwrap();
        assert!(is_readable(&wakeup));
    }

    #[test]
    fn the_end_of_a_process_is_seen() {
        let watch = ExitWatch::new().unwrap();
        // Holds the writing end until its input is closed, as a forked worker would.
        let held = watch.held.try_clone().unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(held).spawn().unwrap();
        let process = Pid::from_child(&child);
        let ended = watch.of_child(process).unwrap();
        assert!(!is_readable(&ended));
        drop(child.stdin.take());
        poll(&mut [PollFd::new(&ended, PollFlags::IN)], None).unwrap();
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn what_only_the_sandbox_needs_is_refused() {
        assert_eq!(packet_sockets().unwrap_err().kind(), io::ErrorKind::Unsupported);
        let refused = open_memory_usage().unwrap_err().to_string();
        assert!(refused.contains("on Linux only"), "{refused}");
    }
}
