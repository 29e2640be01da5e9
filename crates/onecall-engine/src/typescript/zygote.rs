//! The zygote of the TypeScript engine: a warm process that forks a worker for each program.
//!
//! The gateway sends requests on stdin: `F` and an id, with a socket attached, asks for a worker on
//! that socket, and for the files of its program on a second one; `S` and a size asks for a scratch
//! folder of that size on the socket; `K` and an id kills a worker. When a worker ends, the zygote sends `X`, its id and
//! its wait status; if a worker cannot be forked, it sends `N`, the id and the error number. Only
//! this process reaps and kills its children, so a signal never hits a reused process id.

use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use onecall_jail::{Forked, fork};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, recvmsg};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, setsid, waitpid};

use crate::files::channel::send_once;
use crate::files::packets::FileAnswer;
use crate::scratch::ScratchFolder;
use crate::system::{self, ExitWatch};

const FORK: u8 = b'F';
const SCRATCH: u8 = b'S';
const KILL: u8 = b'K';
const EXITED: u8 = b'X';
const NOT_FORKED: u8 = b'N';

/// When the first process of a PID namespace ends, the kernel kills all others in it and refuses to
/// fork more.
const NAMESPACE_ENDED: &str =
    "the first process of the sandbox was killed, and the kernel ended every program in it";

/// The size of a request: its kind and a worker id.
const REQUEST_SIZE: usize = 9;

struct Child {
    id: u64,
    process: Pid,
    /// Becomes readable when the process has ended.
    handle: OwnedFd,
    /// Whether the zygote has killed it.
    killed: bool,
}

/// Forks workers, each of which runs `work` on its stdin, with the socket for its files, until the gateway closes stdin.
pub(super) fn serve(work: impl Fn(Option<OwnedFd>)) -> io::Result<()> {
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
            let Some(Request { kind, id, sockets: [socket, files] }) = receive()? else {
                return Ok(());
            };
            match (kind, socket) {
                (FORK, Some(socket)) => match ExitWatch::new().and_then(|it| Ok((fork()?, it))) {
                    Ok((Forked::Child, watch)) => {
                        watch.of_this_process();
                        drop(children);
                        set_up_child(socket)?;
                        work(files);
                        std::process::exit(0);
                    }
                    Ok((Forked::Parent(process), watch)) => {
                        let handle = watch.of_child(process)?;
                        children.push(Child { id, process, handle, killed: false });
                    }
                    Err(error) => {
                        let error = unless_namespace_ended(error)?;
                        report_worker(NOT_FORKED, id, error.raw_os_error().unwrap_or_default())?;
                    }
                },
                (SCRATCH, Some(socket)) => send_scratch(id, &socket),
                (KILL, _) => {
                    for child in children.iter_mut().filter(|child| child.id == id) {
                        child.killed = true;
                        // A process that has just ended is reaped in the next iteration.
                        _ = kill_process(child.process, Signal::KILL);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Reports every child that has ended to the gateway.
fn reap(children: &mut Vec<Child>) -> io::Result<()> {
    let mut living = Vec::new();
    for child in children.drain(..) {
        match waitpid(Some(child.process), WaitOptions::NOHANG)? {
            None => living.push(child),
            Some((_, status)) => {
                let signal = status.terminating_signal();
                if signal == Some(Signal::KILL.as_raw()) && !child.killed {
                    check_namespace()?;
                }
                report_worker(EXITED, child.id, status.as_raw())?;
            }
        }
    }
    *children = living;
    Ok(())
}

/// Reports to the gateway what became of a worker.
fn report_worker(kind: u8, id: u64, number: i32) -> io::Result<()> {
    let mut message = vec![kind];
    message.extend(id.to_le_bytes());
    message.extend(number.to_le_bytes());
    let control = rustix::io::dup(rustix::stdio::stdin())?;
    std::os::unix::net::UnixStream::from(control).write_all(&message)
}

/// Fails if the kernel has ended a worker together with its PID namespace: nothing can be forked
/// any more, and the gateway has to replace this process.
fn check_namespace() -> io::Result<()> {
    match fork() {
        Ok(Forked::Child) => std::process::exit(0),
        Ok(Forked::Parent(process)) => {
            waitpid(Some(process), WaitOptions::empty()).map(drop).map_err(io::Error::from)
        }
        Err(error) => unless_namespace_ended(error).map(drop),
    }
}

/// Returns an error of `fork`, or fails if it means that the PID namespace is gone.
fn unless_namespace_ended(error: io::Error) -> io::Result<io::Error> {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return Err(io::Error::other(NAMESPACE_ENDED));
    }
    Ok(error)
}

/// Creates a scratch folder and sends it on this socket, or the reason why it could not be created.
fn send_scratch(bytes: u64, socket: &OwnedFd) {
    let made = ScratchFolder { bytes }.make();
    // If nothing can be sent, the gateway sees a closed socket.
    _ = match &made {
        Ok(folder) => send_once(socket, FileAnswer::Done, Some(folder)),
        Err(error) => {
            let (errno, reason) = (error.raw_os_error().unwrap_or_default(), error.to_string());
            send_once(socket, FileAnswer::Failed { errno, reason: &reason }, None)
        }
    };
}

/// A request of the gateway.
struct Request {
    kind: u8,
    /// The id of a worker, or the size of a scratch folder.
    id: u64,
    /// The sockets that are attached: that of a worker, and that for its files.
    sockets: [Option<OwnedFd>; 2],
}

/// The next request; `None` if the gateway is gone.
fn receive() -> io::Result<Option<Request>> {
    let mut message = [0u8; REQUEST_SIZE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        rustix::stdio::stdin(),
        &mut [IoSliceMut::new(&mut message)],
        &mut ancillary,
        system::RECEIVE_FLAGS,
    )?;
    if received.bytes < REQUEST_SIZE {
        return Ok(None);
    }
    let mut attached = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let mut attached = attached.by_ref().flatten();
    let sockets = [attached.next(), attached.next()];
    let [kind, id @ ..] = message;
    Ok(Some(Request { kind, id: u64::from_le_bytes(id), sockets }))
}

/// Makes `socket` the child's stdin, and starts a new session.
fn set_up_child(socket: OwnedFd) -> io::Result<()> {
    rustix::stdio::dup2_stdin(socket.as_fd())?;
    setsid()?;
    Ok(())
}
