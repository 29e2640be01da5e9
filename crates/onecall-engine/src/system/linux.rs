//! Calls that only Linux has.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How messages are sent: a receiver that is gone is an error, not a signal.
pub(crate) const SEND: SendFlags = SendFlags::NOSIGNAL;

/// How messages with descriptors are received: no program that is executed inherits them.
pub(crate) const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;

/// Two connected sockets on which a message is one packet.
pub(crate) fn packet_sockets() -> io::Result<(OwnedFd, OwnedFd)> {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    Ok(socketpair(AddressFamily::UNIX, kind, flags, None)?)
}

/// A file that says how much address space this process uses.
pub(crate) fn open_own_size() -> io::Result<File> {
    File::open("/proc/self/statm")
}

/// Makes room in a pipe for `bytes` that are written before any is read.
pub(crate) fn enlarge_pipe(pipe: impl AsFd, bytes: usize) -> io::Result<()> {
    rustix::pipe::fcntl_setpipe_size(pipe, bytes)?;
    Ok(())
}

/// A descriptor by which one thread wakes another that polls it.
#[derive(Debug)]
pub(crate) struct Wakeup(OwnedFd);

impl Wakeup {
    /// A descriptor that is not readable yet.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it readable.
    pub(crate) fn wake(&self) -> io::Result<()> {
        rustix::io::write(&self.0, &1u64.to_ne_bytes())?;
        Ok(())
    }

    /// Makes it unreadable again.
    pub(crate) fn clear(&self) -> io::Result<()> {
        rustix::io::read(&self.0, &mut [0u8; 8])?;
        Ok(())
    }
}

impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Watches for the end of a process that is about to be forked.
#[derive(Debug)]
pub(crate) struct ExitWatch;

impl ExitWatch {
    /// To be made before the fork.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// In the parent: a descriptor that becomes readable when the child has ended.
    pub(crate) fn of_child(self, child: Pid) -> io::Result<OwnedFd> {
        Ok(pidfd_open(child, PidfdFlags::empty())?)
    }

    /// In the child: lets the parent see its end.
    pub(crate) fn of_this_process(self) {}
}
