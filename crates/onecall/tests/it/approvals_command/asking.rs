//! The question of `onecall run` on a terminal, and `onecall resume`.

use std::process::{Child, Stdio};
use std::sync::Arc;

use onecall_core::storage::{Approvals as _, QuestionFilter, QuestionState, StoredQuestion};
use onecall_store::SqliteStore;
use serde_json::{Value, json};
use testkit::bins;
use testkit::process::wait_until;

use crate::support::terminal::Terminal;
use crate::support::{Home, TIMEOUT, finish};

/// A home in which deleting needs an approval. The server writes what it receives to `received`.
fn home(approvals: &Value) -> Home {
    let home = Home::new();
    let path = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let script = json!({
        "tools": [{ "name": "delete", "inputSchema": path }],
        "on": { "tools/call delete": [{ "answer": { "content": [{ "type": "text", "text": "gone" }] } }] },
    });
    let args = ["--script", &script.to_string(), "--log", &home.text_path("received")];
    let server = json!({ "name": "files", "command": bins::fixture_server(), "args": args });
    let mut settings = json!({ "ask": ["mcp__files__delete"] });
    settings.as_object_mut().unwrap().extend(approvals.as_object().unwrap().clone());
    home.write("config.json", json!({ "servers": [server], "approvals": settings }).to_string());
    home.write(
        "program.py",
        "try:\n    print('did', await mcp__files__delete(path='a'))\n\
         except ToolError as error:\n    print('did not:', error)\n",
    );
    home
}

/// How often the tool was called.
fn calls(home: &Home) -> usize {
    let received = std::fs::read_to_string(home.path("received")).unwrap_or_default();
    received.lines().filter(|line| line.contains("\"tools/call\"")).count()
}

fn store(home: &Home) -> Arc<SqliteStore> {
    let file = home.path("home/state/onecall/onecall.db");
    onecall_store::open_durable(file, 256)
}

/// The only question of a home, once it is open.
fn open_question(home: &Home) -> StoredQuestion {
    let mut found = None;
    let is_there = wait_until(TIMEOUT, || {
        let questions = store(home).questions(&QuestionFilter {
            run: None,
            open: true,
            ..QuestionFilter::default()
        });
        found = questions.unwrap_or_default().pop();
        found.is_some()
    });
    assert!(is_there, "no question was asked");
    found.unwrap()
}

fn on_terminal(home: &Home) -> Terminal {
    Terminal::start(&home.onecall_with_config(&["run", &home.text_path("program.py")]))
}

const PROMPT: &str = "d for details] ";

#[test]
fn a_person_at_the_terminal_approves() {
    let home = home(&json!({}));
    let mut terminal = on_terminal(&home);
    let asked = terminal.read_until(PROMPT);
    assert!(asked.contains("'mcp__files__delete'") && asked.contains("waits for an approval"));
    assert!(asked.contains(r#"{"path":"a"}"#), "{asked}");
    terminal.type_keys("what?\n");
    assert!(terminal.read_until(PROMPT).contains("Type y to make the call"));
    terminal.type_keys("d\n");
    let details = terminal.read_until(PROMPT);
    assert!(details.contains("rule      approvals.ask: mcp__files__delete"), "{details}");
    assert_eq!(calls(&home), 0);
    terminal.type_keys("y\n");
    let (rest, code) = terminal.finish();
    assert!(rest.contains("did gone"), "{rest}");
    assert_eq!((code, calls(&home)), (Some(0), 1));
}

#[test]
fn a_person_at_the_terminal_denies_with_a_reason() {
    let home = home(&json!({}));
    let mut terminal = on_terminal(&home);
    terminal.read_until(PROMPT);
    terminal.type_keys("n not today\n");
    let (rest, code) = terminal.finish();
    assert!(rest.contains("did not:") && rest.contains("not today"), "{rest}");
    assert_eq!((code, calls(&home)), (Some(0), 0));
    let questions = store(&home).questions(&QuestionFilter::default()).unwrap();
    let QuestionState::Answered(answer) = &questions[0].state else { panic!("{questions:?}") };
    assert_eq!((answer.way.name(), answer.by.as_str()), ("cli", super::user().as_str()));
}

#[test]
fn an_answer_from_elsewhere_ends_the_question() {
    let home = home(&json!({}));
    let mut terminal = on_terminal(&home);
    terminal.read_until(PROMPT);
    let item = open_question(&home).question.item;
    let approved = home.onecall_with_config(&["approvals", "approve", item.as_str()]);
    assert_eq!(finish(approved).code, Some(0));
    let (rest, code) = terminal.finish();
    assert!(rest.contains("did gone"), "{rest}");
    assert_eq!((code, calls(&home)), (Some(0), 1));
}

/// Starts the program without a terminal.
fn in_background(home: &Home) -> Child {
    let mut command = home.onecall_with_config(&["run", &home.text_path("program.py")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn without_a_terminal_it_says_how_to_answer() {
    let home = home(&json!({}));
    let running = in_background(&home);
    let item = open_question(&home).question.item;
    let approved = home.onecall_with_config(&["approvals", "approve", item.as_str()]);
    assert_eq!(finish(approved).code, Some(0));
    let ended = running.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    let line = format!(
        "waits for an approval; `onecall approvals show {}` says how to answer\n",
        item.as_str()
    );
    assert!(said.contains("onecall: 'mcp__files__delete'") && said.contains(&line), "{said}");
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "did gone\n");
    assert_eq!(calls(&home), 1);
}

#[test]
fn a_run_that_was_killed_is_resumed_once() {
    let home = home(&json!({}));
    let mut running = in_background(&home);
    let StoredQuestion { question, .. } = open_question(&home);
    running.kill().unwrap();
    running.wait().unwrap();
    let approved = home.onecall_with_config(&["approvals", "approve", question.run.as_str()]);
    assert_eq!(finish(approved).code, Some(0));
    let resume = || finish(home.onecall_with_config(&["resume", question.run.as_str()]));
    let mut ended = None;
    // The lease of the killed process has to end first.
    let is_resumed = wait_until(2 * TIMEOUT, || {
        let result = resume();
        let is_owned = result.stderr.contains("another onecall executes the run");
        ended = Some(result);
        !is_owned
    });
    let ended = ended.unwrap();
    assert!(is_resumed, "{ended:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout, "[Script executed successfully]\ndid gone\n");
    assert_eq!(calls(&home), 1);
    let listed = finish(home.onecall_with_config(&["runs", "--json"]));
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["id"], json!(question.run.as_str()), "{listed:#}");
    assert_eq!(
        (&listed[0]["outcome"], &listed[0]["resumed"], listed.as_array().unwrap().len()),
        (&json!("ok"), &json!(true), 1)
    );
    let again = resume();
    assert_eq!(again.code, Some(1));
    let message = format!("error: run {} is not continued: the run has ended\n", question.run);
    assert_eq!(again.stderr, message);
}
