//! Runs one program, from its source to its end.

use std::io;

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Array, Ctx, Function, Object, Promise, Result, Value};

use super::answers::{self, OwnedAnswer, ReceivedAnswer};
use super::journal::{self, Next};
use super::json::JsonHelpers;
use super::observations::Observation;
use super::positions::{Position, PositionMap};
use super::script::Variables;
use super::stack::{self, Place};
use super::strip::{Stripped, SyntaxProblem, strip};
use super::wire::{self, POSITION_MAPS, StartedProgram};
use super::{clock, modules};
use crate::protocol::{RunOptions, ValueReport};

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
    /// Whether a call is unanswered.
    is_waiting: Function<'js>,
    /// Exceptions that no code could catch, in an array.
    uncaught: Function<'js>,
    /// How the program ended itself: `undefined` if it did not, `null` if it succeeded, else an
    /// error.
    exit_failure: Function<'js>,
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
            is_waiting: all.get("isWaiting")?,
            uncaught: all.get("uncaught")?,
            exit_failure: all.get("exitFailure")?,
            describe: all.get("describe")?,
            all,
        })
    }
}

/// Why a program did not run to its end.
enum ProgramFailure<'js> {
    /// The program threw this value.
    Threw(Value<'js>),
    /// The source is not a program that can run here.
    Problem { text: String, place: Option<Place> },
    /// The gateway cannot be reached.
    Io(io::Error),
}

impl From<io::Error> for ProgramFailure<'_> {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Runs a program to its end; returns what it reports about its value, or the text of its failure.
pub(super) fn run<'js>(
    ctx: &Ctx<'js>,
    hooks: Object<'js>,
    StartedProgram { source, argv, options, .. }: &StartedProgram,
) -> std::result::Result<String, String> {
    let hooks = Hooks::new(hooks).map_err(|error| error.to_string())?;
    let failure = match execute(ctx, &hooks, source, argv, *options) {
        Ok(main) => return Ok(value_text(ctx, &hooks, &main, options.value_report)),
        Err(failure) => failure,
    };
    let mut text = describe(ctx, &hooks, failure);
    if text.len() > MAX_FAILURE {
        let head = text.floor_char_boundary(MAX_FAILURE / 2);
        let tail = text.ceil_char_boundary(text.len() - MAX_FAILURE / 2);
        text.replace_range(head..tail, "\n...\n");
    }
    Err(text)
}

