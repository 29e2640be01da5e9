//! The native functions for the prelude: sending calls, receiving answers, and output.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use onecall_core::Freshness;
use rquickjs::function::Opt;
use rquickjs::{Ctx, Exception, Function, Object, Result, String as JsString, TypedArray, Value};

use super::denial::denied;
use super::json::{self, Lent};
use super::positions::Positions;
use super::stack;
use crate::inside::cell;
use crate::inside::socket::{Socket, Waited};
use crate::protocol::{Answer, FromWorker, ToWorker};

/// The socket of this process, which runs one program.
static SOCKET: OnceLock<Socket> = OnceLock::new();

thread_local! {
    /// The state of the random numbers; seeded in each worker, because all are forked from one
    /// zygote.
    static RANDOM: Cell<[u64; 2]> = const { Cell::new([1, 2]) };
    static STARTED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Answers that arrived while another one was awaited.
    static UNCLAIMED: RefCell<VecDeque<Answered>> = const { RefCell::new(VecDeque::new()) };
    static NEXT_CALL: Cell<u64> = const { Cell::new(1) };
    pub(super) static POSITIONS: RefCell<Option<Positions>> = const { RefCell::new(None) };
}

/// The answer to a call.
pub(super) struct Answered {
    pub(super) id: u64,
    pub(super) end: End,
}

pub(super) enum End {
    Nothing,
    Json(String),
    Text(String),
    Content(String),
    Error(String),
}

impl From<Answer<'_>> for End {
    fn from(answer: Answer<'_>) -> Self {
        match answer {
            Answer::Nothing => Self::Nothing,
            Answer::Json(text) => Self::Json(text.to_owned()),
            Answer::Text(text) => Self::Text(text.to_owned()),
            Answer::Content(text) => Self::Content(text.to_owned()),
            Answer::Error(text) => Self::Error(text.to_owned()),
        }
    }
}

fn socket() -> io::Result<&'static Socket> {
    SOCKET.get().ok_or_else(|| io::Error::other("the worker has no socket yet"))
}

/// Takes the socket that is this process's stdin, and closes the standard streams.
pub(super) fn attach() -> io::Result<()> {
    onecall_jail::die_with_parent()?;
    let stream = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let socket = Socket::new(UnixStream::from(stream))?;
    onecall_jail::close_standard_streams()?;
    let mut seed = [0u8; 16];
    io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut seed)?;
    let [low, high] = [seed.first_chunk(), seed.last_chunk()]
        .map(|half| u64::from_le_bytes(half.copied().unwrap_or([1; 8])));
    RANDOM.set([low | 1, high]);
    SOCKET.set(socket).map_err(|_| io::Error::other("attached twice"))
}

/// Completes the sandbox, reports that the worker is ready, and waits for a program. Applies its
/// limits and returns its source and the memory it may use.
pub(super) fn next_program() -> io::Result<(String, u64)> {
    let socket = socket()?;
    cell::lock(&socket.descriptors())?;
    Socket::start_flusher(socket)?;
    socket.send(&FromWorker::Ready)?;
    socket.flush()?;
    loop {
        let program = receive(None, |frame| match frame {
            ToWorker::Program { limits, code, .. } => Some((limits, code.to_owned())),
            ToWorker::Examine => {
                // The gateway ignores a failure of this worker, which ends in any case.
                _ = examine(socket);
                std::process::exit(0);
            }
            ToWorker::Hurry | ToWorker::Name { .. } | ToWorker::Answer { .. } => None,
        })?;
        if let Some(Some((limits, code))) = program {
            cell::limit(limits)?;
            STARTED.set(Some(Instant::now()));
            return Ok((code, limits.memory_bytes));
        }
    }
}

/// Sends the report about the sandbox. If the sandbox works, this does not return.
fn examine(socket: &Socket) -> io::Result<()> {
    let report = serde_json::to_string(&cell::examine(&socket.descriptors())?)?;
    socket.send(&FromWorker::Examined { report: &report })?;
    socket.flush()?;
    onecall_jail::deadly_canary();
    Ok(())
}

/// Reports the end of the program: a failure, or `None` for success.
pub(super) fn finish(failure: Option<&str>) -> io::Result<()> {
    let socket = socket()?;
    match failure {
        None => socket.send(&FromWorker::Finished { value: "" })?,
        Some(traceback) => {
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
    let place = failure.split_once("<program>:").map_or("", |(_, place)| place);
    let digits = place.find(|it: char| !it.is_ascii_digit()).unwrap_or(place.len());
    let line = place.get(..digits).and_then(|digits| digits.parse::<u64>().ok());
    let denied = denied(failure, message);
    serde_json::json!({ "type": kind, "message": message, "line": line, "denied": denied })
        .to_string()
}

fn receive<T>(
    deadline: Option<Instant>,
    handle: impl FnOnce(ToWorker<'_>) -> T,
) -> io::Result<Option<T>> {
    let here = |wait: &mut dyn FnMut() -> io::Result<Waited>| wait();
    socket()?.receive(deadline, here, handle)
}

/// The next answer; `None` if `deadline` passes or the wait is interrupted.
pub(super) fn next_answer(deadline: Option<Instant>) -> io::Result<Option<Answered>> {
    if let Some(answered) = UNCLAIMED.with_borrow_mut(VecDeque::pop_front) {
        return Ok(Some(answered));
    }
    let take = |frame: ToWorker<'_>| match frame {
        ToWorker::Answer { id, answer } => Some(Answered { id, end: answer.into() }),
        _ => None,
    };
    let socket = socket()?;
    if let Some(answered) = socket.received_already(take)? {
        return Ok(answered);
    }
    socket.flush()?;
    Ok(receive(deadline, take)?.flatten())
}

/// Milliseconds since the program began.
pub(super) fn now() -> f64 {
    STARTED.get().map_or(0.0, |started| started.elapsed().as_secs_f64() * 1000.0)
}

/// The moment that is `milliseconds` after the start of the program.
pub(super) fn moment(milliseconds: f64) -> Option<Instant> {
    let since = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1000.0).ok()?;
    STARTED.get()?.checked_add(since)
}

/// All native functions for the prelude.
pub(super) fn native<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    native.set("print", Function::new(ctx.clone(), print)?)?;
    native.set("call", Function::new(ctx.clone(), call)?)?;
    native.set("resolve", Function::new(ctx.clone(), resolve)?)?;
    native.set("ask", Function::new(ctx.clone(), ask)?)?;
    native.set("stack", Function::new(ctx.clone(), mapped_stack)?)?;
    native.set("now", Function::new(ctx.clone(), now)?)?;
    native.set("random", Function::new(ctx.clone(), random)?)?;
    native.set("encode", Function::new(ctx.clone(), encode)?)?;
    native.set("decode", Function::new(ctx.clone(), decode)?)?;
    native.set("promise", Function::new(ctx.clone(), promise)?)?;
    Ok(native)
}

