//! The clients: one over stdio with several programs at once, several over HTTP.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use testkit::mcp::{CallId, Session};

use super::PATIENCE;
use super::http::HttpClient;
use super::ledger::Ledger;
use super::program::Program;

/// How many programs the client on stdio runs at a time.
const AT_ONCE: usize = 6;

/// One in so many programs crashes the server that it calls, is killed, or is abandoned by its
/// client.
const CRASH_EVERY: u64 = 151;
const KILL_EVERY: u64 = 97;
const LEAVE_EVERY: u64 = 23;

/// One in so many programs on stdio runs in a session.
const SESSION_EVERY: u64 = 7;

/// How long to wait for the oldest program before the others are checked.
const MOMENT: Duration = Duration::from_millis(2);

/// How long a client waits before it abandons its program.
const STAY: Duration = Duration::from_millis(50);

/// Unique numbers for programs.
#[derive(Default)]
pub struct Numbers(AtomicU64);

impl Numbers {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// What a client does next.
enum Turn {
    Program(Program),
    Leave,
}

fn turn(number: u64) -> Turn {
    if number % CRASH_EVERY == CRASH_EVERY - 1 {
        Turn::Program(Program::crash(number))
    } else if number % KILL_EVERY == KILL_EVERY - 1 {
        Turn::Program(Program::victim())
    } else if number % LEAVE_EVERY == LEAVE_EVERY - 1 {
        Turn::Leave
    } else {
        Turn::Program(Program::new(number))
    }
}

/// A running program of the client on stdio.
struct UnderWay {
    call: CallId,
    program: Program,
    since: Instant,
}

/// Runs programs until the time is over, and waits for all of them. `counted` is the counter of the
/// session.
pub fn over_stdio(session: &mut Session, ledger: &Ledger, numbers: &Numbers, counted: &mut u64) {
    let mut under_way: Vec<UnderWay> = Vec::new();
    while ledger.is_open() {
        let number = numbers.next();
        let program = match turn(number) {
            Turn::Leave => {
                ledger.abandoned();
                let call = session.start_call("execute_program", Program::abandoned().arguments);
                session.cancel(call);
                continue;
            }
            // A session runs one program at a time, so each must end before the next.
            Turn::Program(_) if number.is_multiple_of(SESSION_EVERY) => {
                *counted += 1;
                let program = Program::in_session("soak", *counted);
                let next = start(session, ledger, program);
                finish(session, ledger, next);
                continue;
            }
            Turn::Program(program) => program,
        };
        while under_way.len() >= AT_ONCE {
            finish_some(session, ledger, &mut under_way);
        }
        under_way.push(start(session, ledger, program));
    }
    while !under_way.is_empty() {
        finish_some(session, ledger, &mut under_way);
    }
}

fn start(session: &mut Session, ledger: &Ledger, program: Program) -> UnderWay {
    ledger.sent();
    let call = session.start_call("execute_program", program.arguments.clone());
    UnderWay { call, program, since: Instant::now() }
}

/// Waits for one program.
fn finish(session: &mut Session, ledger: &Ledger, under_way: UnderWay) {
    let mut alone = vec![under_way];
    while !alone.is_empty() {
        finish_some(session, ledger, &mut alone);
    }
}

/// Waits for a moment, and removes programs that are answered or lost.
fn finish_some(session: &mut Session, ledger: &Ledger, under_way: &mut Vec<UnderWay>) {
    let mut wait = MOMENT;
    under_way.retain(|UnderWay { call, program, since }| {
        let answer = session.finish_call_within(*call, wait);
        // The first program has waited for all of them.
        wait = Duration::ZERO;
        let verdict = match answer {
            Some(Ok(answer)) => program.check(&answer.text),
            Some(Err(error)) => Err(format!("{} was answered with {error:?}", program.arguments)),
            None if since.elapsed() < PATIENCE => return true,
            None => {
                ledger.lost(format!("no answer over stdio to {}", program.arguments));
                return false;
            }
        };
        ledger.answered(program.is_timed().then(|| since.elapsed()), verdict);
        false
    });
}

/// Runs programs over HTTP, one at a time, until the time is over.
pub fn over_http(client: HttpClient, ledger: &Ledger, numbers: &Numbers) {
    while ledger.is_open() {
        let number = numbers.next();
        let program = match turn(number) {
            Turn::Leave => {
                ledger.abandoned();
                if let Err(error) = client.abandon(number, &Program::abandoned(), STAY) {
                    ledger.lost(format!("a client over HTTP could not even ask: {error}"));
                }
                continue;
            }
            Turn::Program(program) => program,
        };
        ledger.sent();
        let since = Instant::now();
        match client.run(number, &program) {
            Ok(answer) => {
                let took = program.is_timed().then(|| since.elapsed());
                ledger.answered(took, program.check(&answer));
            }
            Err(error) => {
                ledger.lost(format!("no answer over HTTP to {}: {error}", program.arguments));
            }
        }
    }
}
