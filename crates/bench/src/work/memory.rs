//! The memory of the gateway and its descendants, before the first program and after a thousand,
//! each of which calls a tool and is recorded.

use std::fs;
use std::thread;
use std::time::Duration;

use testkit::process::{self, Process};

use crate::rounds::Samples;
use crate::section::{Section, Unit};
use crate::server::Server;
use crate::subject::Subject;

const PROGRAMS: u32 = 1_000;

const PROGRAM: &str = "print(await mcp__fixture__add(a=1, b=2))";

/// The time for the zygote to import its modules and for the workers to warm up.
const WARM_UP_TIME: Duration = Duration::from_secs(1);

const BEFORE: &str = "gateway, before the first program";
const AFTER: &str = "gateway, after 1,000 programs";
const ZYGOTE: &str = "zygote";
const ZYGOTE_AFTER: &str = "zygote, after 1,000 programs";
const WORKER: &str = "a waiting worker";
const WORKER_PRIVATE: &str = "a waiting worker, private pages only";
const TOTAL: &str = "all processes, private pages only";
const OTHERS: &str = "all other processes (the fixture server, the guard)";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let names = [BEFORE, AFTER, ZYGOTE, ZYGOTE_AFTER, WORKER, WORKER_PRIVATE, OTHERS, TOTAL];
    let mut measured: Vec<_> = names.iter().map(|name| (*name, Samples::default())).collect();
    let mut workers = 0;
    for _ in 0..subject.rounds(3) {
        let mut gateway = Server::start(subject.serve(&[])?)?;
        thread::sleep(WARM_UP_TIME);
        let before = Footprint::of(&gateway)?;
        gateway.run_in_a_row(PROGRAMS, PROGRAM, "3")?;
        thread::sleep(WARM_UP_TIME);
        let after = Footprint::of(&gateway)?;
        let values = [
            before.gateway,
            after.gateway,
            before.zygote,
            after.zygote,
            before.worker,
            before.worker_private,
            before.others,
            before.private,
        ];
        for ((_, samples), value) in measured.iter_mut().zip(values) {
            samples.push(value);
        }
        workers = before.workers;
    }
    let mut section = Section::new("resident memory");
    for (name, samples) in measured {
        section.add(name, Unit::Bytes, samples);
    }
    section.compare(AFTER, BEFORE);
    section.compare(ZYGOTE_AFTER, ZYGOTE);
    section.note(format!(
        "{workers} workers wait. Resident memory counts pages that processes share once for each; \
         private pages are what a process costs by itself."
    ));
    section.promise_at_most("resident before the first program", BEFORE, 25e6);
    section.promise_at_most("resident after 1,000 programs", AFTER, 30e6);
    Ok(section)
}

/// The memory of the gateway and its descendants at one moment, in bytes.
struct Footprint {
    gateway: f64,
    zygote: f64,
    /// The mean of the idle workers.
    worker: f64,
    worker_private: f64,
    workers: usize,
    others: f64,
    /// The private memory of all processes together.
    private: f64,
}

impl Footprint {
    fn of(server: &Server) -> Result<Self, String> {
        let pid = server.pid();
        let gateway = Process::read(pid).ok_or("the gateway is gone")?;
        let below = process::descendants(pid);
        let all_private = private(&gateway) + sum(&below, private);
        let (engine, others): (Vec<_>, Vec<_>) =
            below.into_iter().partition(|process| process.command.contains("python-zygote"));
        let (zygotes, workers): (Vec<_>, Vec<_>) =
            engine.into_iter().partition(|process| process.parent == pid);
        let count = workers.len().max(1) as f64;
        Ok(Self {
            gateway: resident(&gateway),
            zygote: sum(&zygotes, resident),
            worker: sum(&workers, resident) / count,
            worker_private: sum(&workers, private) / count,
            workers: workers.len(),
            others: sum(&others, resident),
            private: all_private,
        })
    }
}

fn resident(process: &Process) -> f64 {
    process.resident_bytes().unwrap_or_default() as f64
}

fn private(process: &Process) -> f64 {
    let path = format!("/proc/{}/smaps_rollup", process.pid);
    let rollup = fs::read_to_string(path).unwrap_or_default();
    let lines = rollup.lines().filter_map(|line| line.strip_prefix("Private_"));
    let kilobytes = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.sum::<f64>() * 1024.0
}

fn sum(processes: &[Process], size: fn(&Process) -> f64) -> f64 {
    processes.iter().map(size).sum()
}