/// The functions of the prelude that are used for reading and writing JSON.
pub(super) fn lent<'js>(hooks: &Object<'js>) -> Result<Lent<'js>> {
    Ok(Lent {
        big_integer: hooks.get("bigInteger")?,
        digits: hooks.get("digits")?,
        form: hooks.get("form")?,
    })
}

fn failed(ctx: &Ctx<'_>, error: &io::Error) -> rquickjs::Error {
    Exception::throw_message(ctx, &error.to_string())
}

fn print(ctx: Ctx<'_>, text: String, to_stderr: bool) -> Result<()> {
    if STARTED.get().is_none() {
        // Output of the warm-up run is dropped.
        return Ok(());
    }
    let printed = socket().and_then(|socket| socket.print(text.as_bytes(), to_stderr));
    printed.map_err(|error| failed(&ctx, &error))
}

/// Sends a call and returns its id. A fresh call must not be answered from the cache.
fn call<'js>(
    ctx: Ctx<'js>,
    hooks: Object<'js>,
    name: String,
    arguments: Value<'js>,
    is_fresh: bool,
) -> Result<f64> {
    let text = json::write(&ctx, &arguments, &lent(&hooks)?)?;
    let freshness = if is_fresh { Freshness::New } else { Freshness::Any };
    send_call(&name, &text, freshness).map_err(|error| {
        Exception::throw_range(&ctx, &format!("the arguments are too large: {error}"))
    })
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
    let meaning = wait_for(&FromWorker::Resolve { name: &name }, |frame| match frame {
        ToWorker::Name { meaning } => Ok(meaning.to_owned()),
        other => Err(other),
    });
    ctx.json_parse(meaning.map_err(|error| failed(&ctx, &error))?)
}

/// Sends a question, which is JSON text, to the gateway, and waits for the answer.
fn ask(ctx: Ctx<'_>, question: String) -> Result<Value<'_>> {
    ctx.json_parse(answer_to(&question).map_err(|error| failed(&ctx, &error))?)
}

/// The gateway's answer to a question, both as JSON text.
pub(super) fn answer_to(question: &str) -> io::Result<String> {
    let id = NEXT_CALL.get();
    NEXT_CALL.set(id + 1);
    let end = wait_for(&FromWorker::Ask { id, question }, |frame| match frame {
        ToWorker::Answer { id: answered, answer } if answered == id => Ok(End::from(answer)),
        other => Err(other),
    })?;
    match end {
        End::Json(text) => Ok(text),
        End::Error(text) | End::Text(text) | End::Content(text) => Err(io::Error::other(text)),
        End::Nothing => Ok("null".to_owned()),
    }
}

fn wait_for<T>(
    question: &FromWorker<'_>,
    is_it: impl Fn(ToWorker<'_>) -> std::result::Result<T, ToWorker<'_>>,
) -> io::Result<T> {
    let socket = socket()?;
    socket.send(question)?;
    socket.flush()?;
    loop {
        let received = receive(None, |frame| match is_it(frame) {
            Ok(answer) => Some(answer),
            Err(ToWorker::Answer { id, answer }) => {
                let answered = Answered { id, end: answer.into() };
                UNCLAIMED.with_borrow_mut(|unclaimed| unclaimed.push_back(answered));
                None
            }
            Err(_) => None,
        })?;
        if let Some(Some(answer)) = received {
            return Ok(answer);
        }
    }
}

/// Maps a stack trace of QuickJS to the author's source.
fn mapped_stack(raw: String) -> String {
    POSITIONS.with_borrow(|positions| stack::readable(&raw, positions.as_ref()))
}

/// A random number in the range from zero to one, excluding one.
#[expect(clippy::cast_precision_loss, reason = "53 bits are what a number holds")]
fn random() -> f64 {
    // xorshift128+
    let [mut a, b] = RANDOM.get();
    a ^= a << 23;
    a = a ^ b ^ (a >> 17) ^ (b >> 26);
    RANDOM.set([b, a]);
    (a.wrapping_add(b) >> 11) as f64 / (1u64 << 53) as f64
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
