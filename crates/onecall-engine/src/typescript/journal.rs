//! The worker's part of a journal: records what the program observes, and repeats what an earlier
//! worker observed when a run is continued.
//!
//! A run without a journal has no state here, and its clocks are read directly.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use onecall_core::InPlaceReason;
use rquickjs::{Ctx, Exception};

use super::clock;
use super::observations::{LastTimes, Observation};
use super::positions::Position;
use super::stack;
use super::wire::socket;
use crate::protocol::{FromWorker, JournalStart};

/// The largest number of clock reads between two calls that are recorded.
const MAX_CLOCK_READS: u32 = 100_000;

/// All calls have this task: a promise does not belong to one, and the ids of the calls are their
/// order.
const TASK: &str = "0";

const UNREADABLE: &str = "the observations of the run cannot be read: they are damaged, or another \
                          version of onecall made them";

thread_local! {
    static JOURNAL: RefCell<Option<Journal>> = const { RefCell::new(None) };
}

struct Journal {
    times: LastTimes,
    /// The observations of an earlier worker, the next one excluded, from `position` on.
    recorded: Vec<u8>,
    position: usize,
    next: Next,
    /// New observations that were not sent yet; they leave before the next call.
    unsent: Vec<u8>,
    is_recording: bool,
    /// Clock reads since the last call.
    clock_reads: u32,
    /// The line of the last call; zero if there was none.
    last_line: u32,
}

/// Where the next observation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// An earlier worker made this observation.
    Recorded(Observation),
    /// The next bytes are not an observation.
    Unreadable,
    /// All observations were repeated: the program observes by itself.
    Live,
}

impl Journal {
    fn new(observations: &[u8]) -> Self {
        let mut journal = Self {
            times: LastTimes::default(),
            recorded: observations.to_vec(),
            position: 0,
            next: Next::Live,
            unsent: Vec::new(),
            is_recording: true,
            clock_reads: 0,
            last_line: 0,
        };
        journal.read_next();
        journal
    }

    fn read_next(&mut self) {
        let mut rest = self.recorded.get(self.position..).unwrap_or_default();
        if rest.is_empty() {
            self.next = Next::Live;
            return;
        }
        self.next = self.times.read(&mut rest).map_or(Next::Unreadable, Next::Recorded);
        self.position = self.recorded.len() - rest.len();
    }

    /// Continues after the next observation, which the program has just repeated.
    fn advance(&mut self) -> io::Result<()> {
        self.read_next();
        if self.next == Next::Live { self.go_live() } else { Ok(()) }
    }

    /// Ends the repetition. The time since the last observation counts for the program's running
    /// time, and not for its timers.
    fn go_live(&mut self) -> io::Result<()> {
        self.recorded = Vec::new();
        let since_start = clock::wall_clock().saturating_sub(self.times.started);
        let since_start = Duration::from_millis(u64::try_from(since_start).unwrap_or_default());
        let running_time = Duration::from_micros(self.times.running_time).max(since_start);
        clock::continue_from(running_time, Duration::from_micros(self.times.timer_clock));
        socket()?.send(&FromWorker::Replayed)
    }

    fn record(&mut self, observation: Observation) {
        if self.is_recording {
            self.times.write(observation, &mut self.unsent);
        }
    }

    /// Counts a clock read. If there are too many, recording ends.
    fn count_clock_read(&mut self) -> io::Result<()> {
        self.clock_reads = self.clock_reads.saturating_add(1);
        if self.next != Next::Live || !self.is_recording || self.clock_reads <= MAX_CLOCK_READS {
            return Ok(());
        }
        self.is_recording = false;
        self.unsent = Vec::new();
        let reason = serde_json::to_string(&InPlaceReason::Clock)?;
        socket()?.send(&FromWorker::InPlaceOnly { reason: &reason })
    }

    fn send_unsent(&mut self) -> io::Result<()> {
        if !self.unsent.is_empty() {
            socket()?.send(&FromWorker::Observed(&self.unsent))?;
            self.unsent.clear();
        }
        Ok(())
    }
}

