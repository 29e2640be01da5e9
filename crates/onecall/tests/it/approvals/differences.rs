//! Continued runs that cannot be what they were: the program, a tool or the journal is another one.
//! They stop before anything is executed.

use onecall_core::RunId;
use onecall_core::storage::{DurableRun, DurableState, Journals as _};
use serde_json::{Value, json};
use testkit::process::wait_until;

use super::{Agent, DELETE_ONE, DELETED_ONE, Desk, STORE, waiting_run};
use crate::support::{CommandResult, TIMEOUT, finish};

const READ_AND_DELETE: &str = r#"
    print(await mcp__files__read(path="/a"))
    print(await mcp__files__delete(path="/a"))
"#;

/// A run that has read something, waits to delete it, and has lost its gateway.
fn left_waiting() -> (Desk, RunId) {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(READ_AND_DELETE));
    end(agent);
    (desk, RunId::from_existing(run))
}

fn end(mut agent: Agent) {
    agent.0.client().close_stdin();
    assert!(agent.0.client().wait(TIMEOUT).is_some());
}

impl Desk {
    /// Changes the configuration.
    fn change_config(&self, change: impl FnOnce(&mut Value)) {
        let config = std::fs::read_to_string(self.home.path("config.json")).expect("a file");
        let mut config: Value = serde_json::from_str(&config).expect("JSON");
        change(&mut config);
        self.home.replace_config(&config);
    }

    fn resume_on_command_line(&self, run: &RunId, options: &[&str]) -> CommandResult {
        let arguments = [&["resume", run.as_str()], options].concat();
        finish(self.home.onecall_with_config(&arguments))
    }

    /// Continues a run, and checks that it stops for this reason.
    fn check_stops(&self, run: &RunId, reason: &str) {
        let answer = self.agent().resume(run.as_str());
        assert!(answer.is_error && answer.text.contains(reason), "{}", answer.text);
        assert_eq!((self.deletions(), self.received.calls("read")), (0, 1));
    }
}

#[test]
fn another_definition_of_a_tool_stops_the_run() {
    let (desk, run) = left_waiting();
    desk.approve(&desk.open_item());
    desk.change_config(|config| {
        let script = &mut config["servers"][0]["args"][1];
        let mut tools: Value = serde_json::from_str(script.as_str().expect("text")).expect("JSON");
        tools["tools"][0]["inputSchema"]["properties"]["force"] = json!({ "type": "boolean" });
        *script = json!(tools.to_string());
    });
    // The arguments of its server are another configuration, too.
    let resumed = desk.resume_on_command_line(&run, &["--any-configuration"]);
    let reason = "the definition of 'mcp__files__delete' has changed since the call";
    assert!(resumed.code == Some(1) && resumed.stdout.contains(reason), "{resumed:?}");
    assert_eq!((desk.deletions(), desk.received.calls("read")), (0, 1));
}

/// Two projects may share a store, and have servers of the same name.
#[test]
fn a_run_of_another_configuration_is_continued_only_if_a_person_says_so() {
    let (desk, run) = left_waiting();
    desk.approve(&desk.open_item());
    desk.change_config(|config| config["tools"] = json!({ "block": ["mcp__files__stuck"] }));
    let reason = format!(
        "run {run} is not continued: it began with another configuration, which has other servers, tools \
         or rules. `onecall resume {run}` continues it: with `--config` and the file that it began with, \
         or with `--any-configuration` and the servers and rules of this one"
    );
    let mut agent = desk.agent();
    let refused = agent.resume(run.as_str());
    assert_eq!(refused.text, format!("[Script execution failed]\n{reason}"));
    end(agent);
    let refused = desk.resume_on_command_line(&run, &[]);
    assert_eq!((refused.code, refused.stderr), (Some(1), format!("error: {reason}\n")));
    assert_eq!((desk.deletions(), desk.received.calls("read")), (0, 1));
    let resumed = desk.resume_on_command_line(&run, &["--any-configuration"]);
    assert_eq!(resumed.stdout, "[Script executed successfully]\nread\ndeleted\n");
    assert_eq!((desk.deletions(), desk.received.calls("read")), (1, 1));
}

#[test]
fn another_program_stops_the_run() {
    let changes = [
        ("mcp__files__delete", "mcp__files__stuck", "uses the name 'mcp__files__stuck'"),
        (r#"delete(path=\"/a\")"#, r#"delete(path=\"/b\")"#, "with other arguments"),
        ("print(await mcp__files__delete", "await (mcp__files__delete", "it called it at line 2"),
    ];
    for (before, after, reason) in changes {
        let (desk, run) = left_waiting();
        let store = desk.store();
        let stored = store.durable_run(&run).expect("a store").expect("the run");
        let request = stored.request.replace(before, after);
        assert_ne!(request, stored.request);
        let changed = desk.add_copy(&DurableRun { request, ..stored }, "01changed00000");
        desk.check_stops(&changed, reason);
    }
}

#[test]
fn a_journal_that_is_damaged_in_the_middle_stops_the_run() {
    let (desk, run) = left_waiting();
    let events = desk.store().journal(&run).expect("a store").events.len();
    let database = rusqlite::Connection::open(desk.home.path(STORE)).expect("a store");
    let damage = "UPDATE journal_events SET head = '{}' WHERE number = 2";
    assert_eq!(database.execute(damage, []).expect("a damaged journal"), 1);
    drop(database);
    desk.approve(&desk.open_item());
    desk.check_stops(
        &run,
        &format!("its journal is damaged: of its {events} events only the first 2 can be read"),
    );
}

/// An answered run is not forgotten by a gateway that could not continue it at first.
#[test]
fn a_run_is_continued_once_its_configuration_is_back() {
    let desk = Desk::new(&json!({ "wait_seconds": 0, "keep_seconds": 0 }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(DELETE_ONE));
    let item = desk.open_item();
    end(agent);
    let block = |config: &mut Value| config["tools"] = json!({ "block": ["mcp__files__stuck"] });
    desk.change_config(block);
    let mut agent = desk.agent();
    desk.approve(&item);
    // When the gateway has continued a run that was answered later, it has seen this answer, too.
    let later = waiting_run(&agent.execute(DELETE_ONE));
    let is_let_go = || {
        let stored = desk.store().durable_run(&RunId::from_existing(&later)).expect("a store");
        stored.is_some_and(|it| it.state == DurableState::Waiting && it.lease.is_none())
    };
    assert!(wait_until(TIMEOUT, is_let_go));
    desk.approve(&desk.open_item());
    desk.wait_until_ended(&later);
    assert_eq!((desk.state(&run), desk.deletions()), (DurableState::Waiting, 1));
    let problem =
        format!("run {run} has been answered, but cannot be continued: it belongs to another");
    assert!(wait_until(TIMEOUT, || agent.0.client().stderr().contains(&problem)));
    desk.change_config(|config| _ = config.as_object_mut().map(|it| it.remove("tools")));
    desk.wait_until_ended(&run);
    assert_eq!(agent.resume(&run).text, DELETED_ONE);
    assert_eq!(desk.deletions(), 2);
    let log = agent.0.client().stderr();
    assert_eq!(log.matches(&problem).count(), 1, "{log}");
}
