//! Where the time of a bridged call goes: how long each process on its way works for it, how long the call waits
//! for a process to wake up, and what is left of its time without parts of the way.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};
use testkit::process::{self, Process, ProcessorUse};

use super::{cache, sequential};
use crate::rounds::{Contender, take_turns, timed};
use crate::section::Section;
use crate::section::Unit::{self, Seconds, Times};
use crate::server::{Server, on_core};
use crate::subject::Subject;

/// How many calls a program makes: so many that the steps of 10 ms in which the times of processes are counted are
/// half a microsecond of each call, and that the start and the end of the program do not matter.
const CALLS: u32 = 20_000;

/// The calls are in a function because the variables of a session are slower than those of other programs.
const CALLING: &str = "\
async def call_all():
    total = 0
    for i in range(20000):
        total += await mcp__fixture__add(a=i, b=1)
    print(total)
await call_all()";
const CALLING_TYPESCRIPT: &str = "\
await (async () => {
  let total = 0
  for (let i = 0; i < 20000; i++) total += await mcp__fixture__add({ a: i, b: 1 })
  console.log(total)
})()";
const CALLED: &str = "200010000";

const ASKING_THE_SAME: &str = "\
async def call_all():
    total = 0
    for i in range(20000):
        total += await mcp__fixture__add(a=7, b=1)
    print(total)
await call_all()";
const ASKED: &str = "160000";

const CALLING_ITSELF: &str = "\
async def add(a, b):
    return a + b
async def call_all():
    total = 0
    for i in range(20000):
        total += await add(a=i, b=1)
    print(total)
await call_all()";

// What is measured. Those that are not calls, or not by the usual way, show what that part of the way costs.
const CALL: &str = "a call";
const KEPT: &str = "a kept answer: no server";
const OWN: &str = "an awaited function of the program: no gateway, no server";
const AT_GATEWAY: &str = "a call, from its arrival at the gateway to its answer: no worker";
const BARE: &str = "a call of a bare client: no worker, no gateway";
const FREE: &str = "a call, `sandbox: off`";
const ONE_CORE: &str = "a call, all processes on one core";
const CPYTHON: &str = "a call, engine `cpython`";
const TYPESCRIPT: &str = "a call, TypeScript";

/// The rows of the table: the name, what was measured, and which part of its cost is shown.
const ROWS: [(&str, &str, Unit, Part); 23] = [
    (CALL, CALL, Seconds, |cost| cost.elapsed),
    ("worker, user time", CALL, Seconds, |cost| cost.worker.user),
    ("worker, system time", CALL, Seconds, |cost| cost.worker.system),
    ("gateway, user time", CALL, Seconds, |cost| cost.gateway.user),
    ("gateway, system time", CALL, Seconds, |cost| cost.gateway.system),
    ("server, user time", CALL, Seconds, |cost| cost.server.user),
    ("server, system time", CALL, Seconds, |cost| cost.server.system),
    ("the rest, in which no process works", CALL, Seconds, CallCost::rest),
    ("worker, how often it waits", CALL, Times, |cost| cost.worker.waits),
    ("gateway, how often it waits", CALL, Times, |cost| cost.gateway.waits),
    ("server, how often it waits", CALL, Times, |cost| cost.server.waits),
    (OWN, OWN, Seconds, |cost| cost.elapsed),
    (KEPT, KEPT, Seconds, |cost| cost.elapsed),
    ("gateway, user time, a kept answer", KEPT, Seconds, |cost| cost.gateway.user),
    ("gateway, system time, a kept answer", KEPT, Seconds, |cost| cost.gateway.system),
    (AT_GATEWAY, AT_GATEWAY, Seconds, |cost| cost.elapsed),
    (BARE, BARE, Seconds, |cost| cost.elapsed),
    (FREE, FREE, Seconds, |cost| cost.elapsed),
    (ONE_CORE, ONE_CORE, Seconds, |cost| cost.elapsed),
    (CPYTHON, CPYTHON, Seconds, |cost| cost.elapsed),
    ("worker, user and system time, engine `cpython`", CPYTHON, Seconds, |cost| cost.worker.time()),
    (TYPESCRIPT, TYPESCRIPT, Seconds, |cost| cost.elapsed),
    ("worker, user and system time, TypeScript", TYPESCRIPT, Seconds, |cost| cost.worker.time()),
];