/// Begins the journal of a program.
pub(super) fn begin(start: &JournalStart<'_>) -> io::Result<()> {
    let mut journal = Journal::new(start.observations);
    match journal.next {
        Next::Live => {
            socket()?.send(&FromWorker::Replayed)?;
            journal.record(Observation::Started { wall_clock: clock::wall_clock() });
        }
        Next::Recorded(Observation::Started { .. }) => journal.advance()?,
        Next::Recorded(_) | Next::Unreadable => diverge(UNREADABLE),
    }
    JOURNAL.set(Some(journal));
    Ok(())
}

/// Whether the run is journalled.
pub(super) fn is_journalled() -> bool {
    JOURNAL.with_borrow(Option::is_some)
}

/// Where the next observation comes from; `Live` for a run without a journal.
pub(super) fn next() -> Next {
    JOURNAL.with_borrow(|journal| journal.as_ref().map_or(Next::Live, |journal| journal.next))
}

/// Continues after the next observation, which the program has just repeated.
pub(super) fn advance() -> io::Result<()> {
    with_journal(Journal::advance)
}

/// Records that the answer to a call has reached the event loop.
pub(super) fn record_answer(call: u64) {
    record(|| Observation::Answered { call, timer_clock: microseconds(clock::timer_clock()) });
}

/// The time in milliseconds with which due timers are fired, and its recording.
pub(super) fn timer_clock() -> (f64, Observation) {
    let timer_clock = microseconds(clock::timer_clock());
    (milliseconds(timer_clock), Observation::TimerFired { timer_clock })
}

/// Records an observation of the event loop.
pub(super) fn record(observation: impl FnOnce() -> Observation) {
    JOURNAL.with_borrow_mut(|journal| {
        if let Some(journal) = journal.as_mut().filter(|journal| journal.is_recording) {
            journal.record(observation());
        }
    });
}

/// Whether there are observations that were not sent yet.
pub(super) fn has_unsent() -> bool {
    JOURNAL.with_borrow(|journal| journal.as_ref().is_some_and(|it| !it.unsent.is_empty()))
}

/// Sends the observations that were not sent yet. Whatever depends on them must leave afterwards.
pub(super) fn send_unsent() -> io::Result<()> {
    with_journal(Journal::send_unsent)
}

/// Sends what has to leave before a call that is made at `position` in the author's source.
pub(super) fn send_before_call(position: Option<Position>) -> io::Result<()> {
    with_journal(|journal| {
        journal.send_unsent()?;
        journal.clock_reads = 0;
        let Position { line, column } = position.unwrap_or(Position { line: 0, column: 0 });
        journal.last_line = line;
        socket()?.send(&FromWorker::Site { line, column, task: TASK })
    })
}

/// Checks that a program which has ended has repeated all observations, and sends the last ones.
pub(super) fn end() -> io::Result<()> {
    if next() != Next::Live {
        diverge_from_next(&format!("{}the program ends", after_last_call()));
    }
    send_unsent()?;
    JOURNAL.set(None);
    Ok(())
}

/// Reports that the program does something that cannot be repeated in another process.
pub(super) fn in_place_only(reason: InPlaceReason) -> io::Result<()> {
    if !is_journalled() {
        return Ok(());
    }
    let reason = serde_json::to_string(&reason)?;
    socket()?.send(&FromWorker::InPlaceOnly { reason: &reason })
}

/// The date and time in milliseconds since 1970, as the program reads it.
#[expect(clippy::cast_precision_loss, reason = "years until a number cannot hold it")]
pub(super) fn read_wall_clock(ctx: &Ctx<'_>) -> io::Result<f64> {
    let live = || Observation::WallClockRead { wall_clock: clock::wall_clock() };
    let observation = observe(ctx, "reads the date and time", live, |observation| {
        matches!(observation, Observation::WallClockRead { .. })
    })?;
    match observation {
        Some(Observation::WallClockRead { wall_clock }) => Ok(wall_clock as f64),
        _ => Ok(clock::wall_clock() as f64),
    }
}

