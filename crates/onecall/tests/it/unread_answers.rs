//! A client on the standard streams that does not read its answers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::process::{Process, wait_until};

use crate::support::{Home, ReceivedMessages, TIMEOUT, fixture};

const MEGABYTE: u64 = 1024 * 1024;

/// When no further program runs for this long, the client is taken to be stopped. If the
/// machine was only slow, it reads earlier than it had to.
const STOPPED: Duration = Duration::from_secs(4);

/// Its call says when it has printed everything.
const LARGE: &str = "print('x' * 4_000_000)\nawait mcp__fixture__add(1, 2)";

struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_client_that_stops_reading_stops_only_itself() {
    const PROGRAMS: usize = 26;
    let home = Home::new();
    let server = fixture("fixture", &["--log", &home.text_path("received")]);
    let execution = json!({ "max_output_bytes": 8 * MEGABYTE });
    home.write("config.json", json!({ "servers": [server], "execution": execution }).to_string());
    let received = ReceivedMessages::in_file(home.path("received"));
    let mut command = home.onecall_with_config(&["serve"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = KilledOnDrop(child.spawn().expect("onecall starts"));
    let mut stdin = child.0.stdin.take().expect("its input");
    let mut stdout = BufReader::new(child.0.stdout.take().expect("its output"));
    let mut message = |value: &Value| writeln!(stdin, "{value}").expect("it reads");
    message(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "deaf", "version": "1" },
    } }));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a greeting");
    message(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));

    let pid = child.0.id();
    let peak = || Process::read(pid).and_then(|it| it.peak_bytes()).unwrap();
    let before = peak();
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        // One after the other, and none of them read.
        scope.spawn(|| {
            for id in 1..=PROGRAMS {
                let params = json!({ "name": "execute_program", "arguments": { "code": LARGE } });
                let call = json!({
                    "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params,
                });
                writeln!(stdin, "{call}").expect("it reads, sooner or later");
                sent.store(id, Ordering::Relaxed);
                wait_until(2 * TIMEOUT, || received.calls("add") >= id);
            }
        });
        let ran = || received.calls("add");
        let mut seen = ran();
        while seen < PROGRAMS && wait_until(STOPPED, || ran() > seen) {
            seen = ran();
        }
        assert!(seen < PROGRAMS, "nothing has stopped it");
        let grown = peak().saturating_sub(before) / MEGABYTE;
        assert!(grown < 150, "{grown} MB for {seen} answers of 4 MB");
        let mut ids: Vec<u64> = (0..PROGRAMS)
            .map(|_| {
                let mut line = String::new();
                stdout.read_line(&mut line).expect("an answer");
                let answer: Value = serde_json::from_str(&line).expect("a message");
                let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
                assert_eq!(text.len(), "[Script executed successfully]\n".len() + 4_000_001);
                answer["id"].as_u64().unwrap()
            })
            .collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(1..=PROGRAMS as u64), "every answer comes, once");
        assert_eq!(sent.load(Ordering::Relaxed), PROGRAMS);
    });
}
