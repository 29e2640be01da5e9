//! The lowest layer of the bootstrap, as a native module: calls out, answers in,
//! output, with JSON parsed and written right here.
//!
//! The plain-Python twin for a foreign interpreter has the same functions.

pub(super) use native::module_def;

#[rustpython_vm::pymodule(name = "_onecall")]
mod native {
    use std::io;
    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, PoisonError, RwLock};
    use std::time::{Duration, Instant};

    use onecall_core::Freshness;
    use rustpython_vm::builtins::{PyBytesRef, PyCode, PyDictRef, PyStrRef};
    use rustpython_vm::function::ArgIntoFloat;
    use rustpython_vm::{PyObjectRef, PyRef, PyResult, VirtualMachine};

    use super::super::imports;
    use super::super::json::{self, ParseError};
    use crate::inside::cell;
    use crate::inside::socket::{Socket, Waited};
    use crate::protocol::{Answer, FromWorker, ToWorker};

    /// One process has one socket at a time: that of a rehearsal, then that of its program.
    static SOCKET: RwLock<Option<Arc<Socket>>> = RwLock::new(None);

    fn socket(vm: &VirtualMachine) -> PyResult<Arc<Socket>> {
        let socket = SOCKET.read().unwrap_or_else(PoisonError::into_inner).clone();
        socket.ok_or_else(|| vm.new_runtime_error("the worker has no socket yet".to_owned()))
    }

    fn connect(socket: Option<Socket>) {
        *SOCKET.write().unwrap_or_else(PoisonError::into_inner) = socket.map(Arc::new);
    }

    fn io_error(
        error: &io::Error,
        vm: &VirtualMachine,
    ) -> rustpython_vm::builtins::PyBaseExceptionRef {
        vm.new_os_error(error.to_string())
    }

    /// Talks to nobody, until [`detach`]: whatever is asked has an answer.
    #[pyfunction]
    fn rehearse(vm: &VirtualMachine) -> PyResult<()> {
        let socket = Socket::rehearsal().map_err(|error| io_error(&error, vm))?;
        connect(Some(socket));
        Ok(())
    }

    /// Ends a rehearsal.
    #[pyfunction]
    fn detach() {
        connect(None);
    }

    /// Takes the socket that is this process's stdin, and gives the standard
    /// streams away.
    #[pyfunction]
    fn attach(vm: &VirtualMachine) -> PyResult<()> {
        let attached = onecall_jail::die_with_parent()
            .and_then(|()| {
                rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(Into::into)
            })
            .and_then(|socket| Socket::new(UnixStream::from(socket)))
            .map(|socket| connect(Some(socket)))
            .and_then(|()| onecall_jail::close_standard_streams());
        attached.map_err(|error| io_error(&error, vm))
    }

    /// Locks this process in and says that it is ready.
    #[pyfunction]
    fn lock(vm: &VirtualMachine) -> PyResult<()> {
        let socket = socket(vm)?;
        cell::lock(&socket.descriptors())
            .and_then(|()| Socket::start_flusher(Arc::clone(&socket)))
            .and_then(|()| socket.send(&FromWorker::Ready))
            .and_then(|()| socket.flush())
            .map_err(|error| io_error(&error, vm))
    }

    /// Waits for a program and returns its source, the condition on which to run it,
    /// whether another will follow and whether its value is wanted, with its limits applied.
    #[pyfunction]
    fn next_program(vm: &VirtualMachine) -> PyResult<(String, String, bool, bool)> {
        let socket = socket(vm)?;
        loop {
            let program = receive(None, vm, |frame| match frame {
                ToWorker::Program { limits, wishes, condition, code } => {
                    Some((limits, wishes, code.to_owned(), condition.to_owned()))
                }
                ToWorker::Examine => {
                    // Nobody is left to hear of a failure.
                    _ = examine(&socket);
                    std::process::exit(0);
                }
                ToWorker::Hurry | ToWorker::Name { .. } | ToWorker::Answer { .. } => None,
            })?;
            if let Some(Some((limits, wishes, code, condition))) = program {
                cell::limit(limits).map_err(|error| io_error(&error, vm))?;
                return Ok((code, condition, wishes.stay, wishes.value));
            }
        }
    }

    /// Reports on the walls. Where they hold, it does not return.
    fn examine(socket: &Socket) -> io::Result<()> {
        let report = serde_json::to_string(&cell::examine(&socket.descriptors())?)?;
        socket.send(&FromWorker::Examined { report: &report })?;
        socket.flush()?;
        onecall_jail::deadly_canary();
        Ok(())
    }

    /// The top-level names of the modules that a program imports.
    #[pyfunction]
    fn imports(code: PyRef<PyCode>, vm: &VirtualMachine) -> PyObjectRef {
        let names = imports::imports(&code.code).into_iter();
        vm.ctx.new_list(names.map(|name| vm.ctx.new_str(name).into()).collect()).into()
    }

    /// Ends a program that was not to run without these modules.
    #[pyfunction]
    fn lacks(modules: PyStrRef, vm: &VirtualMachine) -> PyResult<()> {
        let socket = socket(vm)?;
        socket
            .send(&FromWorker::Lacks { modules: &modules.to_string_lossy() })
            .and_then(|()| socket.flush())
            .map_err(|error| io_error(&error, vm))
    }

    fn receive<T>(
        deadline: Option<Instant>,
        vm: &VirtualMachine,
        handle: impl FnOnce(ToWorker<'_>) -> T,
    ) -> PyResult<Option<T>> {
        // Other threads of the program run on while this one waits.
        let detached = |wait: &mut dyn FnMut() -> io::Result<Waited>| vm.allow_threads(wait);
        socket(vm)?.receive(deadline, detached, handle).map_err(|error| io_error(&error, vm))
    }

    fn received_already<T>(
        vm: &VirtualMachine,
        handle: impl FnOnce(ToWorker<'_>) -> T,
    ) -> PyResult<Option<T>> {
        socket(vm)?.received_already(handle).map_err(|error| io_error(&error, vm))
    }

    /// Sends a call with the arguments as JSON; one that is `fresh` may not be answered
    /// with an earlier answer.
    #[pyfunction]
    fn call(
        id: u64,
        name: PyStrRef,
        arguments: PyDictRef,
        fresh: bool,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let mut text = String::new();
        json::write(arguments.as_ref(), &mut text, vm)?;
        let name = name.to_string_lossy();
        let freshness = if fresh { Freshness::New } else { Freshness::Any };
        socket(vm)?
            .send(&FromWorker::Call { id, name: &name, arguments: &text, freshness })
            .map_err(|error| vm.new_value_error(format!("the arguments are too large: {error}")))
    }

    /// Gives up waiting for a call.
    #[pyfunction]
    fn cancel(id: u64, vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.send(&FromWorker::CancelCall { id }).map_err(|error| io_error(&error, vm))
    }

    /// Asks what a name means. Answers to calls that arrive meanwhile are put
    /// into `answers`.
    #[pyfunction]
    fn resolve(name: PyStrRef, answers: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let socket = socket(vm)?;
        let name = name.to_string_lossy();
        socket
            .send(&FromWorker::Resolve { name: &name })
            .and_then(|()| socket.flush())
            .map_err(|error| io_error(&error, vm))?;
        loop {
            let received = receive(None, vm, |frame| match frame {
                ToWorker::Name { meaning } => Ok(json::parse(meaning, vm)),
                ToWorker::Answer { id, answer } => Err(Some(event(id, answer, vm))),
                ToWorker::Program { .. } | ToWorker::Hurry | ToWorker::Examine => Err(None),
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
        socket(vm)?.flush().map_err(|error| io_error(&error, vm))?;
        let mut answers = Vec::new();
        let take = |frame: ToWorker<'_>| match frame {
            ToWorker::Answer { id, answer } => Some(event(id, answer, vm)),
            ToWorker::Name { .. }
            | ToWorker::Program { .. }
            | ToWorker::Hurry
            | ToWorker::Examine => None,
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
        socket(vm)?.wake().map_err(|error| io_error(&error, vm))
    }

    /// Prints text; what is not Unicode is shown escaped.
    #[pyfunction]
    fn print(text: PyStrRef, to_stderr: bool, vm: &VirtualMachine) -> PyResult<()> {
        let written = match text.to_str() {
            Some(text) => socket(vm)?.print(text.as_bytes(), to_stderr),
            None => socket(vm)?.print(text.to_string_lossy().as_bytes(), to_stderr),
        };
        written.map_err(|error| io_error(&error, vm))
    }

    /// Prints bytes as they are.
    #[pyfunction]
    fn print_bytes(bytes: PyBytesRef, to_stderr: bool, vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.print(bytes.as_bytes(), to_stderr).map_err(|error| io_error(&error, vm))
    }

    /// Sends what is collected.
    #[pyfunction]
    fn flush(vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.flush().map_err(|error| io_error(&error, vm))
    }

    /// A value as JSON; raises for what JSON cannot carry unchanged.
    #[pyfunction]
    fn to_json(value: PyObjectRef, vm: &VirtualMachine) -> PyResult<String> {
        let mut text = String::new();
        json::write(&value, &mut text, vm)?;
        Ok(text)
    }

    /// Shows an MCP content block.
    #[pyfunction]
    fn show(block: PyStrRef, vm: &VirtualMachine) -> PyResult<()> {
        let block = block.to_string_lossy();
        socket(vm)?.send(&FromWorker::Show { block: &block }).map_err(|error| io_error(&error, vm))
    }

    /// Says that no other program will follow.
    #[pyfunction]
    fn hang_up(vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.hang_up().map_err(|error| io_error(&error, vm))
    }

    /// Reports the end of the program: the value of its last expression as JSON or
    /// nothing, or else what went wrong, as JSON and as a traceback.
    #[pyfunction]
    fn finish(
        value: PyStrRef,
        summary: PyStrRef,
        traceback: Option<PyStrRef>,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let socket = socket(vm)?;
        let sent = match &traceback {
            None => socket.send(&FromWorker::Finished { value: &value.to_string_lossy() }),
            Some(text) => socket.send(&FromWorker::Raised {
                summary: &summary.to_string_lossy(),
                traceback: &text.to_string_lossy(),
            }),
        };
        sent.and_then(|()| socket.flush()).map_err(|error| io_error(&error, vm))
    }
}
