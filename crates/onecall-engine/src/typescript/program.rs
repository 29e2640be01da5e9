//! Runs one program, from its source to its end.

use std::io;

use rquickjs::promise::PromiseState;
use rquickjs::{Array, Ctx, Function, Module, Object, Promise, Result, Value};

use super::json::Lent;
use super::modules;
use super::positions::Place;
use super::stack;
use super::strip::{PROGRAM, Stripped, SyntaxProblem, strip};
use super::wire::{self, Answered, End, POSITIONS};

/// Bytes of a failure's text that are sent; the gateway shows no more.
const MAX_FAILURE: usize = 4 * 1024 * 1024;

/// The failure of a program that ran out of memory; the prelude uses the same text.
pub(super) const OUT_OF_MEMORY: &str =
    "InternalError: out of memory (the program used more memory than it may)";

/// The functions of the prelude that this module calls.
struct Hooks<'js> {
    all: Object<'js>,
    /// Resolves or rejects the promise of a call.
    settle: Function<'js>,
    /// Adds other content to a value.
    with_content: Function<'js>,
    /// The time of the next timer; `undefined` if there is none.
    next_timer: Function<'js>,
    /// Runs the timers that are due.
    fire: Function<'js>,
    /// The number of unanswered calls.
    waiting: Function<'js>,
    /// Exceptions that no code could catch, in an array.
    uncaught: Function<'js>,
    /// The text of a thrown value.
    describe: Function<'js>,
}

impl<'js> Hooks<'js> {
    fn new(all: Object<'js>) -> Result<Self> {
        Ok(Self {
            settle: all.get("settle")?,
            with_content: all.get("withContent")?,
            next_timer: all.get("nextTimer")?,
            fire: all.get("fire")?,
            waiting: all.get("waiting")?,
            uncaught: all.get("uncaught")?,
            describe: all.get("describe")?,
            all,
        })
    }
}

/// Why a program did not run to its end.
enum Stop<'js> {
    /// The program threw this value.
    Threw(Value<'js>),
    /// The source is not a program that can run here.
    Problem { text: String, place: Option<Place> },
    /// The gateway cannot be reached.
    Io(io::Error),
}

impl From<io::Error> for Stop<'_> {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Runs a program to its end; returns the text of its failure, or `None`.
pub(super) fn run<'js>(ctx: &Ctx<'js>, hooks: Object<'js>, source: &str) -> Option<String> {
    let hooks = match Hooks::new(hooks) {
        Ok(hooks) => hooks,
        Err(error) => return Some(error.to_string()),
    };
    let stop = execute(ctx, &hooks, source).err()?;
    let mut text = describe(ctx, &hooks, stop);
    if text.len() > MAX_FAILURE {
        let head = text.floor_char_boundary(MAX_FAILURE / 2);
        let tail = text.ceil_char_boundary(text.len() - MAX_FAILURE / 2);
        text.replace_range(head..tail, "\n...\n");
    }
    Some(text)
}

fn execute<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    source: &str,
) -> std::result::Result<(), Stop<'js>> {
    let stripped = strip(source).map_err(|SyntaxProblem { message, place }| Stop::Problem {
        text: format!("SyntaxError: {message}"),
        place,
    });
    POSITIONS.set(Some(super::positions::Positions::unchanged(source)));
    let Stripped { code, positions, free_names, imports } = stripped?;
    for import in &imports {
        if let Some(problem) = modules::problem_of(import) {
            let text = format!("SyntaxError: {problem}");
            return Err(Stop::Problem { text, place: Some(import.place) });
        }
    }
    POSITIONS.set(Some(positions));
    let threw = |_: rquickjs::Error| Stop::Threw(ctx.catch());
    let define: Function<'js> = hooks.all.get("define").map_err(threw)?;
    for name in free_names {
        define.call::<_, ()>((name.name, name.is_asked_for)).map_err(threw)?;
    }
    let module = Module::declare(ctx.clone(), PROGRAM, code).map_err(threw)?;
    let (_, main) = module.eval().map_err(threw)?;
    turn(ctx, hooks, &main)
}

