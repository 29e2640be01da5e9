//! Many runs that wait for a person, whose gateway is killed: all of them are taken up by the next
//! one when they are approved, and each call is made once.

use std::collections::BTreeMap;
use std::time::Duration;

use onecall_core::storage::{Approvals as _, DurableState, Journals as _, QuestionFilter};
use serde_json::json;
use testkit::process::wait_until;

use super::{counting_home, end_leases, gateway, kill, number_from, open_store};
use crate::support::{TIMEOUT, finish};

#[test]
fn many_waiting_runs_are_taken_up() {
    let count = number_from("ONECALL_WAITING_RUNS").unwrap_or(40);
    let home = counting_home(&json!({ "wait_seconds": 0, "keep_seconds": 0 }));
    let mut session = gateway(&home);
    for number in 0..count {
        let id = format!("w{number}");
        let answer = match number % 4 {
            0 => {
                let code = format!("print(await mcp__counting__sensitive(id='{id}'))");
                session.call_tool("execute_program", json!({ "code": code }))
            }
            _ => session.call_tool("mcp__counting__sensitive", json!({ "id": id })),
        };
        assert!(answer.text.starts_with("[Script waiting for approval]"), "{}", answer.text);
    }
    let pid = kill(&mut session);
    let store = open_store(&home);
    end_leases(&store, pid);
    let open = store
        .questions(&QuestionFilter { run: None, open: true, ..QuestionFilter::default() })
        .expect("a store");
    assert_eq!(open.len() as u64, count);
    let _session = gateway(&home);
    let approved = finish(home.onecall_with_config(&["approvals", "approve", "--all"]));
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let unfinished = || {
        let runs = store.durable_runs(false).expect("a store");
        runs.iter().filter(|run| !matches!(run.state, DurableState::Ended(_))).count()
    };
    let time = TIMEOUT + Duration::from_millis(200 * count);
    assert!(wait_until(time, || unfinished() == 0), "{} runs have not ended", unfinished());
    let text = std::fs::read_to_string(home.path("effects")).unwrap_or_default();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines() {
        *times.entry(line).or_default() += 1;
    }
    let repeated: Vec<_> = times.iter().filter(|(_, times)| **times != 1).collect();
    assert!(repeated.is_empty(), "{repeated:?}");
    assert_eq!(times.len() as u64, count);
}
