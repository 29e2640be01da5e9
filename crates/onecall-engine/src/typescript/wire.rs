//! The native functions for the prelude: sending calls and questions, output, clocks and random
//! numbers.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

use onecall_core::Freshness;
use rquickjs::function::Opt;
use rquickjs::{Ctx, Exception, Function, Object, Result, String as JsString, TypedArray, Value};

use super::answers::{self, OwnedAnswer};
use super::denial::denied;
use super::json::{self, JsonHelpers};
use super::positions::{Position, PositionMap};
use super::{clock, files, hash, journal, random, stack};
use crate::protocol::{FromWorker, JournalStart, RunOptions, ToWorker};
use crate::worker_process::sandbox;
use crate::worker_process::socket::WorkerSocket;

/// The socket of this process, which runs one program.
static SOCKET: OnceLock<WorkerSocket> = OnceLock::new();

/// The first element of `process.argv`.
const EXECUTABLE: &str = "onecall";

thread_local! {
    static NEXT_CALL: Cell<u64> = const { Cell::new(1) };
    /// The position maps of the programs that have run in this worker.
    pub(super) static POSITION_MAPS: RefCell<Vec<PositionMap>> = const { RefCell::new(Vec::new()) };
}

/// The socket to the gateway.
pub(super) fn socket() -> io::Result<&'static WorkerSocket> {
    SOCKET.get().ok_or_else(|| io::Error::other("the worker has no socket yet"))
}

/// Takes the socket that is this process's stdin, and closes the standard streams.
pub(super) fn attach() -> io::Result<()> {
    onecall_jail::die_with_parent()?;
    let stream = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let socket = WorkerSocket::new(UnixStream::from(stream))?;
    onecall_jail::close_standard_streams()?;
    let mut seed = [0u8; 32];
    io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut seed)?;
    random::seed(seed);
    SOCKET.set(socket).map_err(|_| io::Error::other("attached twice"))
}

/// The descriptors that this worker has to keep in its sandbox.
fn kept_descriptors(socket: &WorkerSocket) -> Vec<BorrowedFd<'_>> {
    socket.descriptors().into_iter().chain(files::descriptor()).collect()
}

/// Completes the sandbox and reports that the worker is ready.
pub(super) fn lock() -> io::Result<()> {
    let socket = socket()?;
    sandbox::lock(&kept_descriptors(socket))?;
    WorkerSocket::start_flusher(socket)?;
    socket.send(&FromWorker::Ready)?;
    socket.flush()
}

/// A program that is about to run.
#[derive(Default)]
pub(super) struct StartedProgram {
    pub(super) source: String,
    /// The content of `process.argv`.
    pub(super) argv: Vec<String>,
    /// Bytes of memory that it may use.
    pub(super) memory: u64,
    pub(super) options: RunOptions,
    /// Whether it has a scratch folder.
    pub(super) has_scratch: bool,
}

/// Waits for a program and applies its limits.
pub(super) fn next_program() -> io::Result<StartedProgram> {
    let socket = socket()?;
    loop {
        let program = answers::receive(None, |frame| match frame {
            ToWorker::Program { limits, scratch_bytes, journal, options, code, argv, .. } => {
                clock::start();
                let journal = journal.map(begin_journal);
                let (source, argv) = (code.to_owned(), process_argv(argv));
                Some((limits, scratch_bytes, journal, options, source, argv))
            }
            ToWorker::TestSandbox => {
                // The gateway ignores a failure of this worker, which ends in any case.
                _ = send_sandbox_report(socket);
                std::process::exit(0);
            }
            ToWorker::SkipWarmUp
            | ToWorker::Held { .. }
            | ToWorker::Released { .. }
            | ToWorker::NameResolved { .. }
            | ToWorker::Answer { .. } => None,
        })?;
        if let Some(Some((limits, scratch_bytes, journal, options, source, argv))) = program {
            journal.transpose()?;
            sandbox::limit(limits)?;
            let (memory, has_scratch) = (limits.memory_bytes, scratch_bytes > 0);
            return Ok(StartedProgram { source, argv, memory, options, has_scratch });
        }
    }
}

/// The content of `process.argv`, from the name of the program and its arguments: like Node's, it
/// begins with the name of the executable.
fn process_argv(argv: &str) -> Vec<String> {
    let argv = if argv.is_empty() { stack::file_name(1) } else { argv.to_owned() };
    let words = argv.split('\0').map(str::to_owned);
    [EXECUTABLE.to_owned()].into_iter().chain(words).collect()
}

/// Makes the program repeatable.
fn begin_journal(start: JournalStart<'_>) -> io::Result<()> {
    random::seed(start.seed);
    journal::begin(&start)
}

