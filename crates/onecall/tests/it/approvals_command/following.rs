//! `onecall approvals watch`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use onecall_core::{ItemId, QuestionKind};
use serde_json::{Value, json};

use super::Desk;
use crate::support::TIMEOUT;

/// A command that follows questions, and the lines that it prints.
struct Watching {
    process: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(desk: &Desk, arguments: &[&str]) -> Self {
        let arguments = [&["approvals", "watch"], arguments].concat();
        let mut command = desk.home.onecall_with_config(&arguments);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the command starts");
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { process, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(TIMEOUT).expect("a line")
    }

    fn event(&self) -> (Value, Value, Value) {
        let event: Value = serde_json::from_str(&self.line()).unwrap();
        let question = &event["question"];
        (event["event"].clone(), question["id"].clone(), question["answer"]["verdict"].clone())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

#[test]
fn questions_and_answers_are_printed_as_they_come() {
    let desk = Desk::new();
    let run = desk.add_waiting_run("1m7d000000000d", &[(1, "{\"id\":1}"), (2, "{}")]);
    assert_eq!(desk.approvals(&["approve", "1m7d.2"]).code, Some(0));
    let watching = Watching::start(&desk, &["--json"]);
    let item = |call: u64| json!(ItemId::of(&run, call).as_str());
    assert_eq!(watching.event(), (json!("asked"), item(1), Value::Null));
    let asked = Instant::now();
    desk.ask(&run, 3, QuestionKind::Approve, "{}");
    assert_eq!(watching.event(), (json!("asked"), item(3), Value::Null));
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!(desk.approvals(&["deny", "1m7d.3"]).code, Some(0));
    assert_eq!(watching.event(), (json!("answered"), item(3), json!("deny")));
    desk.store.withdraw_question(&ItemId::of(&run, 1)).unwrap();
    assert_eq!(watching.event(), (json!("withdrawn"), item(1), Value::Null));
}

#[test]
fn a_person_reads_one_line_for_each_event() {
    let desk = Desk::new();
    let run = desk.add_waiting_run("1m7d000000000d", &[(1, "{\"id\":\"\\u001b[2Kx\\ny\"}")]);
    let watching = Watching::start(&desk, &[]);
    assert_eq!(
        watching.line(),
        "? 1m7d000000000d.1  mcp__shop__delete_order, line 3  {\"id\":\"\\u001b[2Kx\\ny\"}"
    );
    desk.store.withdraw_question(&ItemId::of(&run, 1)).unwrap();
    assert_eq!(watching.line(), "- 1m7d000000000d.1  mcp__shop__delete_order, line 3  withdrawn");
}
