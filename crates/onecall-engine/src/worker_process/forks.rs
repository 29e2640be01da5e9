//! The loop of a zygote: it forks a worker for each request of the gateway.
//!
//! The gateway sends requests on stdin: `F` and an id, with a socket attached, asks for a worker on
//! that socket, and for the files of its program on a second one; `S` and a size asks for a scratch
//! folder of that size on the socket; `K` and an id kills a worker. When a worker ends, the zygote sends `X`, its id and
//! its wait status; if a worker cannot be forked, it sends `N`, the id and the error number. When the preparation for
//! later workers is done, it sends `W`. Only this process reaps and kills its children, so a signal never hits a reused
//! process id.
//!
//! Everything that this loop changes is copied for the next worker, so it is not code of an interpreter.
//! `cpython/forks.py` is the same loop for the system's Python.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use onecall_jail::{Forked, fork};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, recvmsg, send};
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
const PREPARED: u8 = b'W';

/// The preparation begins when nothing was asked for this long, but at the latest after the time below. The first
/// worker tests the sandbox and the second one often has a program at once: steps of the preparation would take
/// processor time from them, and the zygote notices the end of the test between steps only.
const QUIET: Duration = Duration::from_millis(40);
const LATEST_PREPARATION: Duration = Duration::from_millis(400);

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

/// What this process is after a fork.
pub(crate) struct NewWorker {
    /// The socket for the files of its program.
    pub(crate) files: Option<OwnedFd>,
    /// Whether the zygote was prepared when it forked this worker.
    pub(crate) is_prepared: bool,
}

/// What a zygote does for later workers in its first quiet moments. Returns whether there is more to do.
pub(crate) type PreparationStep<'a> = &'a mut dyn FnMut() -> io::Result<bool>;

/// Forks workers until the gateway closes stdin. Returns in each of them, where the socket of its program is stdin,
/// and in the zygote, without one, when the gateway is gone.
pub(crate) fn serve(mut preparation: Option<PreparationStep<'_>>) -> io::Result<Option<NewWorker>> {
    let mut children: Vec<Child> = Vec::new();
    let latest = Instant::now() + LATEST_PREPARATION;
    let mut patience = QUIET;
    loop {
        let timeout = preparation.is_some().then_some(patience);
        let (is_asked, has_ended) = wait(&children, timeout)?;
        if let Some(step) = &mut preparation {
            let is_quiet = !is_asked && !has_ended;
            if is_quiet || Instant::now() > latest {
                patience = Duration::ZERO;
            }
            if is_quiet && !step()? {
                preparation = None;
                report_worker(PREPARED, 0, 0)?;
            }
        }
        if has_ended {
            reap(&mut children)?;
        }
        if is_asked {
            let Some(Request { kind, id, sockets: [socket, files] }) = receive()? else {
                return Ok(None);
            };
            match (kind, socket) {
                (FORK, Some(socket)) => match ExitWatch::new().and_then(|it| Ok((fork()?, it))) {
                    Ok((Forked::Child, watch)) => {
                        watch.of_this_process();
                        drop(children);
                        set_up_child(socket)?;
                        return Ok(Some(NewWorker { files, is_prepared: preparation.is_none() }));
                    }
                    Ok((Forked::Parent(process), watch)) => match watch.of_child(process) {
                        Ok(handle) => children.push(Child { id, process, handle, killed: false }),
                        Err(error) => {
                            // Its end would not be noticed.
                            _ = kill_process(process, Signal::KILL);
                            waitpid(Some(process), WaitOptions::empty())?;
                            report_not_forked(id, &error)?;
                        }
                    },
                    Err(error) => {
                        let error = unless_namespace_ended(error)?;
                        report_not_forked(id, &error)?;
                    }
                },
                // There were too many open descriptors for one more.
                (FORK, None) => report_not_forked(id, &rustix::io::Errno::MFILE.into())?,
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

/// Waits for a request of the gateway or the end of a child, and says which of them there is.
fn wait(children: &[Child], timeout: Option<Duration>) -> io::Result<(bool, bool)> {
    let stdin = rustix::stdio::stdin();
    let mut polled = vec![PollFd::from_borrowed_fd(stdin, PollFlags::IN)];
    polled.extend(children.iter().map(|child| PollFd::new(&child.handle, PollFlags::IN)));
    let timeout = timeout.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut is_ready = polled.iter().map(|it| !it.revents().is_empty());
    Ok((is_ready.next() == Some(true), is_ready.any(|ended| ended)))
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

/// Reports to the gateway what became of a worker. This opens no descriptor, because there may be too many.
fn report_worker(kind: u8, id: u64, number: i32) -> io::Result<()> {
    let mut message = vec![kind];
    message.extend(id.to_le_bytes());
    message.extend(number.to_le_bytes());
    let mut rest = message.as_slice();
    while !rest.is_empty() {
        let sent = retry_on_intr(|| send(rustix::stdio::stdin(), rest, system::SEND_FLAGS))?;
        rest = rest.get(sent..).unwrap_or_default();
    }
    Ok(())
}

/// Reports to the gateway why there is no worker.
fn report_not_forked(id: u64, error: &io::Error) -> io::Result<()> {
    report_worker(NOT_FORKED, id, error.raw_os_error().unwrap_or_default())
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