/// Runs the event loop until there is nothing left to wait for.
fn turn<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    main: &Promise<'js>,
) -> std::result::Result<(), Stop<'js>> {
    let threw = |_: rquickjs::Error| Stop::Threw(ctx.catch());
    let lent = wire::lent(&hooks.all).map_err(threw)?;
    loop {
        while ctx.execute_pending_job() {}
        if main.state() == PromiseState::Rejected {
            return match main.result::<Value<'js>>() {
                Some(Err(error)) => Err(threw(error)),
                _ => Ok(()),
            };
        }
        let timer: Option<f64> = hooks.next_timer.call(()).map_err(threw)?;
        if timer.is_some_and(|due| due <= wire::now()) {
            hooks.fire.call::<_, ()>((wire::now(),)).map_err(threw)?;
            continue;
        }
        let waiting: usize = hooks.waiting.call(()).map_err(threw)?;
        if waiting == 0 && timer.is_none() {
            return end(ctx, hooks, main);
        }
        let deadline = timer.and_then(wire::moment);
        if let Some(Answered { id, end }) = wire::next_answer(deadline)? {
            let succeeded;
            let value = match end {
                End::Nothing => {
                    succeeded = Some(true);
                    Value::new_null(ctx.clone())
                }
                End::Json(text) => match super::json::parse(ctx, &text, &lent) {
                    Some(value) => {
                        succeeded = Some(true);
                        value
                    }
                    None => {
                        succeeded = None;
                        let why = "the answer is not JSON, or nested too deeply";
                        string(ctx, why).map_err(threw)?
                    }
                },
                End::Text(text) => {
                    succeeded = Some(true);
                    parsed_text(ctx, &text, &lent).map_err(threw)?
                }
                End::Content(text) => {
                    succeeded = Some(true);
                    with_content(ctx, hooks, &text, &lent).map_err(threw)?
                }
                End::Error(text) => {
                    succeeded = Some(false);
                    string(ctx, &text).map_err(threw)?
                }
            };
            hooks.settle.call::<_, ()>((id, succeeded, value)).map_err(threw)?;
        }
    }
}

/// Parses a text as JSON; a text that is not JSON becomes a string.
fn parsed_text<'js>(ctx: &Ctx<'js>, text: &str, lent: &Lent<'js>) -> Result<Value<'js>> {
    match super::json::parse(ctx, text, lent) {
        Some(value) => Ok(value),
        None => string(ctx, text),
    }
}

/// The value of an answer that has other content as well, from the kind and text of the value and
/// the content.
fn with_content<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    written: &str,
    lent: &Lent<'js>,
) -> Result<Value<'js>> {
    let written: Array<'js> = ctx.json_parse(written)?.get()?;
    let (kind, text): (String, String) = (written.get(0)?, written.get(1)?);
    let value = match kind.as_str() {
        "nothing" => Value::new_null(ctx.clone()),
        _ => parsed_text(ctx, &text, lent)?,
    };
    hooks.with_content.call((value, written.get::<Value<'js>>(2)?))
}

fn string<'js>(ctx: &Ctx<'js>, text: &str) -> Result<Value<'js>> {
    Ok(rquickjs::String::from_str(ctx.clone(), text)?.into_value())
}

/// Checks the result when there is nothing left to wait for: the program has ended, or it waits
/// forever.
fn end<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    main: &Promise<'js>,
) -> std::result::Result<(), Stop<'js>> {
    let threw = |_: rquickjs::Error| Stop::Threw(ctx.catch());
    let uncaught: Vec<Value<'js>> = hooks.uncaught.call(()).map_err(threw)?;
    if let Some(first) = uncaught.into_iter().next() {
        return Err(Stop::Threw(first));
    }
    if main.state() == PromiseState::Pending {
        let text = "Error: the program awaits a promise that nothing can settle any more";
        return Err(Stop::Problem { text: text.to_owned(), place: None });
    }
    Ok(())
}

fn describe<'js>(ctx: &Ctx<'js>, hooks: &Hooks<'js>, stop: Stop<'js>) -> String {
    let (text, place) = match stop {
        Stop::Problem { text, place } => (text, place),
        Stop::Io(error) => (format!("Error: {error}"), None),
        Stop::Threw(value) => {
            let text = match hooks.describe.call::<_, String>((value,)) {
                Ok(text) => text,
                Err(_) => {
                    ctx.catch();
                    "an error that cannot be shown".to_owned()
                }
            };
            let place = stack::first_place(&text);
            (text, place)
        }
    };
    let excerpt = place.and_then(|place| {
        let lines = POSITIONS.with_borrow(|it| it.as_ref().and_then(|it| it.excerpt(place)));
        let Place { line, column } = place;
        Some(format!("{PROGRAM}:{line}:{column}\n{}\n", lines?))
    });
    format!("{}{text}", excerpt.unwrap_or_default())
}
