//! The processes that programs depend on are killed from outside, by an administrator or the
//! kernel: programs that had not begun run on new ones, the others say what happened.

#![allow(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use testkit::mcp::{CallId, ToolAnswer};
use testkit::process::{Process, descendants, is_alive, is_first_of_namespace, wait_until};

use crate::support::{
    Gateway, Home, ReceivedMessages, TIMEOUT, failed, has_system_python, printed,
    without_namespaces,
};

const PROGRAMS: usize = 20;

const KEEPER_KILLED: &str = "the program's process was ended: the first process of the sandbox \
     was killed, and the kernel ended every program in it";
const ZYGOTE_KILLED: &str = "the program's process was ended: the process that all programs of \
     the engine are forked from was ended by SIGKILL";
const WORKER_KILLED: &str = "the program's process was ended by SIGKILL: the system ended it, \
     most likely because memory ran out";

/// One engine, and how to recognise its zygote by its command line.
#[derive(Clone, Copy, Debug)]
struct Engine {
    /// What a request says to use it.
    argument: (&'static str, &'static str),
    zygote: &'static str,
    /// A program that calls a tool which never answers.
    hangs: &'static str,
    /// A program that prints `again`.
    prints: &'static str,
}

const PYTHON: Engine = Engine {
    argument: ("engine", "python"),
    zygote: " python-zygote ",
    hangs: "await mcp__fixture__hang()",
    prints: "print('again')",
};

fn engines() -> Vec<Engine> {
    let cpython =
        Engine { argument: ("engine", "cpython"), zygote: " -s -P -X utf8 -c ", ..PYTHON };
    let typescript = Engine {
        argument: ("language", "typescript"),
        zygote: " typescript-zygote ",
        hangs: "await mcp__fixture__hang({})",
        prints: "console.log('again')",
    };
    let mut engines = vec![PYTHON, typescript];
    engines.extend(has_system_python().then_some(cpython));
    engines
}

/// A gateway with one engine that has run a program already.
struct EngineGateway {
    gateway: Gateway,
    received: ReceivedMessages,
    engine: Engine,
}

impl EngineGateway {
    fn new(engine: Engine) -> Self {
        // All of them run at once on any machine.
        let (gateway, received) = Gateway::with_message_log(&json!({ "memory_mb": 64 }));
        let mut subject = Self { gateway, received, engine };
        subject.runs_again();
        subject
    }

    fn start(&mut self, code: &str) -> CallId {
        let (key, value) = self.engine.argument;
        let arguments = json!({ "code": code, key: value });
        self.gateway.session.start_call("execute_program", arguments)
    }

    /// Programs that wait for a tool.
    fn start_many(&mut self) -> Vec<CallId> {
        let calls: Vec<CallId> = (0..PROGRAMS).map(|_| self.start(self.engine.hangs)).collect();
        let begun = || self.received.calls("hang") >= PROGRAMS;
        assert!(wait_until(TIMEOUT, begun), "all programs have begun");
        calls
    }

    fn finish(&mut self, calls: Vec<CallId>) -> Vec<ToolAnswer> {
        calls.into_iter().map(|call| self.gateway.session.finish_call(call)).collect()
    }

    fn runs_again(&mut self) {
        let call = self.start(self.engine.prints);
        assert_eq!(printed(&self.gateway.session.finish_call(call)), "again\n");
    }

    fn zygote(&mut self) -> u32 {
        let gateway = self.gateway.pid();
        let is_zygote = |process: &Process| {
            process.parent == gateway && process.command.contains(self.engine.zygote)
        };
        descendants(gateway).into_iter().find(is_zygote).expect("the engine has a zygote").pid
    }

    /// Whatever the zygote has forked: workers, and the first process of their namespace.
    fn forked(&mut self) -> Vec<u32> {
        let zygote = self.zygote();
        descendants(zygote).into_iter().map(|process| process.pid).collect()
    }