const NOTES: [&str; 3] = [
    "Times are those of one call, the mean of 20,000 in one program; those of a bare client and from the arrival at \
     the gateway are the mean of 1,000. User time is spent in a process's own code, system time in the kernel for it: \
     what `/proc` shows after the program less what it showed before, in the worker, the gateway and the server. The \
     program belongs to a session, whose worker does not end with it. The kernel measures both together, and \
     estimates which of them it was by looking 100 to 1,000 times a second.",
    "In each round, the six times and the rest add up to the time of the call, which is in one process at a time. In \
     the rest, none of the three works: one has been sent something and is not awake yet. This takes longer than the \
     rest shows, because what two processes do at the same time on two cores counts for both of them: one goes to \
     sleep while the next already works. On one core nothing happens at the same time, and no other core has to be \
     woken.",
    "Other rows leave a part of the way out; what they lack of “a call” is what that part costs, with the waiting for \
     it. Nothing is recorded here; what that costs is above.",
];

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let command = |name: &str, mut config: Value| {
        config["servers"] = json!([subject.server("fixture", &[])]);
        // The record of a program is written while the next one runs.
        config["records"] = json!("off");
        subject.serve_config(&format!("budget-{name}"), config)
    };
    let gateway = |name: &str, config: Value| Server::start(command(name, config)?);
    let plain = RefCell::new(gateway("plain", json!({}))?);
    let mut kept = gateway("kept", json!({ "cache": {} }))?;
    let mut free = gateway("free", json!({ "sandbox": "off" }))?;
    let mut whole = gateway("whole", json!({ "expose": ["programmatic_tool_calling"] }))?;
    let mut one_core = Server::start(on_core(&command("one-core", json!({}))?, "0"))?;
    let mut cpython = match &subject.python {
        Ok(_) => Some(gateway("cpython", json!({ "engine": "cpython" }))?),
        Err(_) => None,
    };
    let mut bare = subject.bare();
    let program = |gateway: &mut Server, language: &str, code: &str, printed: &str| {
        let arguments = json!({ "code": code, "language": language, "session": language });
        measure_program(gateway, subject, &arguments, printed)
    };
    let calls = |gateway: &mut Server| program(gateway, "python", CALLING, CALLED);
    let mut contenders = vec![
        Contender::new(CALL, || calls(&mut plain.borrow_mut())),
        Contender::new(OWN, || program(&mut plain.borrow_mut(), "python", CALLING_ITSELF, CALLED)),
        Contender::new(KEPT, || program(&mut kept, "python", ASKING_THE_SAME, ASKED)),
        Contender::new(AT_GATEWAY, || cache::at_gateway(&mut whole).map(CallCost::of_time)),
        Contender::new(BARE, || {
            let (answered, seconds) = timed(|| sequential::call_all(&mut bare));
            answered.map(|()| CallCost::of_time(seconds / f64::from(sequential::CALLS)))
        }),
        Contender::new(FREE, || calls(&mut free)),
        Contender::new(ONE_CORE, || calls(&mut one_core)),
        Contender::new(TYPESCRIPT, || {
            program(&mut plain.borrow_mut(), "typescript", CALLING_TYPESCRIPT, CALLED)
        }),
    ];
    if let Some(cpython) = &mut cpython {
        contenders.push(Contender::new(CPYTHON, || calls(cpython)));
    }
    let measured = take_turns(subject.rounds(5), contenders)?;
    let mut section = Section::new("where the time of a bridged call goes");
    for (name, of, unit, part) in ROWS {
        let costs = measured.iter().find(|(contender, _)| *contender == of);
        if let Some((_, costs)) = costs {
            section.add(name, unit, costs.iter().map(part).collect::<Vec<f64>>().into());
            if unit == Seconds {
                section.compare(name, if name == CALL { BARE } else { CALL });
            }
        }
    }
    NOTES.into_iter().for_each(|note| section.note(note));
    Ok(section)
}

/// Runs a program that makes many calls, and returns what one of them costs.
fn measure_program(
    gateway: &mut Server,
    subject: &Subject,
    arguments: &Value,
    printed: &str,
) -> Result<CallCost, String> {
    let read = |gateway: &Server| ProcessTimes::read(gateway.pid(), &subject.fixture);
    let before = read(gateway)?;
    let seconds = gateway.run_with(arguments, printed)?;
    let after = read(gateway)?;
    Ok(CallCost {
        elapsed: seconds / f64::from(CALLS),
        worker: after.since(&before, Role::Worker),
        gateway: after.since(&before, Role::Gateway),
        server: after.since(&before, Role::Server),
    })
}

