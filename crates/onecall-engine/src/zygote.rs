//! The gateway's side of a zygote: a warm process that forks workers on request.
//!
//! Only the zygote may signal or reap its children, so a worker is killed by
//! asking it; a process id that was reused can never be hit. When the zygote
//! dies its workers die with it, and when the gateway dies the zygote sees its
//! stdin close.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::examination::Examination;
use crate::worker::Worker;

const FORK: u8 = b'F';
const KILL: u8 = b'K';

/// A message to the zygote: kind and worker id.
const REQUEST_SIZE: usize = 9;

/// A message from it: kind, worker id and wait status.
const EXIT_SIZE: usize = 13;

/// How long a dead zygote's stderr may stay open.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_millis(200);

/// How to start a zygote: this program, run again with these arguments.
#[derive(Clone, Debug)]
pub(crate) struct ZygoteCommand {
    /// The executable.
    pub(crate) program: PathBuf,
    /// Its arguments, which must lead to the zygote's body.
    pub(crate) args: Vec<String>,
}

/// A handle to a running zygote; the process ends when the last one is dropped.
#[derive(Debug)]
pub(crate) struct Zygote {
    requests: mpsc::UnboundedSender<Request>,
    next_id: AtomicU64,
    last_words: Arc<Mutex<String>>,
    /// What its first worker found out about the walls.
    pub(crate) examination: OnceCell<Examination>,
}

#[derive(Debug)]
enum Request {
    Fork { id: u64, socket: OwnedFd, exited: oneshot::Sender<WaitStatus> },
    Kill { id: u64 },
}

/// How a process ended, as `wait` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitStatus(i32);

impl WaitStatus {
    /// The signal that killed it, if one did.
    pub(crate) fn signal(self) -> Option<i32> {
        let signal = self.0 & 0x7f;
        (signal != 0).then_some(signal)
    }

    /// Its exit code, if it ended by itself.
    pub(crate) fn code(self) -> Option<i32> {
        (self.0 & 0x7f == 0).then_some((self.0 >> 8) & 0xff)
    }
}

impl Zygote {
    /// Starts the process. Must be called inside a tokio runtime.
    pub(crate) fn spawn(command: &ZygoteCommand) -> io::Result<Arc<Self>> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (setting, value) = onecall_jail::ALLOCATOR_SETTING;
        let mut child = Command::new(&command.program)
            .args(&command.args)
            .env_clear()
            .env(setting, value)
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let last_words = Arc::new(Mutex::default());
        let log = tokio::spawn(log_stderr(child.stderr.take(), Arc::clone(&last_words)));
        let (requests, queue) = mpsc::unbounded_channel();
        tokio::spawn(drive(UnixStream::from_std(ours)?, queue, child, log));
        let examination = OnceCell::new();
        Ok(Arc::new(Self { requests, next_id: AtomicU64::new(1), last_words, examination }))
    }

    /// The last line it wrote to stderr, if any.
    pub(crate) fn last_words(&self) -> String {
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks for a worker; it comes to life in the background.
    pub(crate) fn fork(self: &Arc<Self>) -> io::Result<Worker> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (exited, exit) = oneshot::channel();
        self.requests
            .send(Request::Fork { id, socket: theirs.into(), exited })
            .map_err(|_| io::Error::other("the zygote is gone"))?;
        Ok(Worker::new(id, UnixStream::from_std(ours)?, exit, Arc::clone(self)))
    }

    /// Kills a worker, if it still lives.
    pub(crate) fn kill(&self, id: u64) {
        // A zygote that is gone has taken its workers along.
        _ = self.requests.send(Request::Kill { id });
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.requests.is_closed()
    }
}

/// Carries requests to the zygote and exits from it until either side is gone.
async fn drive(
    mut control: UnixStream,
    mut requests: mpsc::UnboundedReceiver<Request>,
    mut zygote: Child,
    log: JoinHandle<()>,
) {
    let mut waiting = HashMap::new();
    let mut exit = [0u8; EXIT_SIZE];
    let mut filled = 0;
    loop {
        let rest = exit.get_mut(filled..).unwrap_or_default();
        tokio::select! {
            request = requests.recv() => {
                let Some(request) = request else { break };
                if let Err(error) = send(&control, request, &mut waiting).await {
                    tracing::warn!("the zygote cannot be reached: {error}");
                    break;
                }
            }
            received = control.read(rest) => {
                match received {
                    Ok(0) | Err(_) => break,
                    Ok(count) => filled += count,
                }
                if filled == EXIT_SIZE {
                    filled = 0;
                    report_exit(exit, &mut waiting);
                }
            }
        }
    }
    requests.close();
    drop(control);
    _ = zygote.start_kill();
    _ = zygote.wait().await;
    _ = tokio::time::timeout(LAST_WORDS_TIMEOUT, log).await;
    // Whoever waits for an exit learns from its dropped sender that there is
    // nobody left to report one, and finds the last words complete.
    drop(waiting);
}

async fn send(
    control: &UnixStream,
    request: Request,
    waiting: &mut HashMap<u64, oneshot::Sender<WaitStatus>>,
) -> io::Result<()> {
    let (kind, id, socket) = match request {
        Request::Fork { id, socket, exited } => {
            waiting.insert(id, exited);
            (FORK, id, Some(socket))
        }
        Request::Kill { id } if waiting.contains_key(&id) => (KILL, id, None),
        Request::Kill { .. } => return Ok(()),
    };
    let mut message = [0u8; REQUEST_SIZE];
    let [first, rest @ ..] = &mut message;
    *first = kind;
    rest.copy_from_slice(&id.to_le_bytes());
    control
        .async_io(Interest::WRITABLE, || {
            let sockets: Vec<_> = socket.iter().map(AsFd::as_fd).collect();
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !sockets.is_empty() {
                ancillary.push(SendAncillaryMessage::ScmRights(&sockets));
            }
            sendmsg(control, &[IoSlice::new(&message)], &mut ancillary, SendFlags::NOSIGNAL)?;
            Ok(())
        })
        .await
}

fn report_exit(message: [u8; EXIT_SIZE], waiting: &mut HashMap<u64, oneshot::Sender<WaitStatus>>) {
    let [_, a, b, c, d, e, f, g, h, status @ ..] = message;
    let id = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    if let Some(exited) = waiting.remove(&id) {
        // A worker that finished its program is no longer waited for.
        _ = exited.send(WaitStatus(i32::from_le_bytes(status)));
    }
}

async fn log_stderr(stderr: Option<ChildStderr>, last_words: Arc<Mutex<String>>) {
    let Some(stderr) = stderr else { return };
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::error!("zygote: {line}");
        *last_words.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }
}
