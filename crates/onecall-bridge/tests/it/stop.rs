//! How servers end, with everything they started.

use std::env::current_exe;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use onecall_bridge::{Bridge, Guard, run_guard};

use crate::fake::{TEST_TIMEOUT, call, is_alive, server, start};

#[tokio::test]
async fn a_well_behaved_server_ends_at_once() {
    // A second later it would have been asked by a signal, which it writes down.
    let folder = tempfile::tempdir().unwrap();
    let signalled = folder.path().join("signalled");
    let script = format!("trap 'touch {}' TERM; text $$", signalled.display());
    let bridge = start(vec![server("x", &script)]).await;
    let pid = call(&bridge, "mcp__x__tool").await;
    bridge.shutdown().await;
    assert!(!is_alive(&pid));
    assert!(!signalled.exists());
    assert_eq!(
        call(&bridge, "mcp__x__tool").await,
        "'mcp__x__tool' failed: server 'x' was stopped"
    );
}

#[tokio::test]
async fn stubborn_servers_and_their_children_are_killed_side_by_side() {
    let stubborn = "trap '' TERM; sleep 1000 & text \"$$ $!\"; while :; do sleep 1000; done";
    let names: Vec<String> = (0..20).map(|number| format!("s{number}")).collect();
    let bridge = start(names.iter().map(|name| server(name, stubborn)).collect()).await;
    let mut pids = Vec::new();
    for name in &names {
        let said = call(&bridge, &format!("mcp__{name}__tool")).await;
        pids.extend(said.split(' ').map(str::to_owned));
    }
    // Each is given at least two seconds; one after the other, that would be forty.
    let started = Instant::now();
    bridge.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    let left: Vec<&String> = pids.iter().filter(|pid| is_alive(pid)).collect();
    assert!(left.is_empty(), "{left:?} of {pids:?}");
}

#[tokio::test]
async fn what_a_dead_server_started_ends_too() {
    let bridge = start(vec![server("x", "sleep 1000 >/dev/null 2>&1 & text $!; exit 1")]).await;
    let pid = call(&bridge, "mcp__x__tool").await;
    bridge.shutdown().await;
    assert!(!is_alive(&pid));
}

/// Ignores every polite request to end: neither the end of its stdin nor
/// SIGTERM reaches it.
const STUBBORN: &str = "trap '' TERM; text $$; while :; do sleep 1000; done";

/// Where [`gateway_process`] writes down the number of its server.
const PID_FILE: &str = "ONECALL_TEST_PID_FILE";

#[test]
fn a_guard_stops_what_a_killed_gateway_left() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let mut gateway =
        this_binary("stop::gateway_process").env(PID_FILE, &pid_file).spawn().unwrap();
    wait_until(|| pid_file.exists());
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    assert!(is_alive(&pid));
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    wait_until(|| !is_alive(&pid));
}

#[test]
#[ignore = "it is the guard, which another process starts"]
fn guard_process() {
    run_guard().unwrap();
}

#[tokio::test]
#[ignore = "it is a gateway, which another test starts and kills"]
async fn gateway_process() {
    let guard = Guard::spawn(this_binary("stop::guard_process")).unwrap();
    let bridge = Bridge::start(vec![server("x", STUBBORN)], guard);
    let pid = call(&bridge, "mcp__x__tool").await;
    let pid_file = PathBuf::from(std::env::var_os(PID_FILE).unwrap());
    let unfinished = pid_file.with_extension("new");
    std::fs::write(&unfinished, pid).unwrap();
    std::fs::rename(unfinished, pid_file).unwrap();
    std::future::pending().await
}

/// This test binary, running one of the processes above.
fn this_binary(process: &str) -> Command {
    let mut command = Command::new(current_exe().unwrap());
    command.args(["--ignored", "--exact", process]).stdout(Stdio::null());
    command
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "it did not happen in time");
        std::thread::sleep(Duration::from_millis(10));
    }
}
