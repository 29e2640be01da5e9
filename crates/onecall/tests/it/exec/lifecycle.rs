//! No process is left behind, however a host ends.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testkit::process::{Process, descendants, is_alive, wait_until};

use super::host::Host;
use crate::support::{Home, TIMEOUT};

/// Every process of a host that runs a program.
fn process_ids(host: &Host) -> Vec<u32> {
    let pid = host.client.pid();
    let pids: Vec<_> = descendants(pid).iter().map(|it| it.pid).collect();
    assert!(pids.len() > 1, "a zygote and a worker");
    pids
}

fn all_gone(pids: &[u32]) -> bool {
    wait_until(TIMEOUT, || !pids.iter().any(|pid| is_alive(*pid)))
}

#[test]
fn a_host_that_never_answers_is_not_waited_for() {
    let mut host = Host::new();
    host.start("1", "print('before', flush=True)\ntools.f()", json!({ "timeout": 1 }));
    let call = host.expect("tool_call");
    let cancelled = host.expect("tool_cancelled");
    let id = &call["tool_call_id"];
    assert_eq!(cancelled, json!({ "type": "tool_cancelled", "id": "1", "tool_call_id": id }));
    let outcome = host.expect("outcome");
    assert_eq!([&outcome["error"]["type"], &outcome["stdout"]], ["TimeoutError", "before\n"]);
    assert_eq!(outcome["tool_calls"][0]["duration_seconds"], json!(null));
    host.still_works();
}

#[test]
fn a_call_that_the_program_gives_up_is_cancelled() {
    let mut host = Host::new();
    let code = "
        import asyncio
        try:
            await asyncio.wait_for(f(), 0.1)
        except TimeoutError:
            print('enough')
        ";
    host.start("1", code, json!({ "tools": [{ "name": "f" }] }));
    let call = host.expect("tool_call");
    assert_eq!(host.expect("tool_cancelled")["tool_call_id"], call["tool_call_id"]);
    assert_eq!(host.expect("outcome")["stdout"], "enough\n");
}

#[test]
fn a_cancelled_program_tells_what_it_did() {
    let mut host = Host::new();
    host.start("1", "print('before', flush=True)\ntools.f()\ntools.g()", json!({}));
    let call = host.expect("tool_call");
    host.answer(&call, json!(1));
    host.expect("tool_call");
    host.send(&json!({ "type": "cancel", "id": "1" }));
    host.expect("tool_cancelled");
    let outcome = host.expect("outcome");
    assert_eq!([&outcome["error"]["type"], &outcome["stdout"]], ["Cancelled", "before\n"]);
    let calls = outcome["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(outcome["tool_results"].as_array().unwrap().len(), 1);
    host.still_works();
}

#[test]
fn closing_stdin_ends_everything() {
    let mut host = Host::new();
    host.start("calling", "tools.f()", json!({}));
    host.expect("tool_call");
    host.start("busy", "tools.g()\nwhile True: pass", json!({}));
    let call = host.expect("tool_call");
    host.answer(&call, json!(1));
    let pids = process_ids(&host);
    host.client.close_stdin();
    let mut kinds: Vec<_> = (0..3).map(|_| host.next()["type"].to_string()).collect();
    kinds.sort();
    assert_eq!(kinds, ["\"outcome\"", "\"outcome\"", "\"tool_cancelled\""]);
    assert_eq!(host.client.receive_line(), None);
    assert_eq!(host.client.wait(TIMEOUT).unwrap().code(), Some(0));
    assert!(all_gone(&pids));
    assert_eq!(host.client.stderr(), "");
}

#[test]
fn a_signal_ends_everything() {
    for signal in ["-INT", "-TERM"] {
        let mut host = Host::new();
        host.start("1", "tools.f()", json!({}));
        host.expect("tool_call");
        let pids = process_ids(&host);
        let pid = host.client.pid().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        host.expect("tool_cancelled");
        assert_eq!(host.expect("outcome")["error"]["type"], "Cancelled");
        assert_eq!(host.client.wait(TIMEOUT).unwrap().code(), Some(0));
        assert!(all_gone(&pids));
    }
}

#[test]
fn a_host_that_does_not_read_costs_little_and_is_left_when_it_goes() {
    let home = Home::with_config(&json!({ "execution": { "max_parallel_calls": 1000 } }));
    std::fs::create_dir(home.path("work/kept")).unwrap();
    let (mut child, marker) = (start(&home), home.path("work/kept/sent"));
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    // A thousand calls of a megabyte, which the host does not read.
    let code = format!(
        "import asyncio\nasync def one(n):\n    open({:?}, 'w').write(str(n))\n    \
         await tools.aio.f(data='x' * 2**20)\nawait asyncio.gather(*map(one, range(1000)))",
        marker
    );
    writeln!(stdin, "{}", json!({ "type": "execute", "id": "1", "code": code })).unwrap();
    let sent = || std::fs::read_to_string(&marker).unwrap_or_default().parse().unwrap_or(0);
    assert!(wait_until(TIMEOUT, || sent() >= 50), "{} calls", sent());
    let pids: Vec<_> = descendants(child.id()).iter().map(|it| it.pid).collect();
    let peak = Process::read(child.id()).unwrap().peak_bytes().unwrap();
    assert!(peak < 400 << 20, "{peak} bytes");
    drop((stdin, stdout));
    let mut status = None;
    wait_until(TIMEOUT, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
    assert!(all_gone(&pids));
    assert!(sent() < 999, "it held the program up");
}

fn start(home: &Home) -> Child {
    let mut command = home.onecall_with_config(&["exec", "--workspace", "kept"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}
