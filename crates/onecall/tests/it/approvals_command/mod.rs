//! `onecall approvals`, `onecall cancel` and the states in `onecall runs`, on a store that a test
//! fills as a gateway does.

mod answering;
mod asking;
mod following;
mod grants;
mod unfinished_runs;

use std::sync::Arc;
use std::time::Duration;

use onecall_core::storage::{DurableRun, DurableState, DurableStore, Lease};
use onecall_core::{
    ApprovalQuestion, ApprovalWay, CallableName, ItemId, Principal, QuestionKind, RunId, Timestamp,
};
use serde_json::{Value, json};

use crate::support::{CommandResult, Home, finish};

const SECRET: &str = "sk-very-secret-1";

/// A home with a store.
struct Desk {
    home: Home,
    store: Arc<dyn DurableStore>,
}

impl Desk {
    fn new() -> Self {
        Self::with_approvals(&json!({ "ask": ["mcp__*__delete_*"] }))
    }

    fn with_approvals(approvals: &Value) -> Self {
        let server = json!({ "name": "shop", "command": "none", "env": { "API_KEY": SECRET } });
        let config = json!({ "servers": [server], "approvals": approvals });
        let home = Home::with_config(&config);
        let file = home.path("home/state/onecall/onecall.db");
        Self { store: onecall_store::open_durable(file, 256), home }
    }

    fn onecall(&self, arguments: &[&str]) -> CommandResult {
        finish(self.home.onecall_with_config(arguments))
    }

    /// Runs `onecall approvals`.
    fn approvals(&self, arguments: &[&str]) -> CommandResult {
        self.onecall(&[&["approvals"], arguments].concat())
    }

    /// What `onecall approvals` prints as JSON, and its exit code.
    fn json(&self, arguments: &[&str]) -> (Option<i32>, Value) {
        let ended = self.approvals(&[arguments, &["--json"]].concat());
        let value = serde_json::from_str(&ended.stdout);
        (ended.code, value.unwrap_or_else(|_| panic!("JSON on stdout: {ended:?}")))
    }

    /// Adds a run whose lease ends at this time.
    fn add_run(&self, id: &str, lease_until: Timestamp) -> RunId {
        let run = RunId::from_existing(id);
        let lease = Lease { owner: "gateway".to_owned(), fence: 1, until: lease_until };
        let request = json!({ "kind": "program", "code": "await mcp__shop__delete_order(id=1)" });
        let stored = DurableRun {
            id: run.clone(),
            kind: "program".to_owned(),
            principal: Principal::local(),
            client: "claude-code 2.0".to_owned(),
            started: Timestamp::now().before(Duration::from_secs(310)),
            request: request.to_string(),
            configuration: "c".to_owned(),
            seed: [7; 32],
            state: DurableState::Running,
            in_place: None,
            lease: Some(lease),
            resumed: 0,
            interruptions: 0,
        };
        self.store.add_durable_runs(&[&stored]).unwrap();
        run
    }

    /// Adds a run that waits for an answer to each of these calls.
    fn add_waiting_run(&self, id: &str, calls: &[(u64, &str)]) -> RunId {
        let run = self.add_run(id, in_an_hour());
        for (call, arguments) in calls {
            self.ask(&run, *call, QuestionKind::Approve, arguments);
        }
        assert!(self.store.set_waiting(&run, 1, true).unwrap());
        run
    }

    fn ask(&self, run: &RunId, call: u64, kind: QuestionKind, arguments: &str) -> ItemId {
        let item = ItemId::of(run, call);
        let question = ApprovalQuestion {
            item: item.clone(),
            run: run.clone(),
            call,
            kind,
            name: CallableName::new("mcp__shop__delete_order"),
            line: Some(3),
            arguments: arguments.to_owned(),
            rule: "approvals.ask: mcp__*__delete_*".to_owned(),
            asked: Timestamp::now().before(Duration::from_secs(210)),
            expires: Timestamp::now().after(Duration::from_secs(7 * 86_400 - 60)),
            ways: ApprovalWay::CONFIGURABLE.to_vec(),
        };
        self.store.add_question(&question, None).unwrap();
        item
    }

    /// What the store says about a question, in the words of the command.
    fn state(&self, id: &str) -> Value {
        let (code, mut shown) = self.json(&["show", id]);
        assert_eq!(code, Some(0));
        let mut shown = shown[0].take();
        match shown["answer"].take() {
            Value::Null => shown["state"].take(),
            mut answer => {
                answer.as_object_mut().unwrap().remove("at");
                answer
            }
        }
    }
}

fn in_an_hour() -> Timestamp {
    Timestamp::now().after(Duration::from_secs(3_600))
}

/// The name of the user that runs the tests, as the commands find it.
fn user() -> String {
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let id = String::from_utf8(std::process::Command::new("id").arg("-u").output().unwrap().stdout);
    let id = id.unwrap().trim().to_owned();
    let is_user = |line: &&str| line.split(':').nth(2) == Some(&id);
    let line = accounts.lines().find(is_user).map(str::to_owned);
    line.map_or(format!("user {id}"), |line| line.split(':').next().unwrap().to_owned())
}