    fn keeper(&mut self) -> u32 {
        self.forked()
            .into_iter()
            .find(|pid| is_first_of_namespace(*pid))
            .expect("the namespace has a keeper")
    }
}

fn send(signal: &str, pid: u32) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Limits how many descriptors a process may open.
fn limit_descriptors(process: u32, limit: u64) {
    let pid = Pid::from_raw(process.cast_signed()).expect("a process id");
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let limit = Rlimit { current: Some(limit), maximum };
    prlimit(Some(pid), Resource::Nofile, limit).expect("the limit can be set");
}

fn first_line(answer: &ToolAnswer) -> String {
    failed(answer).lines().next().unwrap_or_default().to_owned()
}

/// Kills what `target` finds while programs run: each says `reason`, the next one runs, and
/// no process is left.
fn kill_under_programs(target: fn(&mut EngineGateway) -> u32, reason: &str) {
    for engine in engines() {
        let mut subject = EngineGateway::new(engine);
        let calls = subject.start_many();
        let zygote = subject.zygote();
        let forked = subject.forked();
        assert!(forked.len() > PROGRAMS, "{engine:?}: {forked:?}");
        send("-KILL", target(&mut subject));
        for answer in subject.finish(calls) {
            assert_eq!(first_line(&answer), reason, "{engine:?}");
        }
        subject.runs_again();
        let left = || forked.iter().chain([&zygote]).filter(|pid| is_alive(**pid)).count();
        assert!(wait_until(TIMEOUT, || left() == 0), "{engine:?} leaves {} processes", left());
        assert_ne!(subject.zygote(), zygote);
    }
}

#[test]
fn programs_that_run_say_that_the_first_process_of_their_sandbox_was_killed() {
    kill_under_programs(EngineGateway::keeper, KEEPER_KILLED);
}

#[test]
fn programs_that_run_say_that_their_zygote_was_killed() {
    kill_under_programs(EngineGateway::zygote, ZYGOTE_KILLED);
}

#[test]
fn programs_that_have_not_begun_run_on_a_new_zygote() {
    for engine in engines() {
        for target in [EngineGateway::keeper, EngineGateway::zygote] {
            let mut subject = EngineGateway::new(engine);
            let (zygote, killed) = (subject.zygote(), target(&mut subject));
            let waiting = subject.forked().len();
            // Nothing can be forked for them meanwhile.
            send("-STOP", zygote);
            let calls: Vec<CallId> = (0..PROGRAMS).map(|_| subject.start(engine.prints)).collect();
            // Answered after all of them have arrived.
            subject.gateway.callable_tools();
            send("-KILL", killed);
            if killed != zygote {
                send("-CONT", zygote);
            }
            // Those that had a worker already may end with it, in the middle of their work.
            let reason = if killed == zygote { ZYGOTE_KILLED } else { KEEPER_KILLED };
            let (ended, lived): (Vec<_>, Vec<_>) =
                subject.finish(calls).into_iter().partition(|answer| answer.is_error);
            assert!(ended.len() <= waiting, "{engine:?}: {ended:?}");
            for answer in ended {
                assert_eq!(first_line(&answer), reason, "{engine:?}");
            }
            for answer in lived {
                assert_eq!(printed(&answer), "again\n", "{engine:?}");
            }
            assert!(wait_until(TIMEOUT, || !is_alive(zygote)), "{engine:?}");
        }
    }
}

