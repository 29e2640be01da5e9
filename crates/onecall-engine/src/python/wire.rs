//! The lowest layer of the bootstrap, as a native module: the worker's end of
//! the socket, with JSON parsed and written right here.
//!
//! The plain-Python twin for a foreign interpreter has the same functions.
//! Writes are collected and leave when the program waits, when they have grown
//! large, or when the last ones left a while ago.

pub(super) use wire::module_def;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::protocol::{FromWorker, ToWorker, frame_length};

/// Output that has waited this long leaves with the next write.
const FLUSH_INTERVAL: Duration = Duration::from_millis(50);

/// Output that has grown to this size leaves at once.
const FLUSH_SIZE: usize = 32 * 1024;

/// One process has one wire: a program's worker.
static WIRE: OnceLock<Wire> = OnceLock::new();

struct Wire {
    stream: UnixStream,
    /// Another thread writes here to end a wait.
    wakeup: OwnedFd,
    outgoing: Mutex<Outgoing>,
    incoming: Mutex<Incoming>,
}

struct Outgoing {
    frames: Vec<u8>,
    /// Consecutive output to one stream, not yet a frame.
    text: Vec<u8>,
    text_is_stderr: bool,
    last_flush: Instant,
}

#[derive(Default)]
struct Incoming {
    buffer: Vec<u8>,
    /// Where the first frame that was not yet handed out begins.
    start: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    fn new(stream: UnixStream) -> io::Result<Self> {
        Ok(Self {
            stream,
            wakeup: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            outgoing: Mutex::new(Outgoing {
                frames: Vec::new(),
                text: Vec::new(),
                text_is_stderr: false,
                last_flush: Instant::now(),
            }),
            incoming: Mutex::new(Incoming::default()),
        })
    }

    fn send(&self, frame: &FromWorker<'_>) -> io::Result<()> {
        let mut outgoing = lock(&self.outgoing);
        outgoing.frame_text()?;
        frame.encode(&mut outgoing.frames).map_err(io::Error::other)
    }

    fn print(&self, text: &[u8], to_stderr: bool) -> io::Result<()> {
        let mut outgoing = lock(&self.outgoing);
        if outgoing.text_is_stderr != to_stderr {
            outgoing.frame_text()?;
            outgoing.text_is_stderr = to_stderr;
        }
        for part in text.chunks(FLUSH_SIZE) {
            outgoing.text.extend_from_slice(part);
            if outgoing.text.len() >= FLUSH_SIZE || outgoing.last_flush.elapsed() > FLUSH_INTERVAL {
                outgoing.flush(&self.stream)?;
            }
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        lock(&self.outgoing).flush(&self.stream)
    }

    fn wake(&self) -> io::Result<()> {
        rustix::io::write(&self.wakeup, &1u64.to_ne_bytes())?;
        Ok(())
    }

    /// The next frame's handler result, or `None` when `deadline` passes or
    /// another thread wakes us first.
    fn receive<T>(
        &self,
        deadline: Option<Instant>,
        wait: impl Fn(&mut dyn FnMut() -> io::Result<Waited>) -> io::Result<Waited>,
        handle: impl FnOnce(ToWorker<'_>) -> T,
    ) -> io::Result<Option<T>> {
        let mut incoming = lock(&self.incoming);
        let mut handle = Some(handle);
        loop {
            if let Some(result) = incoming.take_frame(&mut handle)? {
                return Ok(Some(result));
            }
            match wait(&mut || self.read_more(&mut incoming.buffer, deadline))? {
                Waited::More => {}
                Waited::Woken => return Ok(None),
                // The gateway is gone, and nobody is left to hear of it.
                Waited::Closed => std::process::exit(0),
            }
        }
    }

    fn received_already<T>(&self, handle: impl FnOnce(ToWorker<'_>) -> T) -> io::Result<Option<T>> {
        lock(&self.incoming).take_frame(&mut Some(handle))
    }

    fn read_more(&self, buffer: &mut Vec<u8>, deadline: Option<Instant>) -> io::Result<Waited> {
        let mut polled = [
            PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.wakeup.as_fd(), PollFlags::IN),
        ];
        let timeout = deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
            .and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(0) => return Ok(Waited::Woken),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Waited::Woken),
            Err(error) => return Err(error.into()),
        }
        let [stream, wakeup] = polled;
        if stream.revents().is_empty() {
            if !wakeup.revents().is_empty() {
                rustix::io::read(&self.wakeup, &mut [0u8; 8])?;
            }
            return Ok(Waited::Woken);
        }
        let filled = buffer.len();
        // Large answers arrive in few large reads.
        let room = filled.clamp(16 * 1024, 1024 * 1024);
        buffer.resize(filled + room, 0);
        let received = (&self.stream).read(buffer.get_mut(filled..).unwrap_or_default());
        buffer.truncate(filled + received.as_ref().map_or(0, |received| *received));
        match received {
            Ok(0) => Ok(Waited::Closed),
            Ok(_) => Ok(Waited::More),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Waited::Woken),
            Err(error) => Err(error),
        }
    }
}

