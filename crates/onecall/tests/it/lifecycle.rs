//! No process is left behind, however the gateway ends.

use std::process::{Command, ExitStatus};

use serde_json::{Value, json};
use testkit::process::{self, Process, descendants, is_alive, wait_until};
use testkit::rpc::Client;

use crate::support::{Gateway, Home, TIMEOUT, fixture};

/// A gateway with a stubborn server and a program that never ends, and every
/// process that belongs to it.
struct BusyGateway {
    gateway: Gateway,
    mark: String,
    processes: Vec<Process>,
}

impl BusyGateway {
    fn new() -> Self {
        let mark = process::unique_mark();
        let stubborn = ["--name", &mark, "--ignore-eof", "--spawn-grandchild"];
        let home = Home::new();
        let servers = [fixture("fixture", &[]), fixture("stubborn", &stubborn)];
        home.write("config.json", json!({ "servers": servers }).to_string());
        let mut gateway = Gateway::in_home(home);
        gateway.prints("await mcp__stubborn__add(1, 2)");
        let _program = gateway.start("while True: pass");
        let _waiting = gateway.start("await mcp__stubborn__hang()");
        let pid = gateway.pid();
        let runs = || descendants(pid).iter().any(|process| process.state == 'R');
        assert!(wait_until(TIMEOUT, runs), "the program runs");
        assert_eq!(process::marked(&mark).len(), 2, "the server and its grandchild");
        let mut processes = descendants(pid);
        processes.extend(Process::read(pid));
        Self { gateway, mark, processes }
    }

    fn signal(&mut self, name: &str) {
        send(name, self.gateway.pid());
    }

    /// Waits until the gateway and then all its processes have ended.
    fn wait_for_exit(mut self) -> ExitStatus {
        let status = self.gateway.session.client().wait(TIMEOUT).expect("the gateway ends");
        let left = || -> Vec<&Process> {
            self.processes.iter().filter(|process| is_alive(process.pid)).collect()
        };
        assert!(wait_until(TIMEOUT, || left().is_empty()), "left behind: {:#?}", left());
        assert_eq!(process::marked(&self.mark), []);
        status
    }
}

fn send(signal: &str, pid: u32) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn the_end_of_stdin_ends_everything() {
    let mut busy = BusyGateway::new();
    busy.gateway.session.client().close_stdin();
    assert_eq!(busy.wait_for_exit().code(), Some(0));
}

#[test]
fn sigterm_ends_everything() {
    let mut busy = BusyGateway::new();
    busy.signal("-TERM");
    assert_eq!(busy.wait_for_exit().code(), Some(0));
}

#[test]
fn sigint_ends_everything() {
    let mut busy = BusyGateway::new();
    busy.signal("-INT");
    assert_eq!(busy.wait_for_exit().code(), Some(0));
}

#[test]
fn sigkill_ends_everything() {
    let mut busy = BusyGateway::new();
    busy.signal("-KILL");
    assert_eq!(busy.wait_for_exit().code(), None);
}

#[test]
fn a_killed_run_leaves_nobody() {
    let mark = process::unique_mark();
    let servers = [fixture("stubborn", &["--name", &mark, "--ignore-eof", "--spawn-grandchild"])];
    for (signal, code) in [("-INT", Some(130)), ("-TERM", None), ("-KILL", None)] {
        let home = Home::with_config(&json!({ "servers": servers }));
        let program = "await mcp__stubborn__add(1, 2)\nprint('on', flush=True)\nwhile True: pass";
        home.write("program.py", program);
        let mut run =
            Client::spawn(home.onecall_with_config(&["run", &home.text_path("program.py")]));
        assert_eq!(run.receive_line().as_deref(), Some("on"));
        let processes = descendants(run.pid());
        assert!(processes.len() >= 4, "guard, zygote, workers, server: {processes:#?}");
        send(signal, run.pid());
        assert_eq!(run.wait(TIMEOUT).expect("it ends").code(), code, "{signal}");
        let gone = || processes.iter().all(|process| !is_alive(process.pid));
        assert!(wait_until(TIMEOUT, gone), "{signal} leaves someone of {processes:#?}");
        assert!(wait_until(TIMEOUT, || process::marked(&mark).is_empty()), "{signal}");
    }
}

#[test]
fn a_server_that_ends_takes_its_children_along() {
    let mark = process::unique_mark();
    let mut gateway = Gateway::with_flags(&["--name", &mark, "--spawn-grandchild"]);
    gateway.callable_tools();
    let processes = process::marked(&mark);
    assert_eq!(processes.len(), 2);
    gateway.fails("await mcp__fixture__crash()");
    let gone = || processes.iter().all(|process| !is_alive(process.pid));
    assert!(wait_until(TIMEOUT, gone), "the grandchild is gone");
}