/// What is shown of the cost of a call.
type Part = fn(&CallCost) -> f64;

/// What one call costs.
#[derive(Debug, Default)]
struct CallCost {
    /// The seconds that pass.
    elapsed: f64,
    worker: ProcessCost,
    gateway: ProcessCost,
    server: ProcessCost,
}

impl CallCost {
    /// The cost of a call of which only the time is known.
    fn of_time(elapsed: f64) -> Self {
        Self { elapsed, ..Self::default() }
    }

    /// The time that passes while no process works.
    fn rest(&self) -> f64 {
        self.elapsed - self.worker.time() - self.gateway.time() - self.server.time()
    }
}

/// What one call costs a process, in seconds, and how often the process waits.
#[derive(Debug, Default, PartialEq)]
struct ProcessCost {
    user: f64,
    system: f64,
    waits: f64,
}

impl ProcessCost {
    fn time(&self) -> f64 {
        self.user + self.system
    }
}

/// A process that a call passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The worker, and the other processes of the engine, which do nothing meanwhile.
    Worker,
    Gateway,
    Server,
}

/// What a gateway and the processes below it have used of the processors at one moment, by process id.
struct ProcessTimes(HashMap<u32, (Role, ProcessorUse)>);

impl ProcessTimes {
    fn read(gateway: u32, server: &Path) -> Result<Self, String> {
        let own = Process::read(gateway).and_then(|process| process.processor_use());
        // The gateway comes first: to find the others takes a while, in which it goes on.
        let own = own.ok_or("the gateway is gone")?;
        let server = server.to_string_lossy();
        let below = process::descendants(gateway).into_iter().filter_map(|process| {
            let is_server = process.command.starts_with(server.as_ref());
            let role = if is_server { Role::Server } else { Role::Worker };
            Some((process.pid, (role, process.processor_use()?)))
        });
        Ok(Self(below.chain([(gateway, (Role::Gateway, own))]).collect()))
    }

    /// What each of the calls since an earlier moment cost the processes of this role.
    fn since(&self, before: &Self, role: Role) -> ProcessCost {
        let mut used = ProcessorUse::default();
        for (pid, (_, now)) in self.0.iter().filter(|(_, (it, _))| *it == role) {
            let then = before.0.get(pid).map(|(_, then)| *then).unwrap_or_default();
            used.user += now.user.saturating_sub(then.user);
            used.system += now.system.saturating_sub(then.system);
            used.waits += now.waits.saturating_sub(then.waits);
        }
        let calls = f64::from(CALLS);
        ProcessCost {
            user: used.user.as_secs_f64() / calls,
            system: used.system.as_secs_f64() / calls,
            waits: used.waits as f64 / calls,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn times(processes: &[(u32, Role, u64, u64, u64)]) -> ProcessTimes {
        let times = processes.iter().map(|&(pid, role, user, system, waits)| {
            let (user, system) = (Duration::from_millis(user), Duration::from_millis(system));
            (pid, (role, ProcessorUse { user, system, waits }))
        });
        ProcessTimes(times.collect())
    }

    #[test]
    fn the_cost_of_a_call_is_a_share_of_the_difference() {
        let before = times(&[(1, Role::Gateway, 100, 50, 7), (2, Role::Worker, 1000, 0, 0)]);
        let after = times(&[
            (1, Role::Gateway, 300, 150, 40_007),
            (2, Role::Worker, 1200, 0, 20_000),
            // It was started meanwhile.
            (3, Role::Worker, 20, 20, 0),
        ]);
        let cost = |user, system, waits| ProcessCost { user, system, waits };
        assert_eq!(after.since(&before, Role::Gateway), cost(10e-6, 5e-6, 2.0));
        assert_eq!(after.since(&before, Role::Worker), cost(11e-6, 1e-6, 1.0));
        assert_eq!(after.since(&before, Role::Server), ProcessCost::default());
    }

    #[test]
    fn what_no_process_worked_is_the_rest() {
        let of = |user, system| ProcessCost { user, system, waits: 0.0 };
        let (worker, gateway, server) = (of(8.0, 4.0), of(2.0, 1.0), of(0.5, 0.5));
        let cost = CallCost { elapsed: 20.0, worker, gateway, server };
        assert_eq!(cost.rest(), 4.0);
    }
}
