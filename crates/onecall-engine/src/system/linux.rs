//! System calls that only Linux has.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Flags for sending: a closed receiver is an error and raises no signal.
pub(crate) const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL;

/// Flags for receiving descriptors: they are not inherited by executed programs.
pub(crate) const RECEIVE_FLAGS: RecvFlags = RecvFlags::CMSG_CLOEXEC;

/// A pair of connected sockets that keep the boundaries of messages.
pub(crate) fn packet_sockets() -> io::Result<(OwnedFd, OwnedFd)> {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    Ok(socketpair(AddressFamily::UNIX, kind, flags, None)?)
}

/// Opens a file that contains the size of this process's address space.
pub(crate) fn open_memory_usage() -> io::Result<File> {
    File::open("/proc/self/statm")
}

/// Enlarges the buffer of a pipe, so that `bytes` can be written before any are read.
pub(crate) fn enlarge_pipe(pipe: impl AsFd, bytes: usize) -> io::Result<()> {
    rustix::pipe::fcntl_setpipe_size(pipe, bytes)?;
    Ok(())
}

/// Lets this process use large pages for the memory that it allocates from now on.
pub(crate) fn allow_large_pages() {
    // An error means that the kernel has no large pages.
    _ = rustix::thread::disable_transparent_huge_pages(false);
}

/// Moves the data of this process into large pages, so that it is forked faster, and gives back what only its start
/// needed.
pub(crate) fn prepare_memory_for_forks() {
    allow_large_pages();
    // Without large pages, each fork takes longer, and everything else is equal.
    _ = onecall_jail::use_large_pages();
    // What cannot be given back is only more memory.
    _ = onecall_jail::release_start_memory();
}

/// A descriptor by which one thread wakes another that polls it.
#[derive(Debug)]
pub(crate) struct Wakeup(OwnedFd);

impl Wakeup {
    /// Creates a descriptor that is not readable yet.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes the descriptor readable.
    pub(crate) fn wake(&self) -> io::Result<()> {
        rustix::io::write(&self.0, &1u64.to_ne_bytes())?;
        Ok(())
    }

    /// Makes the descriptor unreadable again.
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
    /// Creates a watch. This must happen before the fork.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// In the parent: a descriptor that becomes readable when the child has ended.
    pub(crate) fn of_child(self, child: Pid) -> io::Result<OwnedFd> {
        Ok(pidfd_open(child, PidfdFlags::empty())?)
    }

    /// In the child: makes its end visible to the parent.
    pub(crate) fn of_this_process(self) {}
}