#[test]
fn a_cancelled_program_is_killed_with_its_calls() {
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
    let code = "
        import asyncio
        try:
            call = asyncio.create_task(mcp__fixture__hang())
            await mcp__fixture__nothing()
            while True: pass
        finally:
            await mcp__fixture__counter()
    ";
    let call = gateway.start(code);
    let hang = log.wait_for_call("hang");
    let worker = gateway.busy_worker();
    gateway.session.cancel(call);
    log.wait_for_cancel(&hang);
    assert!(wait_until(TIMEOUT, || !is_alive(worker)), "the worker is gone");
    assert_eq!(gateway.prints("print(await mcp__fixture__add(1, 2))"), "3\n");
    let calls = (log.calls("add"), log.calls("counter"));
    assert_eq!(calls, (1, 0), "a killed program makes no more calls");
}

#[test]
fn a_program_that_has_ended_leaves_no_process() {
    let mut gateway = Gateway::new();
    gateway.prints("print(await mcp__fixture__add(1, 2))");
    let zygote = gateway.zygote().pid;
    // The keeper of the process namespace and two workers; the one that was taken is replaced
    // a moment after its program.
    assert!(wait_until(TIMEOUT, || descendants(zygote).len() == 3), "all are there");
    let mut first: Vec<u32> = descendants(zygote).iter().map(|process| process.pid).collect();
    first.sort_unstable();
    // The oldest is the keeper.
    let (keeper, waiting) = first.split_first().unwrap();
    for _ in 0..=waiting.len() {
        gateway.prints("print(1)");
    }
    let gone = || waiting.iter().all(|pid| Process::read(*pid).is_none());
    assert!(!waiting.is_empty() && wait_until(TIMEOUT, gone), "not even a zombie");
    assert!(wait_until(TIMEOUT, || descendants(zygote).len() <= first.len()));
    assert!(is_alive(*keeper));
}

#[test]
fn an_engine_that_dies_is_replaced() {
    let mut gateway = Gateway::new();
    gateway.prints("print(1)");
    let zygote = gateway.zygote().pid;
    let are_waiting = || descendants(zygote).iter().all(|worker| worker.state == 'S');
    assert!(wait_until(TIMEOUT, are_waiting), "workers wait for programs");
    let workers = descendants(zygote);
    send("-KILL", zygote);
    let gone = || !is_alive(zygote) && workers.iter().all(|worker| !is_alive(worker.pid));
    assert!(wait_until(TIMEOUT, gone), "its workers die with it");
    assert_eq!(gateway.prints("print('again')"), "again\n");
    assert_ne!(gateway.zygote().pid, zygote);
}

#[test]
fn a_client_that_leaves_before_the_handshake_has_done_nothing_wrong() {
    let home = Home::new();
    let mut client = Client::spawn(home.onecall(&["serve"]));
    client.close_stdin();
    assert_eq!(client.wait(TIMEOUT).unwrap().code(), Some(0));
    assert_eq!(client.receive_line(), None);
}

#[test]
fn stdout_carries_nothing_but_the_protocol() {
    let flags = ["--stderr", "noise", "--garbage"];
    let servers = json!([fixture("fixture", &flags), { "name": "bad", "command": "/none" }]);
    let home = Home::with_config(&json!({ "servers": servers }));
    let mut client = Client::spawn(home.onecall_with_config(&["serve", "--log", "trace"]));
    let code = "import os, sys\nos.write(1, b'raw')\nprint('x', file=sys.__stdout__)\nprint('y')";
    let program = |id, code| {
        let params = json!({ "name": "execute_program", "arguments": { "code": code } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    for line in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        program(2, code),
        program(3, "import os\nos.system('echo from a shell')\nprint(1)"),
        program(4, "1 / 0"),
        json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 6, "method": "no/such/method" }),
    ] {
        client.send_line(&line.to_string());
    }
    let mut ids = Vec::new();
    while ids.len() < 6 {
        let line = client.receive_line().expect("a line for each request");
        let message: Value = serde_json::from_str(&line).expect("nothing but JSON");
        assert_eq!(message["jsonrpc"], "2.0");
        ids.push(message["id"].as_u64().expect("nothing but answers"));
    }
    client.close_stdin();
    assert_eq!(client.receive_line(), None);
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
}
