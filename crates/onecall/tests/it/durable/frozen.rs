//! A gateway that is stopped for longer than its lease lasts: another one takes its run over, and the
//! first one does nothing more for the run when it goes on.

use std::process::Command;
use std::time::Duration;

use onecall_core::storage::{DurableState, Journals as _};
use serde_json::json;
use testkit::process::wait_until;

use super::{counting_home, open_store, try_end_leases};
use crate::support::TIMEOUT;

/// Enough time to stop the gateway between the two effects.
const PROGRAM: &str = "\
print((await mcp__counting__effect(id='first'))['id'])
for _ in range(40):
    await mcp__counting__look(id='x', ms=50)
print((await mcp__counting__effect(id='second'))['id'])";

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(status.expect("kill starts").success());
}

#[test]
fn a_gateway_that_lost_its_run_has_no_effect() {
    let home = counting_home(&json!({ "wait_seconds": 20 }));
    let effects = || std::fs::read_to_string(home.path("effects")).unwrap_or_default();
    let mut frozen = super::gateway(&home);
    let call = frozen.start_call("execute_program", json!({ "code": PROGRAM }));
    assert!(wait_until(TIMEOUT, || effects().contains("effect first")));
    let store = open_store(&home);
    let runs = store.durable_runs(false).expect("a store");
    let pid = frozen.client().pid();
    // Whatever is under way has arrived before the gateway is stopped.
    std::thread::sleep(Duration::from_millis(300));
    signal(pid, "-STOP");
    // A gateway that was stopped while it wrote to the store holds its lock.
    let mut tries = 0;
    while let Err(error) = try_end_leases(&store, pid) {
        tries += 1;
        assert!(tries < 10, "{error}");
        signal(pid, "-CONT");
        std::thread::sleep(Duration::from_millis(20));
        signal(pid, "-STOP");
    }
    let mut other = super::gateway(&home);
    let continued = other.call_tool("continue_program", json!({ "run": runs[0].id.as_str() }));
    signal(pid, "-CONT");
    assert_eq!(continued.text, "[Script executed successfully]\nfirst\nsecond\n");
    let answer = frozen.finish_call(call);
    assert_eq!(answer.text, continued.text);
    let state = store.durable_run(&runs[0].id).expect("a store").expect("the run").state;
    assert!(matches!(state, DurableState::Ended(_)), "{state:?}");
    let mut lines: Vec<String> = effects().lines().map(str::to_owned).collect();
    lines.iter_mut().for_each(|line| line.truncate(line.rfind(' ').unwrap_or_default()));
    assert_eq!(lines, ["effect first", "effect second"]);
}