/// Sends the report about the sandbox. If the sandbox works, this does not return.
fn send_sandbox_report(socket: &WorkerSocket) -> io::Result<()> {
    let report = serde_json::to_string(&sandbox::test(&kept_descriptors(socket))?)?;
    socket.send(&FromWorker::SandboxTested { report: &report })?;
    socket.flush()?;
    onecall_jail::deadly_canary();
    Ok(())
}

/// Reports the end of the program: what it reports about its value, or a failure.
pub(super) fn finish(result: &std::result::Result<String, String>) -> io::Result<()> {
    journal::end()?;
    let socket = socket()?;
    match result {
        Ok(value) => socket.send(&FromWorker::Finished { value })?,
        Err(traceback) => {
            let summary = summary(traceback);
            socket.send(&FromWorker::Raised { summary: &summary, traceback })?;
        }
    }
    socket.flush()
}

/// A summary of a failure, taken from its text: the first line of the form `Kind: message`, and the
/// first position in the program.
fn summary(failure: &str) -> String {
    let is_kind = |word: &str| {
        word.starts_with(char::is_alphabetic) && word.chars().all(char::is_alphanumeric)
    };
    let named = failure.lines().filter_map(|line| line.split_once(": "));
    let (kind, message) = named.into_iter().find(|(kind, _)| is_kind(kind)).unwrap_or_default();
    let place = failure.split_once("<program").map_or("", |(_, place)| place);
    let position = place.split_once(">:").map_or("", |(_, position)| position);
    let digits = position.find(|it: char| !it.is_ascii_digit()).unwrap_or(position.len());
    let line = position.get(..digits).and_then(|digits| digits.parse::<u64>().ok());
    let denied = denied(failure, message);
    serde_json::json!({ "type": kind, "message": message, "line": line, "denied": denied })
        .to_string()
}

/// All native functions for the prelude.
pub(super) fn native<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    native.set("print", Function::new(ctx.clone(), print)?)?;
    native.set("call", Function::new(ctx.clone(), call)?)?;
    native.set("resolve", Function::new(ctx.clone(), resolve)?)?;
    native.set("ask", Function::new(ctx.clone(), ask)?)?;
    native.set("stack", Function::new(ctx.clone(), mapped_stack)?)?;
    native.set("wallClock", Function::new(ctx.clone(), wall_clock)?)?;
    native.set("runningTime", Function::new(ctx.clone(), running_time)?)?;
    native.set("timerClock", Function::new(ctx.clone(), timer_clock)?)?;
    native.set("random", Function::new(ctx.clone(), random::number)?)?;
    native.set("randomByte", Function::new(ctx.clone(), random::byte)?)?;
    native.set("encode", Function::new(ctx.clone(), encode)?)?;
    native.set("decode", Function::new(ctx.clone(), decode)?)?;
    native.set("promise", Function::new(ctx.clone(), promise)?)?;
    native.set("show", Function::new(ctx.clone(), show)?)?;
    files::add_to(&native, ctx)?;
    hash::add_to(&native, ctx)?;
    Ok(native)
}

/// The functions of the prelude that are used for reading and writing JSON.
pub(super) fn json_helpers<'js>(hooks: &Object<'js>) -> Result<JsonHelpers<'js>> {
    Ok(JsonHelpers {
        big_integer: hooks.get("bigInteger")?,
        digits: hooks.get("digits")?,
        to_plain: hooks.get("toPlain")?,
    })
}

fn failed(ctx: &Ctx<'_>, error: &io::Error) -> rquickjs::Error {
    Exception::throw_message(ctx, &error.to_string())
}

fn print(ctx: Ctx<'_>, text: String, to_stderr: bool) -> Result<()> {
    if !clock::is_started() {
        // Output of the warm-up run is dropped.
        return Ok(());
    }
    let printed = socket().and_then(|socket| socket.print(text.as_bytes(), to_stderr));
    printed.map_err(|error| failed(&ctx, &error))
}

/// Displays a content block, which is JSON text.
fn show(ctx: Ctx<'_>, block: String) -> Result<()> {
    let shown = socket().and_then(|socket| socket.send(&FromWorker::Show { block: &block }));
    shown.map_err(|error| failed(&ctx, &error))
}

/// The date and time in milliseconds since 1970.
fn wall_clock(ctx: Ctx<'_>) -> Result<f64> {
    journal::read_wall_clock(&ctx).map_err(|error| failed(&ctx, &error))
}

/// How long the program has been running, in milliseconds.
fn running_time(ctx: Ctx<'_>) -> Result<f64> {
    journal::read_running_time(&ctx).map_err(|error| failed(&ctx, &error))
}

