//! The kill test: programs with effects on a server that counts them, while the gateway is killed at
//! random points and started again. In the end every program has its answer, and each effect has
//! happened exactly once; about a call of which nobody could know, a person was asked.

#![expect(clippy::print_stderr, reason = "the long form is a command that a developer reads")]

pub(crate) mod approver;
pub(crate) mod check;
pub(crate) mod programs;

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use onecall_core::storage::{DurableRun, DurableState, Journals as _};
use onecall_store::SqliteStore;
use serde_json::json;
use testkit::mcp::{CallId, Session};

use super::{
    Random, counting_home, end_leases, gateway, kill, kill_child, number_from, open_store,
};
use crate::support::{Home, has_system_python};
use approver::Approver;
use check::Effects;
use programs::TestProgram;

/// How many programs are under way at any moment.
const AT_ONCE: usize = 6;

/// How long a gateway lives at most before it is killed.
const LONGEST_LIFE: Duration = Duration::from_secs(6);

/// The time between two looks at the store and at answers.
const TICK: Duration = Duration::from_millis(15);

/// What a kill test does.
struct KillTest {
    programs: usize,
    seed: u64,
    /// How often the gateway is killed.
    kills: u64,
    /// After every so many kills, leases are left to end by themselves.
    slow_leases: Option<u64>,
    timeout: Duration,
}

/// What has become of a program.
enum Progress {
    /// It has to be started or continued.
    Idle,
    /// It is under way in the gateway that lives.
    UnderWay(CallId),
    /// `onecall resume` continues it.
    Command(Child),
    /// The gateway has to take it up by itself when it is answered.
    LeftAlone,
    Ended(String),
}

#[derive(Default, Debug)]
struct Counts {
    kills: u64,
    /// How often a run was continued by a request.
    continued: u64,
    /// How often a run was continued by `onecall resume`.
    by_command: u64,
    /// How often a waiting run was left to be taken up by itself.
    left_alone: u64,
    /// How often a program had to be started anew, because nothing of it was stored.
    started_again: u64,
}

struct Driver<'a> {
    test: &'a KillTest,
    home: &'a Home,
    effects_file: PathBuf,
    store: Arc<SqliteStore>,
    random: Random,
    programs: Vec<(TestProgram, Progress)>,
    approver: Approver,
    counts: Counts,
    deadline: Instant,
}

impl KillTest {
    fn run(&self) {
        let begun = Instant::now();
        let home = counting_home(&json!({ "wait_seconds": 1, "keep_seconds": 1 }));
        let engines: &[&str] =
            if has_system_python() { &["python", "cpython"] } else { &["python"] };
        let program = |number| (TestProgram::new(number, engines), Progress::Idle);
        let mut driver = Driver {
            test: self,
            home: &home,
            effects_file: home.path("effects"),
            store: open_store(&home),
            random: Random(self.seed),
            programs: (0..self.programs).map(program).collect(),
            approver: Approver::new(self.seed),
            counts: Counts::default(),
            deadline: begun + self.timeout,
        };
        while !driver.is_over() {
            driver.live_once();
        }
        driver.end_commands();
        let faults = driver.faults();
        let Counts { kills, continued, by_command, left_alone, started_again } = driver.counts;
        let Approver { approved, denied, unknown_happened, unknown_not, .. } = driver.approver;
        eprintln!(
            "kill test: {} programs (seed {}), {kills} kills, {continued} continued on request, \
             {by_command} by `onecall resume`, {left_alone} left to be taken up, {started_again} started again; {approved} calls \
             approved, {denied} denied, {unknown_happened} unknown that had happened, {unknown_not} \
             unknown that had not; {:.1} s",
            self.programs,
            self.seed,
            begun.elapsed().as_secs_f64(),
        );
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
        // Otherwise nothing was tested.
        assert!(kills > 0 && continued + by_command + left_alone > 0, "no run was interrupted");
        assert!(approved > 0, "no call was approved");
    }
}

