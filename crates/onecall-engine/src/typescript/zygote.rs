//! The warm process that forks a worker for each program.
//!
//! The gateway speaks on stdin: `F` and an id, with a socket attached, asks for a worker
//! on that socket; `K` and an id kills one. Each worker's end is answered with `X`, its
//! id and its wait status. Nothing but this process may reap or kill its children, so an
//! id never reaches a stranger.

use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use onecall_jail::{Forked, fork};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, setsid, waitpid,
};

const FORK: u8 = b'F';
const KILL: u8 = b'K';
const EXITED: u8 = b'X';

/// A message of the gateway: kind and worker id.
const REQUEST_SIZE: usize = 9;

struct Child {
    id: u64,
    process: Pid,
    /// Readable once it has ended.
    handle: OwnedFd,
}

/// Forks workers, each of which runs `work` on its stdin, until the gateway closes stdin.
pub(super) fn serve(work: impl Fn()) -> io::Result<()> {
    let mut children: Vec<Child> = Vec::new();
    loop {
        let stdin = rustix::stdio::stdin();
        let mut polled = vec![PollFd::from_borrowed_fd(stdin, PollFlags::IN)];
        polled.extend(children.iter().map(|child| PollFd::new(&child.handle, PollFlags::IN)));
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = polled.iter().map(|it| !it.revents().is_empty()).collect();
        let ended = ready.iter().skip(1).any(|ended| *ended);
        if ended {
            reap(&mut children)?;
        }
        if ready.first() == Some(&true) {
            let Some((kind, id, socket)) = receive()? else { return Ok(()) };
            match (kind, socket) {
                (FORK, Some(socket)) => match fork()? {
                    Forked::Child => {
                        drop(children);
                        settle(socket)?;
                        work();
                        std::process::exit(0);
                    }
                    Forked::Parent(process) => {
                        let handle = pidfd_open(process, PidfdFlags::empty())?;
                        children.push(Child { id, process, handle });
                    }
                },
                (KILL, _) => {
                    for child in children.iter().filter(|child| child.id == id) {
                        // One that has just ended is reaped in the next round.
                        _ = kill_process(child.process, Signal::KILL);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Tells the gateway of every child that has ended.
fn reap(children: &mut Vec<Child>) -> io::Result<()> {
    let mut living = Vec::new();
    for child in children.drain(..) {
        match waitpid(Some(child.process), WaitOptions::NOHANG)? {
            None => living.push(child),
            Some((_, status)) => {
                let mut message = vec![EXITED];
                message.extend(child.id.to_le_bytes());
                message.extend(status.as_raw().to_le_bytes());
                let control = rustix::io::dup(rustix::stdio::stdin())?;
                std::os::unix::net::UnixStream::from(control).write_all(&message)?;
            }
        }
    }
    *children = living;
    Ok(())
}

/// The next request; `None` if the gateway is gone.
fn receive() -> io::Result<Option<(u8, u64, Option<OwnedFd>)>> {
    let mut message = [0u8; REQUEST_SIZE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        rustix::stdio::stdin(),
        &mut [IoSliceMut::new(&mut message)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if received.bytes < REQUEST_SIZE {
        return Ok(None);
    }
    let socket = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let [kind, id @ ..] = message;
    Ok(Some((kind, u64::from_le_bytes(id), socket)))
}

/// Makes `socket` the child's stdin, in a session of its own.
fn settle(socket: OwnedFd) -> io::Result<()> {
    rustix::stdio::dup2_stdin(socket.as_fd())?;
    setsid()?;
    Ok(())
}