/// What is reported about the value of a program, which is that of its last expression.
fn value_text<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    main: &Promise<'js>,
    report: ValueReport,
) -> String {
    let function = match report {
        ValueReport::None => return String::new(),
        ValueReport::Type => "valueType",
        ValueReport::Whole => "valueText",
    };
    let text = || {
        let result: Object<'js> = main.result().ok_or(rquickjs::Error::Unknown)??;
        let function: Function<'js> = hooks.all.get(function)?;
        function.call::<_, String>((result.get::<_, Value<'js>>("value")?,))
    };
    text().unwrap_or_else(|_| {
        ctx.catch();
        String::new()
    })
}

fn execute<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    source: &str,
    argv: &[String],
    options: RunOptions,
) -> std::result::Result<Promise<'js>, ProgramFailure<'js>> {
    let threw = |_: rquickjs::Error| ProgramFailure::Threw(ctx.catch());
    let begin: Function<'js> = hooks.all.get("begin").map_err(threw)?;
    begin.call::<_, ()>((argv,)).map_err(threw)?;
    let program = POSITION_MAPS.with_borrow_mut(|maps| {
        maps.push(PositionMap::unchanged(source));
        maps.len()
    });
    let variables = if options.keep_worker { Variables::Kept } else { Variables::Dropped };
    let stripped = strip(source, variables).map_err(|SyntaxProblem { message, position }| {
        let place = position.map(|position| Place { program, position });
        ProgramFailure::Problem { text: format!("SyntaxError: {message}"), place }
    });
    let Stripped { code, position_map, free_names, imports } = stripped?;
    for import in &imports {
        if let Some(problem) = modules::import_problem(import) {
            let text = format!("SyntaxError: {problem}");
            let place = Some(Place { program, position: import.position });
            return Err(ProgramFailure::Problem { text, place });
        }
    }
    POSITION_MAPS.with_borrow_mut(|maps| {
        maps.pop();
        maps.push(position_map);
    });
    if journal::is_journalled() {
        let observe_dates: Function<'js> = hooks.all.get("observeDates").map_err(threw)?;
        observe_dates.call::<_, ()>(()).map_err(threw)?;
    }
    let define: Function<'js> = hooks.all.get("define").map_err(threw)?;
    for name in free_names {
        define.call::<_, ()>((name.name, name.is_tested_by_typeof)).map_err(threw)?;
    }
    let mut options = EvalOptions::default();
    options.strict = true;
    options.promise = true;
    options.filename = Some(stack::file_name(program));
    let main: Promise<'js> = ctx.eval_with_options(code, options).map_err(threw)?;
    let ended = run_event_loop(ctx, hooks, &main);
    let exit: Value<'js> = hooks.exit_failure.call(()).map_err(threw)?;
    match exit {
        exit if exit.is_undefined() => ended.map(|()| main),
        exit if exit.is_null() => Ok(main),
        exit => Err(ProgramFailure::Threw(exit)),
    }
}

/// Runs the event loop until there is nothing left to wait for.
fn run_event_loop<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    main: &Promise<'js>,
) -> std::result::Result<(), ProgramFailure<'js>> {
    let threw = |_: rquickjs::Error| ProgramFailure::Threw(ctx.catch());
    let json_helpers = wire::json_helpers(&hooks.all).map_err(threw)?;
    loop {
        while ctx.execute_pending_job() {}
        if main.state() == PromiseState::Rejected {
            return match main.result::<Value<'js>>() {
                Some(Err(error)) => Err(threw(error)),
                _ => Ok(()),
            };
        }
        let pending = Pending {
            timer: hooks.next_timer.call(()).map_err(threw)?,
            calls: hooks.waiting.call(()).map_err(threw)?,
        };
        if pending.calls == 0 && pending.timer.is_none() {
            return check_end(ctx, hooks, main);
        }
        let input = match journal::next() {
            Next::Live => next_input(ctx, hooks, pending)?,
            recorded => Some(recorded_input(ctx, hooks, pending, recorded)?),
        };
        match input {
            Some(Input::Timer { now }) => hooks.fire.call::<_, ()>((now,)).map_err(threw)?,
            Some(Input::Answer(answered)) => {
                settle(ctx, hooks, answered, &json_helpers).map_err(threw)?;
            }
            None => {}
        }
    }
}

/// What a program waits for.
#[derive(Clone, Copy)]
struct Pending {
    /// The time of the next timer.
    timer: Option<f64>,
    /// The number of unanswered calls.
    calls: usize,
}

/// What ends a wait of the event loop.
enum Input {
    /// The timers that are due at this time fire.
    Timer {
        now: f64,
    },
    Answer(ReceivedAnswer),
}

/// Waits for a timer or an answer; `None` if the wait was interrupted. While a program waits for
/// nothing but a person, its timers stand still.
fn next_input<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    pending: Pending,
) -> std::result::Result<Option<Input>, ProgramFailure<'js>> {
    if let Some(due) = pending.timer {
        let (now, fired) = journal::timer_clock();
        if due <= now {
            journal::record(|| fired);
            return Ok(Some(Input::Timer { now }));
        }
    }
    let answered = if waits_for_person(hooks, pending.calls)
        .map_err(|_| ProgramFailure::Threw(ctx.catch()))?
    {
        clock::paused(|| answers::next_answer(None))?
    } else {
        answers::next_answer(pending.timer.and_then(clock::instant_at))?
    };
    Ok(answered.map(|answered| {
        journal::record_answer(answered.id);
        Input::Answer(answered)
    }))
}

/// Whether all unanswered calls wait for a person.
fn waits_for_person(hooks: &Hooks<'_>, calls: usize) -> Result<bool> {
    let mut held = 0;
    for call in answers::held_calls() {
        held += usize::from(hooks.is_waiting.call::<_, bool>((call_number(call),))?);
    }
    Ok(calls > 0 && held == calls)
}

/// Repeats what ended a wait of the event loop when the run was recorded.
fn recorded_input<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    pending: Pending,
    recorded: Next,
) -> std::result::Result<Input, ProgramFailure<'js>> {
    let is_waiting = |call| hooks.is_waiting.call::<_, bool>((call_number(call),));
    let threw = |_: rquickjs::Error| ProgramFailure::Threw(ctx.catch());
    let input = match recorded {
        Next::Recorded(Observation::TimerFired { timer_clock }) => {
            let now = journal::milliseconds(timer_clock);
            pending.timer.filter(|due| *due <= now).map(|_| Input::Timer { now })
        }
        Next::Recorded(Observation::Answered { call, .. }) => {
            match is_waiting(call).map_err(threw)? {
                true => Some(Input::Answer(answers::answer_to(call)?)),
                false => None,
            }
        }
        Next::Recorded(_) | Next::Unreadable | Next::Live => None,
    };
    match input {
        Some(input) => {
            journal::advance()?;
            Ok(input)
        }
        None => {
            let waits = match (pending.calls, pending.timer) {
                (0, _) => "waits for a later timer",
                (_, None) => "waits for the answer to another call",
                (_, Some(_)) => "waits for a later timer or the answer to another call",
            };
            let place = journal::after_last_call();
            journal::diverge_from_next(&format!("{place}the program {waits}"))
        }
    }
}

