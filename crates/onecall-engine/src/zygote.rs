//! The gateway's side of a zygote: a warm process that forks workers on request.
//!
//! Only the zygote signals or reaps its children, so a worker is killed by a request to the zygote,
//! and a reused process id can never be hit. When the zygote dies, its workers die with it; when
//! the gateway dies, the zygote sees its stdin close.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, sendmsg};
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::process::{ChildStderr, Command};
use tokio::sync::{OnceCell, mpsc, oneshot, watch};

use crate::files::FileServer;
use crate::files::channel::{FileChannel, receive_once};
use crate::sandbox_report::SandboxReport;
use crate::scratch::{ScratchError, ScratchFolder, ScratchSlot};
use crate::system;
use crate::worker::Worker;

const FORK: u8 = b'F';
const KILL: u8 = b'K';
const SCRATCH: u8 = b'S';
const NOT_FORKED: u8 = b'N';
const PREPARED: u8 = b'W';

/// The size of a request to the zygote: its kind, and a worker id or the size of a scratch folder.
const REQUEST_SIZE: usize = 9;

/// The size of a report from the zygote: its kind, a worker id, and a wait status or error number.
const REPORT_SIZE: usize = 13;

/// How long to wait for a dead zygote's stderr to close. Workers inherit it, and the kernel ends
/// them with their zygote.
const STDERR_TIMEOUT: Duration = Duration::from_secs(2);

/// The command that starts a zygote: this binary with special arguments.
#[derive(Clone, Debug)]
pub(crate) struct ZygoteCommand {
    /// The executable.
    pub(crate) program: PathBuf,
    /// The arguments, which select the zygote's main function.
    pub(crate) args: Vec<String>,
}

/// A handle to a running zygote. The process ends when the last handle is dropped.
#[derive(Debug)]
pub(crate) struct Zygote {
    requests: mpsc::UnboundedSender<ZygoteRequest>,
    next_id: AtomicU64,
    /// Why the process ended, once it has.
    end_reason: watch::Receiver<Option<String>>,
    /// Whether it is prepared as far as it can be. Workers that it forks before run programs a little
    /// slower.
    is_prepared: watch::Receiver<bool>,
    /// The report of its first worker about the sandbox.
    pub(crate) sandbox_report: OnceCell<SandboxReport>,
}

#[derive(Debug)]
enum ZygoteRequest {
    Fork { id: u64, sockets: Vec<OwnedFd>, exited: oneshot::Sender<WorkerExit> },
    Kill { id: u64 },
    Scratch { bytes: u64, socket: OwnedFd },
}

/// The final report about a worker.
#[derive(Debug)]
pub(crate) enum WorkerExit {
    /// The process has ended.
    Ended(WaitStatus),
    /// The worker could not be forked.
    NotForked(io::Error),
}

/// How a process ended, as `wait` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitStatus(i32);

/// The name of a signal that ends a process.
pub(crate) fn signal_name(signal: i32) -> String {
    match signal {
        4 => "SIGILL".to_owned(),
        6 => "SIGABRT".to_owned(),
        7 => "SIGBUS".to_owned(),
        9 => "SIGKILL".to_owned(),
        11 => "SIGSEGV".to_owned(),
        15 => "SIGTERM".to_owned(),
        24 => "SIGXCPU".to_owned(),
        25 => "SIGXFSZ".to_owned(),
        31 => "SIGSYS".to_owned(),
        other => format!("signal {other}"),
    }
}

impl WaitStatus {
    /// The signal that killed the process, if one did.
    pub(crate) fn signal(self) -> Option<i32> {
        let signal = self.0 & 0x7f;
        (signal != 0).then_some(signal)
    }

    /// The exit code, if the process ended by itself.
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
        let last_line = LastStderrLine::default();
        let log = tokio::spawn(log_stderr(child.stderr.take(), last_line.clone()));
        let (requests, queue) = mpsc::unbounded_channel();
        let (end_reason_sender, end_reason) = watch::channel(None);
        let (prepared, is_prepared) = watch::channel(false);
        let control = UnixStream::from_std(ours)?;
        tokio::spawn(async move {
            let pending_exits = exchange_messages(control, queue, &prepared).await;
            _ = child.start_kill();
            let status = child.wait().await;
            _ = tokio::time::timeout(STDERR_TIMEOUT, log).await;
            end_reason_sender.send_replace(Some(describe_end(&last_line.get(), status.ok())));
            // A dropped sender tells the worker's owner that no exit will be reported.
            drop(pending_exits);
        });
        let sandbox_report = OnceCell::new();
        let next_id = AtomicU64::new(1);
        Ok(Arc::new(Self { requests, next_id, end_reason, is_prepared, sandbox_report }))
    }

    /// Waits for the end of the process and returns the reason: its last line on stderr, if there
    /// is one.
    pub(crate) async fn end_reason(&self) -> String {
        let mut end_reason = self.end_reason.clone();
        let known = end_reason.wait_for(Option::is_some).await.ok();
        known.and_then(|end_reason| end_reason.clone()).unwrap_or_else(|| describe_end("", None))
    }

    /// Becomes true when the process is prepared. The receiver does not keep the process alive.
    pub(crate) fn is_prepared(&self) -> watch::Receiver<bool> {
        self.is_prepared.clone()
    }

    /// Forks a worker in the background; its programs may use `files`. If the zygote is gone, the
    /// worker counts as ended, and [`end_reason`](Self::end_reason) returns the reason.
    pub(crate) fn fork(self: &Arc<Self>, files: Option<&Arc<FileServer>>) -> io::Result<Worker> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut sockets = vec![OwnedFd::from(theirs)];
        let slot = ScratchSlot::new(self);
        let files = match files {
            Some(files) => {
                let (ours, theirs) = FileChannel::pair()?;
                sockets.push(theirs);
                Some(tokio::spawn(Arc::clone(files).serve(ours, Arc::clone(&slot))))
            }
            None => None,
        };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (exited, exit) = oneshot::channel();
        _ = self.requests.send(ZygoteRequest::Fork { id, sockets, exited });
        Ok(Worker::new(id, UnixStream::from_std(ours)?, files, slot, exit, Arc::clone(self)))
    }

    /// Makes the zygote create a scratch folder, and takes it over. Blocks until the zygote answers
    /// or is gone.
    pub(crate) fn make_scratch(&self, scratch: ScratchFolder) -> Result<OwnedFd, ScratchError> {
        let (ours, theirs) = system::packet_sockets()?;
        _ = self.requests.send(ZygoteRequest::Scratch { bytes: scratch.bytes, socket: theirs });
        receive_once(&ours).map_err(|failed| match failed.reason {
            reason if reason.is_empty() => io::Error::from_raw_os_error(failed.errno).into(),
            reason => ScratchError::NotCreated { reason },
        })
    }

    /// Kills a worker, if it still lives.
    pub(crate) fn kill(&self, id: u64) {
        // When the zygote is gone, so are its workers.
        _ = self.requests.send(ZygoteRequest::Kill { id });
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.requests.is_closed()
    }
}

