//! The worker's end of its socket.
//!
//! Outgoing frames are buffered. They are sent when the program waits, when there is much output,
//! or after a short interval. Threads of a program may print while another one waits.

use std::io::{self, Write};
use std::net::Shutdown;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::protocol::{AnswerPayload, FromWorker, ToWorker, announced_length, frame_length};
use crate::system::Wakeup;

/// How long frames of a busy program are buffered.
const FLUSH_INTERVAL: Duration = Duration::from_millis(20);

/// A wait begins with polling for this long, while other threads may use the processor: waking up
/// an idle processor takes longer than a fast answer.
const SPIN: Duration = Duration::from_micros(100);

/// Stack size of the flusher thread, which needs very little.
const FLUSHER_STACK: usize = 64 * 1024;

/// The smallest buffer for a read.
const MIN_READ_SIZE: usize = 16 * 1024;

/// Output is sent at once when it has grown to this size.
const FLUSH_SIZE: usize = 32 * 1024;

/// The socket with its buffers.
pub(crate) struct WorkerSocket {
    stream: UnixStream,
    /// Another thread uses this to interrupt a wait.
    wakeup: Wakeup,
    outgoing: Mutex<Outgoing>,
    /// Notified when there is something to send and the flusher waits for it.
    unsent: Condvar,
    incoming: Mutex<Incoming>,
    /// The other end of the socket in a warm-up run, which answers in place of a gateway.
    warm_up_peer: Option<UnixStream>,
}

struct Outgoing {
    frames: Vec<u8>,
    /// Consecutive output to one stream that is not a frame yet.
    text: Vec<u8>,
    text_is_stderr: bool,
    flusher_waits: bool,
}

#[derive(Default)]
struct Incoming {
    buffer: Vec<u8>,
    /// The offset of the first frame that has not been handled yet.
    start: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WorkerSocket {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        Ok(Self {
            stream,
            wakeup: Wakeup::new()?,
            outgoing: Mutex::new(Outgoing {
                frames: Vec::new(),
                text: Vec::new(),
                text_is_stderr: false,
                flusher_waits: false,
            }),
            unsent: Condvar::new(),
            incoming: Mutex::new(Incoming::default()),
            warm_up_peer: None,
        })
    }

    /// A socket that is connected to no gateway, for a warm-up run: every name is a tool with one
    /// parameter, and every call is answered with an empty object.
    pub(crate) fn for_warm_up() -> io::Result<Self> {
        let (stream, warm_up_peer) = UnixStream::pair()?;
        Ok(Self { warm_up_peer: Some(warm_up_peer), ..Self::new(stream)? })
    }