#[test]
fn a_killed_worker_takes_no_other_program_along() {
    for engine in engines() {
        let mut subject = EngineGateway::new(engine);
        let before = subject.forked();
        let call = subject.start(engine.hangs);
        subject.received.wait_for_call("hang");
        let zygote = subject.zygote();
        // The worker that had waited for longest has the program. That of the program before may
        // be gone by now.
        let mut workers: Vec<u32> =
            before.into_iter().filter(|pid| !is_first_of_namespace(*pid)).collect();
        workers.sort_unstable();
        let answer = workers.into_iter().find_map(|worker| {
            Command::new("kill").args(["-KILL", &worker.to_string()]).output().unwrap();
            subject.gateway.session.finish_call_within(call, Duration::from_secs(5))
        });
        let answer = answer.expect("a killed program has an end").unwrap();
        assert_eq!(first_line(&answer), WORKER_KILLED, "{engine:?}");
        subject.runs_again();
        assert_eq!(subject.zygote(), zygote, "{engine:?}");
    }
}

#[test]
fn the_kernel_ends_programs_before_the_gateway_and_its_servers() {
    // Absent for a process that has ended meanwhile.
    let score = |pid: u32| fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).ok();
    let own = score(std::process::id());
    assert_ne!(own.as_deref(), None);
    for engine in engines() {
        let mut subject = EngineGateway::new(engine);
        let _call = subject.start(engine.hangs);
        subject.received.wait_for_call("hang");
        let scores: Vec<_> = subject.forked().into_iter().filter_map(score).collect();
        assert!(scores.len() >= 2 && scores.iter().all(|it| it == "1000\n"), "{scores:?}");
        let (gateway, zygote) = (subject.gateway.pid(), subject.zygote());
        assert_eq!(score(gateway), own);
        let others = descendants(gateway).into_iter().filter(|process| {
            process.parent == gateway
                && process.pid != zygote
                && !process.command.contains("zygote")
        });
        for process in others {
            assert!([None, own.clone()].contains(&score(process.pid)), "{process:?}");
        }
    }
}

#[test]
fn a_missing_wall_is_the_reason_of_every_program_that_cannot_start() {
    let run = |engine: &Engine| {
        let (key, value) = engine.argument;
        let config = match key {
            "engine" => json!({ "engine": value }),
            _ => Value::Object(serde_json::Map::new()),
        };
        let home = Home::with_config(&config);
        let file = if key == "engine" { "program.py" } else { "program.ts" };
        home.write(file, engine.prints);
        without_namespaces(&home, home.onecall_with_config(&["run", &home.text_path(file)]))
    };
    for engine in engines() {
        // What is read first, the reason or the end, is decided anew each time.
        for _ in 0..5 {
            let Some(ended) = run(&engine) else {
                eprintln!("skipped: no user namespace can be made here to take them away in");
                return;
            };
            // An engine that can do without them runs it.
            if (ended.code, ended.stdout.as_str()) == (Some(0), "again\n") {
                continue;
            }
            let could_not = "the engine could not start: ";
            let reason = ended.stderr.lines().find_map(|line| line.strip_prefix(could_not));
            let reason = reason.map(|it| it.trim_start_matches("its worker died while starting: "));
            let names_it = reason.is_some_and(|it| it.starts_with("the sandbox "));
            assert!(names_it, "{engine:?}: {ended:?}");
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{engine:?}");
        }
    }
}

#[test]
fn a_zygote_that_can_open_no_descriptor_says_so_and_goes_on_later() {
    // The limits of the zygote of the system's Python cannot be set from here.
    for engine in engines().into_iter().filter(|engine| engine.zygote.ends_with("-zygote ")) {
        let mut subject = EngineGateway::new(engine);
        let zygote = subject.zygote();
        limit_descriptors(zygote, 3);
        // Workers that wait already can run programs.
        let mut refusals = (0..100).filter_map(|_| {
            let call = subject.start(engine.prints);
            let answer = subject.gateway.session.finish_call(call);
            answer.is_error.then(|| first_line(&answer))
        });
        let refusal = refusals.next().unwrap_or_else(|| panic!("{engine:?} forks workers"));
        assert!(refusal.contains("Too many open files"), "{engine:?}: {refusal}");
        limit_descriptors(zygote, 1024);
        subject.runs_again();
        assert_eq!(subject.zygote(), zygote);
    }
}