/// The id of a call as the prelude has it.
#[expect(clippy::cast_precision_loss, reason = "no program makes 2^53 calls")]
fn call_number(call: u64) -> f64 {
    call as f64
}

/// Resolves or rejects the promise of a call with its answer.
fn settle<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    ReceivedAnswer { id, answer }: ReceivedAnswer,
    json_helpers: &JsonHelpers<'js>,
) -> Result<()> {
    let succeeded;
    let value = match answer {
        OwnedAnswer::Nothing => {
            succeeded = Some(true);
            Value::new_null(ctx.clone())
        }
        OwnedAnswer::Json(text) => match super::json::parse(ctx, &text, json_helpers) {
            Some(value) => {
                succeeded = Some(true);
                value
            }
            None => {
                succeeded = None;
                string(ctx, "the answer is not JSON, or nested too deeply")?
            }
        },
        OwnedAnswer::Text(text) => {
            succeeded = Some(true);
            parsed_text(ctx, &text, json_helpers)?
        }
        OwnedAnswer::Content(text) => {
            succeeded = Some(true);
            with_content(ctx, hooks, &text, json_helpers)?
        }
        OwnedAnswer::Error(text) => {
            succeeded = Some(false);
            string(ctx, &text)?
        }
    };
    hooks.settle.call((call_number(id), succeeded, value))
}

/// Parses a text as JSON; a text that is not JSON becomes a string.
fn parsed_text<'js>(
    ctx: &Ctx<'js>,
    text: &str,
    json_helpers: &JsonHelpers<'js>,
) -> Result<Value<'js>> {
    match super::json::parse(ctx, text, json_helpers) {
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
    json_helpers: &JsonHelpers<'js>,
) -> Result<Value<'js>> {
    let written: Array<'js> = ctx.json_parse(written)?.get()?;
    let (kind, text): (String, String) = (written.get(0)?, written.get(1)?);
    let value = match kind.as_str() {
        "nothing" => Value::new_null(ctx.clone()),
        _ => parsed_text(ctx, &text, json_helpers)?,
    };
    hooks.with_content.call((value, written.get::<Value<'js>>(2)?))
}

fn string<'js>(ctx: &Ctx<'js>, text: &str) -> Result<Value<'js>> {
    Ok(rquickjs::String::from_str(ctx.clone(), text)?.into_value())
}

/// Checks the result when there is nothing left to wait for: the program has ended, or it waits
/// forever.
fn check_end<'js>(
    ctx: &Ctx<'js>,
    hooks: &Hooks<'js>,
    main: &Promise<'js>,
) -> std::result::Result<(), ProgramFailure<'js>> {
    let threw = |_: rquickjs::Error| ProgramFailure::Threw(ctx.catch());
    let uncaught: Vec<Value<'js>> = hooks.uncaught.call(()).map_err(threw)?;
    if let Some(first) = uncaught.into_iter().next() {
        return Err(ProgramFailure::Threw(first));
    }
    if main.state() == PromiseState::Pending {
        let text = "Error: the program awaits a promise that nothing can settle any more";
        return Err(ProgramFailure::Problem { text: text.to_owned(), place: None });
    }
    Ok(())
}

fn describe<'js>(ctx: &Ctx<'js>, hooks: &Hooks<'js>, failure: ProgramFailure<'js>) -> String {
    let (text, place) = match failure {
        ProgramFailure::Problem { text, place } => (text, place),
        ProgramFailure::Io(error) => (format!("Error: {error}"), None),
        ProgramFailure::Threw(value) => {
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
    let excerpt = place.and_then(|Place { program, position }| {
        let lines =
            POSITION_MAPS.with_borrow(|maps| maps.get(program.checked_sub(1)?)?.excerpt(position));
        let (file, Position { line, column }) = (stack::file_name(program), position);
        Some(format!("{file}:{line}:{column}\n{}\n", lines?))
    });
    format!("{}{text}", excerpt.unwrap_or_default())
}
