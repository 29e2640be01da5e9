//! Durable runs whose gateway is killed: another gateway continues them, and nothing happens twice.
//! `cargo xtask kill` and `cargo xtask resume-corpus` run the long forms of these tests.

mod corpus;
mod frozen;
pub(crate) mod kill;
mod many_waiting;

use std::process::Child;
use std::sync::Arc;

use onecall_core::storage::{Journals as _, StoreError};
use onecall_store::SqliteStore;
use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::Session;
use testkit::process::{Process, descendants, is_alive, wait_until};

use crate::support::{Home, TIMEOUT};

/// The file of the store in a home.
const STORE: &str = "home/state/onecall/onecall.db";

fn open_store(home: &Home) -> Arc<SqliteStore> {
    onecall_store::open_durable(home.path(STORE), 256)
}

/// A home with a server that counts effects, in whose configuration all runs are durable. Calls of
/// `sensitive` need an approval, which has more settings.
fn counting_home(approvals: &Value) -> Home {
    let home = Home::new();
    let args = ["--effects".to_owned(), home.text_path("effects")];
    let mut config = json!({
        "servers": [{ "name": "counting", "command": bins::fixture_server(), "args": args }],
        "durable": true,
        "approvals": approvals,
        "expose_tools": ["mcp__counting__sensitive"],
        "execution": { "timeout_seconds": 120 },
    });
    config["approvals"]["ask"] = json!(["mcp__counting__sensitive"]);
    home.write("config.json", config.to_string());
    home
}

/// Starts a gateway with the configuration of a home.
fn gateway(home: &Home) -> Session {
    Session::open(home.onecall_with_config(&["serve"]))
}

/// Kills a gateway with SIGKILL, and waits until its servers and workers have ended, too: an effect
/// cannot happen any more.
fn kill(session: &mut Session) -> u32 {
    let pid = session.client().pid();
    kill_with_children(pid, || session.client().kill());
    pid
}

/// Kills a command as [`kill`] does a gateway.
fn kill_child(child: &mut Child) -> u32 {
    let pid = child.id();
    kill_with_children(pid, || {
        child.kill().expect("our own child can be killed");
        child.wait().expect("our own child can be waited for");
    });
    pid
}

/// Kills a process, and waits until its descendants have ended, too.
pub(crate) fn kill_with_children(pid: u32, kill: impl FnOnce()) {
    let children: Vec<Process> = descendants(pid);
    kill();
    let are_gone = || children.iter().all(|child| !is_alive(child.pid));
    assert!(wait_until(TIMEOUT, are_gone), "these outlive their gateway: {children:?}");
}

/// Ends the leases of a gateway that has been killed, which would otherwise last some seconds more.
fn end_leases(store: &SqliteStore, pid: u32) {
    try_end_leases(store, pid).expect("a store");
}

/// Ends the leases of a gateway, unless another process holds the lock of the store.
fn try_end_leases(store: &SqliteStore, pid: u32) -> Result<(), StoreError> {
    for run in store.durable_runs(false)? {
        let Some(lease) = run.lease else { continue };
        if lease.owner.starts_with(&format!("{pid}-")) {
            store.give_up_lease(&run.id, lease.fence)?;
        }
    }
    Ok(())
}

/// A number from the environment, for the long forms of the tests.
pub(crate) fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}

/// Random numbers that a seed determines (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}
