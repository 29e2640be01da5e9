//! The clients: one over stdio with several programs at once, several over HTTP.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use testkit::mcp::{CallId, Session};

use super::ANSWER_TIMEOUT;
use super::http::HttpClient;
use super::program::Program;
use super::stats::RequestStats;

/// How many programs the client on stdio runs at a time.
const MAX_IN_FLIGHT: usize = 6;

/// One in so many programs crashes the server that it calls, is killed, or is abandoned by its
/// client.
const CRASH_EVERY: u64 = 151;
const KILL_EVERY: u64 = 97;
const ABANDON_EVERY: u64 = 23;

/// One in so many programs on stdio runs in a session.
const SESSION_EVERY: u64 = 7;

/// How long to wait for the oldest program before the others are checked.
const POLL_TIMEOUT: Duration = Duration::from_millis(2);

/// How long a client waits before it abandons its program.
const ABANDON_AFTER: Duration = Duration::from_millis(50);

/// Unique numbers for programs.
#[derive(Default)]
pub struct ProgramNumbers(AtomicU64);

impl ProgramNumbers {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// What a client does next.
enum NextAction {
    Program(Program),
    Abandon,
}

fn next_action(number: u64) -> NextAction {
    if number % CRASH_EVERY == CRASH_EVERY - 1 {
        NextAction::Program(Program::crash(number))
    } else if number % KILL_EVERY == KILL_EVERY - 1 {
        NextAction::Program(Program::victim())
    } else if number % ABANDON_EVERY == ABANDON_EVERY - 1 {
        NextAction::Abandon
    } else {
        NextAction::Program(Program::new(number))
    }
}

/// A running program of the client on stdio.
struct RunningProgram {
    call: CallId,
    program: Program,
    since: Instant,
}

/// Runs programs until the time is over, and waits for all of them. `counted` is the counter of the
/// session.
pub fn over_stdio(
    session: &mut Session,
    stats: &RequestStats,
    numbers: &ProgramNumbers,
    counted: &mut u64,
) {
    let mut running: Vec<RunningProgram> = Vec::new();
    while stats.is_running() {
        let number = numbers.next();
        let program = match next_action(number) {
            NextAction::Abandon => {
                stats.count_abandoned();
                let call = session.start_call("execute_program", Program::abandoned().arguments);
                session.cancel(call);
                continue;
            }
            // A session runs one program at a time, so each must end before the next.
            NextAction::Program(_) if number.is_multiple_of(SESSION_EVERY) => {
                *counted += 1;
                let program = Program::in_session("soak", *counted);
                let next = start(session, stats, program);
                finish(session, stats, next);
                continue;
            }
            NextAction::Program(program) => program,
        };
        while running.len() >= MAX_IN_FLIGHT {
            finish_some(session, stats, &mut running);
        }
        running.push(start(session, stats, program));
    }
    while !running.is_empty() {
        finish_some(session, stats, &mut running);
    }
}

fn start(session: &mut Session, stats: &RequestStats, program: Program) -> RunningProgram {
    stats.count_sent();
    let call = session.start_call("execute_program", program.arguments.clone());
    RunningProgram { call, program, since: Instant::now() }
}

/// Waits for one program.
fn finish(session: &mut Session, stats: &RequestStats, running: RunningProgram) {
    let mut alone = vec![running];
    while !alone.is_empty() {
        finish_some(session, stats, &mut alone);
    }
}

/// Waits for a moment, and removes programs that are answered or lost.
fn finish_some(session: &mut Session, stats: &RequestStats, running: &mut Vec<RunningProgram>) {
    let mut wait = POLL_TIMEOUT;
    running.retain(|RunningProgram { call, program, since }| {
        let answer = session.finish_call_within(*call, wait);
        // The first program has waited for all of them.
        wait = Duration::ZERO;
        let verdict = match answer {
            Some(Ok(answer)) => program.check(&answer.text),
            Some(Err(error)) => Err(format!("{} was answered with {error:?}", program.arguments)),
            None if since.elapsed() < ANSWER_TIMEOUT => return true,
            None => {
                stats.count_lost(format!("no answer over stdio to {}", program.arguments));
                return false;
            }
        };
        stats.count_answer(program.is_timed().then(|| since.elapsed()), verdict);
        false
    });
}

/// Runs programs over HTTP, one at a time, until the time is over.
pub fn over_http(client: HttpClient, stats: &RequestStats, numbers: &ProgramNumbers) {
    while stats.is_running() {
        let number = numbers.next();
        let program = match next_action(number) {
            NextAction::Abandon => {
                stats.count_abandoned();
                if let Err(error) = client.abandon(number, &Program::abandoned(), ABANDON_AFTER) {
                    stats.count_lost(format!("a client over HTTP could not even ask: {error}"));
                }
                continue;
            }
            NextAction::Program(program) => program,
        };
        stats.count_sent();
        let since = Instant::now();
        match client.run(number, &program) {
            Ok(answer) => {
                let took = program.is_timed().then(|| since.elapsed());
                stats.count_answer(took, program.check(&answer));
            }
            Err(error) => {
                stats.count_lost(format!("no answer over HTTP to {}: {error}", program.arguments));
            }
        }
    }
}