/// How long the program has been running, in milliseconds, as the program reads it.
pub(super) fn read_running_time(ctx: &Ctx<'_>) -> io::Result<f64> {
    let live =
        || Observation::RunningTimeRead { running_time: microseconds(clock::running_time()) };
    let observation = observe(ctx, "reads how long it has been running", live, |observation| {
        matches!(observation, Observation::RunningTimeRead { .. })
    })?;
    match observation {
        Some(Observation::RunningTimeRead { running_time }) => Ok(milliseconds(running_time)),
        _ => Ok(clock::running_time().as_secs_f64() * 1000.0),
    }
}

/// What the clock of the timers shows when the program sets one, in milliseconds.
pub(super) fn read_timer_clock(ctx: &Ctx<'_>) -> io::Result<f64> {
    let live = || Observation::TimerSet { timer_clock: microseconds(clock::timer_clock()) };
    let observation = observe(ctx, "sets a timer", live, |observation| {
        matches!(observation, Observation::TimerSet { .. })
    })?;
    match observation {
        Some(Observation::TimerSet { timer_clock }) => Ok(milliseconds(timer_clock)),
        _ => Ok(clock::timer_clock().as_secs_f64() * 1000.0),
    }
}

/// Observes a clock: repeats a recorded observation, or records a new one. `None` if nothing is
/// recorded.
fn observe(
    ctx: &Ctx<'_>,
    act: &str,
    live: impl FnOnce() -> Observation,
    fits: impl FnOnce(&Observation) -> bool,
) -> io::Result<Option<Observation>> {
    if !is_journalled() {
        return Ok(None);
    }
    with_journal(Journal::count_clock_read)?;
    match next() {
        Next::Recorded(observation) if fits(&observation) => {
            advance()?;
            Ok(Some(observation))
        }
        Next::Recorded(_) | Next::Unreadable => {
            let place =
                current_line(ctx).map_or_else(after_last_call, |line| format!("in line {line} "));
            diverge_from_next(&format!("{place}the program {act}"))
        }
        Next::Live => with_journal(|journal| {
            let observation = journal.is_recording.then(live);
            observation.into_iter().for_each(|observation| journal.record(observation));
            Ok(observation)
        }),
    }
}

/// Ends the process because the program does something else than what was recorded next.
pub(super) fn diverge_from_next(act: &str) -> ! {
    match next() {
        Next::Recorded(observation) => diverge(&format!(
            "{act}; when the run was recorded, {} at this point",
            observation.description()
        )),
        Next::Unreadable | Next::Live => diverge(UNREADABLE),
    }
}

/// The place of a program that runs no code at the moment, as the beginning of a sentence.
pub(super) fn after_last_call() -> String {
    let line = JOURNAL.with_borrow(|journal| journal.as_ref().map_or(0, |it| it.last_line));
    if line == 0 { String::new() } else { format!("after the call in line {line} ") }
}

/// Reports that the program cannot be repeated, and ends the process.
fn diverge(difference: &str) -> ! {
    // If the gateway is gone, the report is not needed.
    _ = socket().and_then(|socket| {
        socket.send(&FromWorker::Diverged { difference })?;
        socket.flush()
    });
    std::process::exit(0)
}

/// The line of the program that runs now.
fn current_line(ctx: &Ctx<'_>) -> Option<u32> {
    let stack = Exception::from_message(ctx.clone(), "").ok()?.stack()?;
    Some(stack::first_place(&stack)?.position.line)
}

fn with_journal<T: Default>(action: impl FnOnce(&mut Journal) -> io::Result<T>) -> io::Result<T> {
    JOURNAL.with_borrow_mut(|journal| journal.as_mut().map_or_else(|| Ok(T::default()), action))
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "centuries until a number cannot hold it")]
pub(super) fn milliseconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1000.0
}