/// The channels for the exit reports of workers, by worker id.
type PendingExits = HashMap<u64, oneshot::Sender<WorkerExit>>;

/// Sends requests to the zygote and receives its reports until either side is gone. Returns the
/// workers that are left then.
async fn exchange_messages(
    mut control: UnixStream,
    mut requests: mpsc::UnboundedReceiver<ZygoteRequest>,
    prepared: &watch::Sender<bool>,
) -> PendingExits {
    let mut pending_exits = PendingExits::new();
    let mut exit = [0u8; REPORT_SIZE];
    let mut filled = 0;
    loop {
        let rest = exit.get_mut(filled..).unwrap_or_default();
        tokio::select! {
            request = requests.recv() => {
                let Some(request) = request else { break };
                if send(&control, request, &mut pending_exits).await.is_err() {
                    break;
                }
            }
            received = control.read(rest) => {
                match received {
                    Ok(0) | Err(_) => break,
                    Ok(count) => filled += count,
                }
                if filled == REPORT_SIZE {
                    filled = 0;
                    match exit {
                        [PREPARED, ..] => _ = prepared.send_replace(true),
                        _ => report_exit(exit, &mut pending_exits),
                    }
                }
            }
        }
    }
    requests.close();
    pending_exits
}

/// Why a zygote ended. Its last line on stderr explains it, except after SIGKILL: then a worker has
/// written that line, because workers share the stream.
fn describe_end(last_line: &str, status: Option<ExitStatus>) -> String {
    let was_killed = status.and_then(|status| status.signal()) == Some(Signal::KILL.as_raw());
    if !last_line.is_empty() && !was_killed {
        return last_line.to_owned();
    }
    let zygote = "the process that all programs of the engine are forked from";
    match status.map(|status| (status.signal(), status.code())) {
        Some((Some(signal), _)) => format!("{zygote} was ended by {}", signal_name(signal)),
        Some((None, Some(code))) => format!("{zygote} ended with exit code {code}"),
        _ => format!("{zygote} is gone"),
    }
}

async fn send(
    control: &UnixStream,
    request: ZygoteRequest,
    pending_exits: &mut PendingExits,
) -> io::Result<()> {
    let (kind, id, sockets) = match request {
        ZygoteRequest::Fork { id, sockets, exited } => {
            pending_exits.insert(id, exited);
            (FORK, id, sockets)
        }
        ZygoteRequest::Kill { id } if pending_exits.contains_key(&id) => (KILL, id, Vec::new()),
        ZygoteRequest::Kill { .. } => return Ok(()),
        ZygoteRequest::Scratch { bytes, socket } => (SCRATCH, bytes, vec![socket]),
    };
    let mut message = [0u8; REQUEST_SIZE];
    let [first, rest @ ..] = &mut message;
    *first = kind;
    rest.copy_from_slice(&id.to_le_bytes());
    control
        .async_io(Interest::WRITABLE, || {
            let sockets: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !sockets.is_empty() {
                ancillary.push(SendAncillaryMessage::ScmRights(&sockets));
            }
            sendmsg(control, &[IoSlice::new(&message)], &mut ancillary, system::SEND_FLAGS)?;
            Ok(())
        })
        .await
}

fn report_exit(message: [u8; REPORT_SIZE], pending_exits: &mut PendingExits) {
    let [kind, a, b, c, d, e, f, g, h, number @ ..] = message;
    let id = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let number = i32::from_le_bytes(number);
    let exit = match kind {
        NOT_FORKED => WorkerExit::NotForked(io::Error::from_raw_os_error(number)),
        _ => WorkerExit::Ended(WaitStatus(number)),
    };
    if let Some(exited) = pending_exits.remove(&id) {
        // A worker that has finished its program has no receiver any more.
        _ = exited.send(exit);
    }
}

/// The last line that a zygote wrote to stderr.
#[derive(Clone, Default)]
struct LastStderrLine(Arc<Mutex<String>>);

impl LastStderrLine {
    fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, line: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }
}

async fn log_stderr(stderr: Option<ChildStderr>, last_line: LastStderrLine) {
    let Some(stderr) = stderr else { return };
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::error!("zygote: {line}");
        last_line.set(line);
    }
}