impl Driver<'_> {
    fn is_over(&self) -> bool {
        let has_ended = |(_, progress): &(_, Progress)| matches!(progress, Progress::Ended(_));
        Instant::now() > self.deadline || self.programs.iter().all(has_ended)
    }

    /// Starts a gateway, runs programs in it, and kills it at a random point; the last one lives
    /// until all programs have ended.
    fn live_once(&mut self) {
        let mut session = gateway(self.home);
        for (_, progress) in &mut self.programs {
            if matches!(progress, Progress::UnderWay(_) | Progress::LeftAlone) {
                *progress = Progress::Idle;
            }
        }
        let is_last = self.counts.kills >= self.test.kills;
        let end = Instant::now() + LONGEST_LIFE;
        let effects_at_end = self.effect_lines() + 1 + self.random.below(8) as usize;
        // Half of the kills come after an effect, the others at any time: while a program is
        // repeated, or while it waits.
        let end = match self.random.below(2) {
            0 => Instant::now() + Duration::from_millis(self.random.below(2_500)),
            _ => end,
        };
        while !self.is_over() {
            if !is_last && (Instant::now() > end || self.effect_lines() >= effects_at_end) {
                break;
            }
            self.begin_programs(&mut session);
            self.approver.answer_questions(&*self.store, self.home, &self.effects_file);
            self.collect_answers(&mut session);
            thread::sleep(TICK);
        }
        if self.is_over() {
            return;
        }
        thread::sleep(Duration::from_millis(self.random.below(25)));
        self.collect_answers(&mut session);
        let mut killed = vec![kill(&mut session)];
        for (_, progress) in &mut self.programs {
            if let Progress::Command(child) = progress
                && self.random.below(2) == 0
            {
                killed.push(kill_child(child));
                *progress = Progress::Idle;
            }
        }
        self.counts.kills += 1;
        if self.test.slow_leases.is_none_or(|every| !self.counts.kills.is_multiple_of(every)) {
            killed.into_iter().for_each(|pid| end_leases(&self.store, pid));
        }
    }

    fn begin_programs(&mut self, session: &mut Session) {
        let is_under_way = |(_, progress): &&(TestProgram, Progress)| {
            !matches!(progress, Progress::Idle | Progress::Ended(_))
        };
        let mut under_way = self.programs.iter().filter(is_under_way).count();
        let runs = self.store.durable_runs(true).expect("a store");
        for (program, progress) in &mut self.programs {
            let run = || runs.iter().find(|run| run.request.contains(&program.prefix));
            match progress {
                Progress::LeftAlone => {
                    let ended = |run: &&DurableRun| matches!(run.state, DurableState::Ended(_));
                    if run().filter(ended).is_some() {
                        *progress = Progress::Idle;
                    }
                }
                Progress::Idle if under_way < AT_ONCE => {
                    under_way += 1;
                    let (tool, arguments) = &program.request;
                    *progress = match run() {
                        Some(run)
                            if run.state == DurableState::Waiting && self.random.below(3) == 0 =>
                        {
                            self.counts.left_alone += 1;
                            Progress::LeftAlone
                        }
                        Some(run)
                            if run.state == DurableState::Running && self.random.below(6) == 0 =>
                        {
                            self.counts.by_command += 1;
                            let resume = ["resume", run.id.as_str()];
                            let mut command = self.home.onecall_with_config(&resume);
                            command
                                .stdin(Stdio::null())
                                .stdout(Stdio::null())
                                .stderr(Stdio::null());
                            Progress::Command(command.spawn().expect("onecall starts"))
                        }
                        Some(run) => {
                            self.counts.continued += 1;
                            let arguments = json!({ "run": run.id.as_str() });
                            Progress::UnderWay(session.start_call("continue_program", arguments))
                        }
                        None => {
                            self.counts.started_again += 1;
                            Progress::UnderWay(session.start_call(tool, arguments.clone()))
                        }
                    };
                }
                _ => {}
            }
        }
    }

    fn collect_answers(&mut self, session: &mut Session) {
        for (_, progress) in &mut self.programs {
            if let Progress::Command(child) = progress
                && child.try_wait().is_ok_and(|status| status.is_some())
            {
                // The answer is stored, or the run can be continued again.
                *progress = Progress::Idle;
            }
            let Progress::UnderWay(call) = progress else { continue };
            let Some(answer) = session.finish_call_within(*call, Duration::ZERO) else { continue };
            *progress = match answer {
                Ok(answer) if answer.text.starts_with("[Script waiting for approval]\n") => {
                    Progress::Idle
                }
                Ok(answer) => Progress::Ended(answer.text),
                Err(error) => Progress::Ended(format!("{error:?}")),
            };
        }
    }

    /// Ends commands that are left when the time is over.
    fn end_commands(&mut self) {
        for (_, progress) in &mut self.programs {
            if let Progress::Command(child) = progress {
                kill_child(child);
            }
        }
    }

    fn effect_lines(&self) -> usize {
        std::fs::read_to_string(&self.effects_file).unwrap_or_default().lines().count()
    }

    fn faults(&mut self) -> Vec<String> {
        // A program is started for the first time, too.
        self.counts.started_again -= self.test.programs as u64;
        let effects = Effects::read(&self.effects_file);
        let mut faults = Vec::new();
        for (program, progress) in &self.programs {
            let found = match progress {
                Progress::Ended(answer) => effects.faults(program, answer),
                _ => vec![format!("it did not end in {:?}", self.test.timeout)],
            };
            let name = format!("{} {:?}", program.prefix, program.form);
            faults.extend(found.iter().map(|fault| format!("{name}: {fault}")));
        }
        faults
    }
}

#[test]
fn killed_gateways_repeat_no_effect() {
    let programs = number_from("ONECALL_KILL_PROGRAMS").unwrap_or(14);
    let is_long = programs > 50;
    let test = KillTest {
        programs: usize::try_from(programs).expect("a number of programs"),
        seed: number_from("ONECALL_KILL_SEED").unwrap_or(1),
        kills: if is_long { programs / 3 } else { 5 },
        slow_leases: is_long.then_some(10),
        timeout: Duration::from_secs(if is_long { 60 + 5 * programs } else { 180 }),
    };
    test.run();
}
