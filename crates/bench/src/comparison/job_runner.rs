//! A running server: runs jobs, measures them, and is ended after a timeout.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::rpc::BareClient;

use super::dialect::Dialect;
use super::job::Job;
use crate::rounds::timed;
use crate::server::{self, Server};

/// The timeout for one program, longer than the slowest entrant takes.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(180);

/// The additional time for each of many programs.
const TIMEOUT_PER_PROGRAM: Duration = Duration::from_millis(100);

/// How many calls a bare client makes before it reads an answer.
const MAX_UNREAD_ANSWERS: u32 = 200;

/// What does the jobs of an entrant.
pub enum JobRunner {
    /// A client that calls the server directly, without a program.
    Bare(Box<BareClient>),
    Server(Box<Server>, Dialect),
}

impl JobRunner {
    /// Starts it, and returns the seconds until it has answered a program with one call.
    pub fn open(command: Command, dialect: Option<Dialect>) -> Result<(Self, f64), String> {
        let start = Instant::now();
        let mut runner = match dialect {
            None => Self::Bare(Box::new(BareClient::open(command))),
            Some(dialect) => Self::Server(Box::new(try_start(command)?), dialect),
        };
        runner.run(Job::Calls(1), "1")?;
        Ok((runner, start.elapsed().as_secs_f64()))
    }

    pub fn pid(&self) -> u32 {
        match self {
            Self::Bare(client) => client.pid(),
            Self::Server(server, _) => server.pid(),
        }
    }

    fn runs_programs(&self) -> bool {
        matches!(self, Self::Server(..))
    }

    /// Whether the job can be done; a bare client runs no programs.
    pub fn can_run(&self, job: Job) -> bool {
        self.runs_programs() || !matches!(job, Job::Hello | Job::Steps(_))
    }

    /// Does a job, whose output must be `outcome`; returns the seconds.
    pub fn run(&mut self, job: Job, outcome: &str) -> Result<f64, String> {
        self.run_with_timeout(PROGRAM_TIMEOUT, |runner| match runner {
            Self::Bare(client) => run_without_program(client, job, outcome),
            Self::Server(server, dialect) => {
                let arguments = dialect.arguments(&dialect.program(job));
                let answer = server.call(dialect.tool(), &arguments)?;
                check_output(dialect.output(&answer.text), outcome)?;
                Ok(answer.seconds)
            }
        })
    }

    /// Runs the same program `count` times, at most `max_in_flight` of them at any moment.
    pub fn run_many(
        &mut self,
        count: u32,
        max_in_flight: u32,
        job: Job,
        outcome: &str,
    ) -> Result<f64, String> {
        self.run_with_timeout(
            PROGRAM_TIMEOUT + TIMEOUT_PER_PROGRAM * count,
            |runner| match runner {
                Self::Bare(_) => Err("there are no programs without a server for them".to_owned()),
                Self::Server(server, dialect) => {
                    let arguments = dialect.arguments(&dialect.program(job));
                    let (texts, seconds) =
                        server.call_at_once(count, max_in_flight, dialect.tool(), &arguments)?;
                    texts
                        .iter()
                        .try_for_each(|text| check_output(dialect.output(text), outcome))?;
                    Ok(seconds)
                }
            },
        )
    }

    /// The clients of the testkit have no timeout, and panic when their server dies. So a server
    /// that takes too long is killed, and its end becomes an error.
    fn run_with_timeout<T>(
        &mut self,
        timeout: Duration,
        work: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        let pid = self.pid();
        let (done, is_done) = channel::<()>();
        let watch = thread::spawn(move || {
            let late = is_done.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout);
            if late {
                server::kill([pid]);
            }
            late
        });
        let result = catch_unwind(AssertUnwindSafe(|| work(self)));
        drop(done);
        let late = watch.join().unwrap_or_default();
        match result {
            _ if late => Err(format!("no answer within {} s", timeout.as_secs())),
            Ok(result) => result,
            Err(_) => Err("the server died".to_owned()),
        }
    }
}

fn try_start(command: Command) -> Result<Server, String> {
    catch_unwind(AssertUnwindSafe(|| Server::start(command)))
        .unwrap_or_else(|_| Err("the server did not start".to_owned()))
}

fn check_output(output: &str, outcome: &str) -> Result<(), String> {
    if output == outcome {
        return Ok(());
    }
    let output: String = output.chars().take(200).collect();
    Err(format!("said '{output}' instead of '{outcome}'"))
}

/// Makes the calls of a job without a program.
fn run_without_program(client: &mut BareClient, job: Job, outcome: &str) -> Result<f64, String> {
    let ((), seconds) = match job {
        Job::Calls(count) => {
            let (calls, seconds) = timed(|| {
                (0..count).try_for_each(|number| {
                    let answer = client.call_raw(&add(number));
                    match answer.ends_with(&format!(r#""result":{}}}}}}}"#, number + 1)) {
                        true => Ok(()),
                        false => Err(format!("add({number}, 1) was answered with {answer}")),
                    }
                })
            });
            calls?;
            ((), seconds)
        }
        Job::AtOnce { calls, ms } => {
            let request = |number: u32| match ms {
                0 => add(number),
                ms => line(number, "sleep", &format!(r#""ms":{ms}"#)),
            };
            // More calls would fill the pipes of both sides before anything is read.
            let ahead = calls.min(MAX_UNREAD_ANSWERS);
            timed(|| {
                (0..ahead).for_each(|number| client.send_raw(&request(number)));
                for number in ahead..calls + ahead {
                    let _ = client.receive_raw();
                    if number < calls {
                        client.send_raw(&request(number));
                    }
                }
            })
        }
        Job::Rows(count) => {
            let request = line(0, "rows", &format!(r#""count":{count}"#));
            let (length, seconds) = timed(|| client.call_raw(&request).len());
            if length < usize::try_from(count).unwrap_or_default() {
                return Err(format!("only {length} bytes came for {count} rows"));
            }
            ((), seconds)
        }
        Job::Hello | Job::Steps(_) => return Err(format!("nobody is asked for '{outcome}'")),
    };
    Ok(seconds)
}

fn add(number: u32) -> String {
    line(number, "add", &format!(r#""a":{number},"b":1"#))
}

fn line(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{{arguments}}}}}}}"#
    )
}

/// The rows as the server sends them.
pub fn fetch_rows(client: &mut BareClient, count: u32) -> Result<String, String> {
    let answer = client.call_raw(&line(0, "rows", &format!(r#""count":{count}"#)));
    let answer: Value =
        serde_json::from_str(answer).map_err(|error| format!("no JSON came: {error}"))?;
    let text = answer["result"]["content"][0]["text"].as_str();
    text.map(str::to_owned).ok_or_else(|| "no rows came".to_owned())
}