enum Waited {
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
        self.last_flush = Instant::now();
        stream.write_all(&self.frames)?;
        self.frames.clear();
        Ok(())
    }
}

impl Incoming {
    /// Hands the first whole frame, if there is one, to `handle`.
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

    fn consume(&mut self, length: usize) {
        self.start += length;
        if self.start >= self.buffer.len() {
            self.start = 0;
            self.buffer.clear();
            self.buffer.shrink_to(1024 * 1024);
        }
    }
}

#[rustpython_vm::pymodule(name = "_onecall")]
mod wire {
    use std::io;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use rustpython_vm::builtins::{PyBytesRef, PyDictRef, PyStrRef};
    use rustpython_vm::function::ArgIntoFloat;
    use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

    use super::super::json::{self, ParseError};
    use super::{WIRE, Waited, Wire};
    use crate::protocol::{Answer, FromWorker, ToWorker};

    fn wire(vm: &VirtualMachine) -> PyResult<&'static Wire> {
        WIRE.get().ok_or_else(|| vm.new_runtime_error("the worker has no socket yet".to_owned()))
    }

    fn io_error(
        error: &io::Error,
        vm: &VirtualMachine,
    ) -> rustpython_vm::builtins::PyBaseExceptionRef {
        vm.new_os_error(error.to_string())
    }

    /// Takes the socket that is this process's stdin, and gives the standard
    /// streams away.
    #[pyfunction]
    fn attach(vm: &VirtualMachine) -> PyResult<()> {
        let attached = onecall_jail::die_with_parent()
            .and_then(|()| {
                rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(Into::into)
            })
            .and_then(|socket| Wire::new(UnixStream::from(socket)))
            .and_then(|wire| {
                onecall_jail::close_standard_streams()?;
                WIRE.set(wire).map_err(|_| io::Error::other("attached twice"))
            });
        attached.map_err(|error| io_error(&error, vm))
    }

    /// Says that the worker is ready, waits for a program, locks the process
    /// down for it and returns its source.
    #[pyfunction]
    fn next_program(vm: &VirtualMachine) -> PyResult<PyObjectRef> {
        let wire = wire(vm)?;
        wire.send(&FromWorker::Ready).and_then(|()| wire.flush()).map_err(|e| io_error(&e, vm))?;
        loop {
            let program = receive(None, vm, |frame| match frame {
                ToWorker::Program { memory_bytes, code } => Some((memory_bytes, code.to_owned())),
                _ => None,
            })?;
            if let Some(Some((memory_bytes, code))) = program {
                onecall_jail::lock_down(memory_bytes).map_err(|error| io_error(&error, vm))?;
                return Ok(vm.ctx.new_str(code).into());
            }
        }
    }

    fn receive<T>(
        deadline: Option<Instant>,
        vm: &VirtualMachine,
        handle: impl FnOnce(ToWorker<'_>) -> T,
    ) -> PyResult<Option<T>> {
        // Other threads of the program run on while this one waits.
        let detached = |wait: &mut dyn FnMut() -> io::Result<Waited>| vm.allow_threads(wait);
        wire(vm)?.receive(deadline, detached, handle).map_err(|error| io_error(&error, vm))
    }

    fn received_already<T>(
        vm: &VirtualMachine,
        handle: impl FnOnce(ToWorker<'_>) -> T,
    ) -> PyResult<Option<T>> {
        wire(vm)?.received_already(handle).map_err(|error| io_error(&error, vm))
    }

    /// Sends a call with the arguments as JSON.
    #[pyfunction]
    fn call(id: u64, name: PyStrRef, arguments: PyDictRef, vm: &VirtualMachine) -> PyResult<()> {
        let mut text = String::new();
        json::write(arguments.as_ref(), &mut text, vm)?;
        let name = name.to_string_lossy();
        wire(vm)?
            .send(&FromWorker::Call { id, name: &name, arguments: &text })
            .map_err(|error| vm.new_value_error(format!("the arguments are too large: {error}")))
    }

    /// Gives up waiting for a call.
    #[pyfunction]
    fn cancel(id: u64, vm: &VirtualMachine) -> PyResult<()> {
        wire(vm)?.send(&FromWorker::CancelCall { id }).map_err(|error| io_error(&error, vm))
    }

    /// Asks what a name means. Answers to calls that arrive meanwhile are put
    /// into `answers`.
    #[pyfunction]
    fn resolve(name: PyStrRef, answers: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let wire = wire(vm)?;
        let name = name.to_string_lossy();
        wire.send(&FromWorker::Resolve { name: &name })
            .and_then(|()| wire.flush())
            .map_err(|error| io_error(&error, vm))?;
        loop {
            let received = receive(None, vm, |frame| match frame {
                ToWorker::Name { meaning } => Ok(json::parse(meaning, vm)),
                ToWorker::Answer { id, answer } => Err(Some(event(id, answer, vm))),
                ToWorker::Program { .. } => Err(None),
            })?;
            match received {
                Some(Ok(meaning)) => {
                    return meaning.map_err(|_| {
                        vm.new_runtime_error("the gateway's answer is not JSON".to_owned())
                    });
                }
                Some(Err(Some(event))) => {
                    vm.call_method(&answers, "append", (event?,))?;
                }
                Some(Err(None)) | None => {}
            }
        }
    }

    /// Waits for answers: a list of `(id, succeeded, value or message)` with all
    /// that have arrived, empty if `seconds` pass or another thread wakes this
    /// one. `succeeded` is `None` where the answer came but cannot be had.
    #[pyfunction]
    fn wait(seconds: Option<ArgIntoFloat>, vm: &VirtualMachine) -> PyResult {
        let deadline = seconds.map(|seconds| {
            // A deadline beyond a year is none that a worker lives to see.
            Instant::now() + Duration::from_secs_f64(seconds.into_float().clamp(0.0, 31_536_000.0))
        });
        wire(vm)?.flush().map_err(|error| io_error(&error, vm))?;
        let mut answers = Vec::new();
        let take = |frame: ToWorker<'_>| match frame {
            ToWorker::Answer { id, answer } => Some(event(id, answer, vm)),
            ToWorker::Name { .. } | ToWorker::Program { .. } => None,
        };
        if let Some(Some(first)) = receive(deadline, vm, take)? {
            answers.push(first?);
            while let Some(Some(next)) = received_already(vm, take)? {
                answers.push(next?);
            }
        }
        Ok(vm.ctx.new_list(answers).into())
    }

    fn event(id: u64, answer: Answer<'_>, vm: &VirtualMachine) -> PyResult {
        let context = &vm.ctx;
        let (succeeded, value) = match answer {
            Answer::Nothing => (context.new_bool(true).into(), context.none()),
            Answer::Error(message) => {
                (context.new_bool(false).into(), context.new_str(message).into())
            }
            Answer::Json(text) => match json::parse(text, vm) {
                Ok(value) => (context.new_bool(true).into(), value),
                Err(ParseError::Python(error)) => return Err(error),
                Err(ParseError::TooDeep) => {
                    (context.none(), context.new_str("the answer is nested too deeply").into())
                }
                Err(ParseError::Json(error)) => {
                    let message = format!("the answer is not valid JSON: {error}");
                    (context.none(), context.new_str(message).into())
                }
            },
            Answer::Text(text) => match json::parse(text, vm) {
                Ok(value) => (context.new_bool(true).into(), value),
                Err(ParseError::Python(error)) => return Err(error),
                Err(ParseError::Json(_) | ParseError::TooDeep) => {
                    (context.new_bool(true).into(), context.new_str(text).into())
                }
            },
        };
        Ok(context.new_tuple(vec![context.new_int(id).into(), succeeded, value]).into())
    }

    /// Ends a wait of another thread.
    #[pyfunction]
    fn wake(vm: &VirtualMachine) -> PyResult<()> {
        wire(vm)?.wake().map_err(|error| io_error(&error, vm))
    }

    /// Prints text; what is not Unicode is shown escaped.
    #[pyfunction]
    fn print(text: PyStrRef, to_stderr: bool, vm: &VirtualMachine) -> PyResult<()> {
        let written = match text.to_str() {
            Some(text) => wire(vm)?.print(text.as_bytes(), to_stderr),
            None => wire(vm)?.print(text.to_string_lossy().as_bytes(), to_stderr),
        };
        written.map_err(|error| io_error(&error, vm))
    }

    /// Prints bytes as they are.
    #[pyfunction]
    fn print_bytes(bytes: PyBytesRef, to_stderr: bool, vm: &VirtualMachine) -> PyResult<()> {
        wire(vm)?.print(bytes.as_bytes(), to_stderr).map_err(|error| io_error(&error, vm))
    }

    /// Sends what is collected.
    #[pyfunction]
    fn flush(vm: &VirtualMachine) -> PyResult<()> {
        wire(vm)?.flush().map_err(|error| io_error(&error, vm))
    }

    /// Reports the end of the program: a traceback, or `None` for success.
    #[pyfunction]
    fn finish(traceback: Option<PyStrRef>, vm: &VirtualMachine) -> PyResult<()> {
        let wire = wire(vm)?;
        let sent = match &traceback {
            None => wire.send(&FromWorker::Finished),
            Some(text) => wire.send(&FromWorker::Raised { traceback: &text.to_string_lossy() }),
        };
        sent.and_then(|()| wire.flush()).map_err(|error| io_error(&error, vm))
    }
}