/// The time from which the delay of a timer counts, in milliseconds.
fn timer_clock(ctx: Ctx<'_>) -> Result<f64> {
    journal::read_timer_clock(&ctx).map_err(|error| failed(&ctx, &error))
}

/// Sends a call and returns its id. A fresh call must not be answered from the cache. The error
/// `failure` was created where the program makes the call.
fn call<'js>(
    ctx: Ctx<'js>,
    hooks: Object<'js>,
    name: String,
    arguments: Value<'js>,
    is_fresh: bool,
    failure: Value<'js>,
) -> Result<f64> {
    let text = json::write(&ctx, &arguments, &json_helpers(&hooks)?)?;
    if journal::is_journalled() {
        let position = call_position(&hooks, failure)?;
        journal::send_before_call(position).map_err(|error| failed(&ctx, &error))?;
    }
    let freshness = if is_fresh { Freshness::New } else { Freshness::Any };
    send_call(&name, &text, freshness).map_err(|error| {
        Exception::throw_range(&ctx, &format!("the arguments are too large: {error}"))
    })
}

/// The position in the author's source at which an error was created.
fn call_position<'js>(hooks: &Object<'js>, failure: Value<'js>) -> Result<Option<Position>> {
    let raw_stack: Function<'js> = hooks.get("rawStack")?;
    let raw: Value<'js> = raw_stack.call((failure,))?;
    let Some(Ok(raw)) = raw.as_string().map(JsString::to_string) else { return Ok(None) };
    Ok(POSITION_MAPS.with_borrow(|maps| stack::original_position(&raw, maps)))
}

#[expect(clippy::cast_precision_loss, reason = "no program makes 2^53 calls")]
fn send_call(name: &str, arguments: &str, freshness: Freshness) -> io::Result<f64> {
    let id = NEXT_CALL.get();
    socket()?.send(&FromWorker::Call { id, name, arguments, freshness })?;
    NEXT_CALL.set(id + 1);
    Ok(id as f64)
}

/// Asks what a name refers to, and waits for the answer.
fn resolve<'js>(ctx: Ctx<'js>, name: String) -> Result<Value<'js>> {
    let meaning = answers::resolve(&name);
    ctx.json_parse(meaning.map_err(|error| failed(&ctx, &error))?)
}

/// Sends a question, which is JSON text, to the gateway, and waits for the answer.
fn ask(ctx: Ctx<'_>, question: String) -> Result<Value<'_>> {
    ctx.json_parse(ask_gateway(&question).map_err(|error| failed(&ctx, &error))?)
}

/// The gateway's answer to a question, both as JSON text.
pub(super) fn ask_gateway(question: &str) -> io::Result<String> {
    let id = NEXT_CALL.get();
    NEXT_CALL.set(id + 1);
    match answers::ask(id, question)? {
        OwnedAnswer::Json(text) => Ok(text),
        OwnedAnswer::Error(text) | OwnedAnswer::Text(text) | OwnedAnswer::Content(text) => {
            Err(io::Error::other(text))
        }
        OwnedAnswer::Nothing => Ok("null".to_owned()),
    }
}

/// Maps a stack trace of QuickJS to the author's source.
fn mapped_stack(raw: String) -> String {
    POSITION_MAPS.with_borrow(|maps| stack::readable(&raw, maps))
}

/// The state of a promise and its value or reason; `None` if `value` is not a promise.
fn promise<'js>(ctx: Ctx<'js>, value: Value<'js>) -> Result<Option<Object<'js>>> {
    let Some(promise) = value.into_promise() else { return Ok(None) };
    let found = Object::new(ctx.clone())?;
    let (state, value) = match promise.result::<Value<'js>>() {
        None => ("pending", Value::new_undefined(ctx)),
        Some(Ok(value)) => ("fulfilled", value),
        Some(Err(_)) => ("rejected", ctx.catch()),
    };
    found.set("state", state)?;
    found.set("value", value)?;
    Ok(Some(found))
}

fn encode<'js>(ctx: Ctx<'js>, text: String) -> Result<TypedArray<'js, u8>> {
    TypedArray::new(ctx, text.into_bytes())
}

/// Decodes UTF-8; `None` if the bytes are invalid and `is_fatal` is set.
fn decode<'js>(
    ctx: Ctx<'js>,
    bytes: Vec<u8>,
    is_fatal: Opt<bool>,
) -> Result<Option<JsString<'js>>> {
    if is_fatal.0 == Some(true) && str::from_utf8(&bytes).is_err() {
        return Ok(None);
    }
    JsString::from_str(ctx, &String::from_utf8_lossy(&bytes)).map(Some)
}