    /// The descriptors that a worker has to keep in its sandbox.
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.stream.as_fd(), self.wakeup.as_fd()]
    }

    pub(crate) fn send(&self, frame: &FromWorker<'_>) -> io::Result<()> {
        let mut outgoing = lock(&self.outgoing);
        outgoing.frame_text()?;
        frame.encode(&mut outgoing.frames).map_err(io::Error::other)?;
        self.wake_flusher(outgoing);
        match &self.warm_up_peer {
            Some(warm_up_peer) => answer_warm_up(warm_up_peer, frame),
            None => Ok(()),
        }
    }

    pub(crate) fn print(&self, text: &[u8], to_stderr: bool) -> io::Result<()> {
        let mut outgoing = lock(&self.outgoing);
        if outgoing.text_is_stderr != to_stderr {
            outgoing.frame_text()?;
            outgoing.text_is_stderr = to_stderr;
        }
        for part in text.chunks(FLUSH_SIZE) {
            outgoing.text.extend_from_slice(part);
            if outgoing.text.len() >= FLUSH_SIZE {
                outgoing.flush(&self.stream)?;
            }
        }
        self.wake_flusher(outgoing);
        Ok(())
    }

    /// Starts a thread that flushes the buffers of a program that is too busy to wait: its calls
    /// must start, and its output must not be lost if it is killed.
    pub(crate) fn start_flusher(
        socket: impl Deref<Target = Self> + Send + 'static,
    ) -> io::Result<()> {
        let flush = move || {
            loop {
                let mut outgoing = lock(&socket.outgoing);
                while outgoing.frames.is_empty() && outgoing.text.is_empty() {
                    outgoing.flusher_waits = true;
                    let waited = socket.unsent.wait(outgoing);
                    outgoing = waited.unwrap_or_else(PoisonError::into_inner);
                }
                drop(outgoing);
                std::thread::sleep(FLUSH_INTERVAL);
                if socket.flush().is_err() {
                    // The gateway is gone; the program notices that by itself.
                    return;
                }
            }
        };
        std::thread::Builder::new().stack_size(FLUSHER_STACK).spawn(flush)?;
        Ok(())
    }

    fn wake_flusher(&self, mut outgoing: MutexGuard<'_, Outgoing>) {
        let is_due = std::mem::take(&mut outgoing.flusher_waits);
        // Otherwise the woken thread would first wait for this lock.
        drop(outgoing);
        if is_due {
            self.unsent.notify_one();
        }
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        lock(&self.outgoing).flush(&self.stream)
    }

    /// Closes the sending direction.
    pub(crate) fn close_sending(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    pub(crate) fn wake(&self) -> io::Result<()> {
        self.wakeup.wake()
    }

    /// The result of `handle` for the next frame; `None` if `deadline` passes, or another thread or
    /// a signal interrupts the wait.
    pub(crate) fn receive<T>(
        &self,
        deadline: Option<Instant>,
        wait: impl Fn(&mut dyn FnMut() -> io::Result<WaitOutcome>) -> io::Result<WaitOutcome>,
        handle: impl FnOnce(ToWorker<'_>) -> T,
    ) -> io::Result<Option<T>> {
        let mut incoming = lock(&self.incoming);
        let mut handle = Some(handle);
        loop {
            if let Some(result) = incoming.take_frame(&mut handle)? {
                return Ok(Some(result));
            }
            incoming.compact();
            match wait(&mut || self.read_more(&mut incoming.buffer, deadline))? {
                WaitOutcome::More => {}
                WaitOutcome::Woken => return Ok(None),
                // The gateway is gone, so no process would receive a result.
                WaitOutcome::Closed => std::process::exit(0),
            }
        }
    }

    pub(crate) fn take_received<T>(
        &self,
        handle: impl FnOnce(ToWorker<'_>) -> T,
    ) -> io::Result<Option<T>> {
        lock(&self.incoming).take_frame(&mut Some(handle))
    }

    fn read_more(
        &self,
        buffer: &mut Vec<u8>,
        deadline: Option<Instant>,
    ) -> io::Result<WaitOutcome> {
        let mut polled = [
            PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.wakeup.as_fd(), PollFlags::IN),
        ];
        match wait_for_any(&mut polled, deadline) {
            Ok(0) => return Ok(WaitOutcome::Woken),
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(WaitOutcome::Woken),
            Err(error) => return Err(error.into()),
        }
        let [stream, wakeup] = polled;
        if stream.revents().is_empty() {
            if !wakeup.revents().is_empty() {
                self.wakeup.clear()?;
            }
            return Ok(WaitOutcome::Woken);
        }
        let missing = announced_length(buffer).saturating_sub(buffer.len());
        buffer.reserve_exact(missing.max(MIN_READ_SIZE));
        match rustix::io::read(&self.stream, spare_capacity(buffer)) {
            Ok(0) => Ok(WaitOutcome::Closed),
            Ok(_) => Ok(WaitOutcome::More),
            Err(Errno::INTR) => Ok(WaitOutcome::Woken),
            Err(error) => Err(error.into()),
        }
    }
}

/// Answers a frame in a warm-up run as a gateway could.
fn answer_warm_up(mut warm_up_peer: &UnixStream, frame: &FromWorker<'_>) -> io::Result<()> {
    let answer = match frame {
        FromWorker::Resolve { .. } => {
            ToWorker::NameResolved { meaning: r#"{"parameters":["line"]}"# }
        }
        FromWorker::Call { id, .. } | FromWorker::Ask { id, .. } => {
            ToWorker::Answer { id: *id, answer: AnswerPayload::Json("{}") }
        }
        _ => return Ok(()),
    };
    let mut frame = Vec::new();
    answer.encode(&mut frame).map_err(io::Error::other)?;
    warm_up_peer.write_all(&frame)
}

/// Waits until one of `polled` is ready or `deadline` passes.
fn wait_for_any(polled: &mut [PollFd<'_>], deadline: Option<Instant>) -> rustix::io::Result<usize> {
    let begun = Instant::now();
    let awake_until = deadline.map_or(begun + SPIN, |deadline| deadline.min(begun + SPIN));
    loop {
        let ready = poll(polled, Some(&Timespec::default()))?;
        let now = Instant::now();
        if ready > 0 || deadline.is_some_and(|deadline| deadline <= now) {
            return Ok(ready);
        }
        if now >= awake_until {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            return poll(polled, left.and_then(|left| Timespec::try_from(left).ok()).as_ref());
        }
        rustix::thread::sched_yield();
    }
}

/// How a wait for more bytes ended.
pub(crate) enum WaitOutcome {
    More,
    Woken,
    Closed,
}

impl Outgoing {
    fn frame_text(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let frame = match self.text_is_stderr {
            true => FromWorker::Stderr(&self.text),
            false => FromWorker::Stdout(&self.text),
        };
        frame.encode(&mut self.frames).map_err(io::Error::other)?;
        self.text.clear();
        Ok(())
    }

    fn flush(&mut self, mut stream: &UnixStream) -> io::Result<()> {
        self.frame_text()?;
        stream.write_all(&self.frames)?;
        self.frames.clear();
        Ok(())
    }
}

impl Incoming {
    /// Passes the first complete frame to `handle`, if there is one.
    fn take_frame<T>(
        &mut self,
        handle: &mut Option<impl FnOnce(ToWorker<'_>) -> T>,
    ) -> io::Result<Option<T>> {
        let pending = self.buffer.get(self.start..).unwrap_or_default();
        let Some(length) = frame_length(pending).map_err(io::Error::other)? else {
            return Ok(None);
        };
        let frame = pending.get(..length).unwrap_or_default();
        let frame = ToWorker::decode(frame).map_err(io::Error::other)?;
        let result = handle.take().map(|handle| handle(frame));
        self.consume(length);
        Ok(result)
    }

    /// Removes handled frames from the buffer.
    fn compact(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
    }

    fn consume(&mut self, length: usize) {
        self.start += length;
        if self.start >= self.buffer.len() {
            self.start = 0;
            self.buffer.clear();
            self.buffer.shrink_to(1024 * 1024);
        }
    }
}
