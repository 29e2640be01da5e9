//! Programs that wait for a person: what their agent reads, who may answer, and what happens to the
//! call. A server logs what it receives, so that every effect is counted.

mod answers;
mod clients;
mod differences;
mod expiry;
mod followers;
mod in_place;
mod leaving;
mod many;
mod places;
mod policies;
mod pruning;
mod restart;
mod store_trouble;
mod unknown_outcome;
pub mod webhook;
mod what_asks;

use std::path::PathBuf;
use std::sync::Arc;

use onecall_core::storage::{
    AnswerReceipt, Approvals as _, DurableRun, DurableState, JournalBatch, Journals as _, Lease,
    QuestionFilter, QuestionState, StoredQuestion,
};
use onecall_core::{
    AnsweredVerdict, ApprovalScope, ApprovalWay, ItemId, RunId, Timestamp, Verdict,
};
use onecall_store::SqliteStore;
use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::{Session, ToolAnswer};
use testkit::process::wait_until;

use crate::support::http_gateway::HttpGateway;
use crate::support::{Home, ReceivedMessages, TIMEOUT, dedent};

/// The file of the store in a home.
const STORE: &str = "home/state/onecall/onecall.db";

/// A server with a tool that deletes and one that reads.
pub fn files(log: &str) -> Value {
    let path = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tool = |name: &str, reads: bool| json!({ "name": name, "inputSchema": path, "annotations": { "readOnlyHint": reads } });
    let text =
        |text: &str| json!([{ "answer": { "content": [{ "type": "text", "text": text }] } }]);
    let script = json!({
        "tools": [tool("delete", false), tool("read", true), tool("stuck", false)],
        "on": {
            "tools/call delete": text("deleted"),
            "tools/call read": text("read"),
            "tools/call stuck": [],
        },
    });
    let args = ["--script", &script.to_string(), "--log", log];
    json!({ "name": "files", "command": bins::fixture_server(), "args": args })
}

/// A user with approvals, and a look into the store.
struct Desk {
    home: Home,
    store_file: PathBuf,
    received: ReceivedMessages,
}

impl Desk {
    /// A configuration in which deleting needs an approval, with more settings of approvals.
    fn new(approvals: &Value) -> Self {
        Self::with_config(approvals, &json!({}))
    }

    fn with_config(approvals: &Value, more: &Value) -> Self {
        let home = Home::new();
        let mut settings = json!({ "ask": ["mcp__files__delete"], "wait_seconds": 60 });
        extend(&mut settings, approvals);
        let mut config =
            json!({ "servers": [files(&home.text_path("received"))], "approvals": settings });
        extend(&mut config, more);
        home.write("config.json", config.to_string());
        let received = ReceivedMessages::in_file(home.path("received"));
        Self { store_file: home.path(STORE), home, received }
    }

    /// The store of a gateway that is served over HTTP.
    fn of(gateway: &HttpGateway) -> Self {
        let received = ReceivedMessages::in_file(gateway.home.path("received"));
        Self { home: Home::new(), store_file: gateway.home.path(STORE), received }
    }

    /// An agent on a gateway of its own.
    fn agent(&self) -> Agent {
        Agent(Session::open(self.home.onecall_with_config(&["serve"])))
    }

    fn store(&self) -> Arc<SqliteStore> {
        onecall_store::open_durable(self.store_file.clone(), 256)
    }

    /// Waits until this many questions are open, and returns them.
    fn open_questions(&self, count: usize) -> Vec<StoredQuestion> {
        let store = self.store();
        let mut open = Vec::new();
        wait_until(TIMEOUT, || {
            let filter = QuestionFilter { run: None, open: true, ..QuestionFilter::default() };
            open = store.questions(&filter).unwrap_or_default();
            open.len() == count
        });
        assert_eq!(open.len(), count, "{open:?}");
        // Parallel calls ask within the same millisecond.
        open.sort_by_key(|stored| stored.question.call);
        open
    }

    fn open_item(&self) -> ItemId {
        self.open_questions(1).remove(0).question.item
    }

    fn answer(&self, item: &ItemId, verdict: Verdict) -> AnswerReceipt {
        self.answer_by(item, verdict, ApprovalWay::Cli)
    }

    fn answer_by(&self, item: &ItemId, verdict: Verdict, way: ApprovalWay) -> AnswerReceipt {
        let (by, at) = ("tester".to_owned(), Timestamp::now());
        let answer = AnsweredVerdict { verdict, by, way, at };
        self.store().answer_question(item, &answer).expect("the store can be written")
    }

    fn approve(&self, item: &ItemId) {
        assert_eq!(self.answer(item, approval()), AnswerReceipt::Accepted);
    }

    fn deny(&self, item: &ItemId, reason: &str) {
        let verdict = Verdict::Deny { reason: Some(reason.to_owned()) };
        assert_eq!(self.answer(item, verdict), AnswerReceipt::Accepted);
    }

    /// Stores a copy of a run that waits, with its journal and without a process, and returns its id.
    fn add_copy(&self, template: &DurableRun, id: &str) -> RunId {
        let run = RunId::from_existing(id);
        let lease = Lease { owner: "copier".to_owned(), fence: 1, until: Timestamp::now() };
        let copy = DurableRun {
            id: run.clone(),
            state: DurableState::Waiting,
            lease: Some(lease),
            ..template.clone()
        };
        let store = self.store();
        store.add_durable_runs(&[&copy]).expect("the store can be written");
        let events = store.journal(&template.id).expect("a store").events;
        let batch = JournalBatch { run: run.clone(), fence: 1, first: 0, events };
        assert_eq!(store.append(&[batch]).expect("the store can be written"), [Ok(())]);
        store.give_up_lease(&run, 1).expect("the store can be written");
        run
    }

    /// Ends the leases of a gateway that was killed, which would otherwise last some seconds more.
    fn end_leases(&self) {
        let store = self.store();
        for run in store.durable_runs(false).expect("a store") {
            let Some(lease) = run.lease else { continue };
            store.give_up_lease(&run.id, lease.fence).expect("the store can be written");
        }
    }

    /// The only run that has not ended.
    fn only_run(&self) -> DurableRun {
        let mut runs = self.store().durable_runs(false).expect("a store");
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// The answer of a run that has ended.
    fn final_text(&self, run: &RunId) -> String {
        self.wait_until_ended(run.as_str());
        let DurableState::Ended(answer) = self.state(run.as_str()) else { return String::new() };
        let answer: Value = serde_json::from_str(&answer.result).expect("JSON");
        answer["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    fn state(&self, run: &str) -> DurableState {
        let run = self.store().durable_run(&RunId::from_existing(run)).expect("a store");
        run.expect("the run is stored").state
    }

    fn wait_until_ended(&self, run: &str) {
        let has_ended = || matches!(self.state(run), DurableState::Ended(_));
        assert!(wait_until(TIMEOUT, has_ended), "{:?}", self.state(run));
    }

    fn question_state(&self, item: &ItemId) -> QuestionState {
        self.store().question(item).expect("a store").expect("a question").state
    }

    /// How often the server was told to delete something.
    fn deletions(&self) -> usize {
        self.received.calls("delete")
    }
}

fn extend(value: &mut Value, more: &Value) {
    for (key, more) in more.as_object().into_iter().flatten() {
        value[key] = more.clone();
    }
}

fn approval() -> Verdict {
    Verdict::Approve { scope: ApprovalScope::Once, arguments: None }
}

/// An agent that runs programs.
struct Agent(Session);

impl Agent {
    fn start(&mut self, code: &str) -> testkit::mcp::CallId {
        self.0.start_call("execute_program", json!({ "code": dedent(code) }))
    }

    fn execute(&mut self, code: &str) -> ToolAnswer {
        let call = self.start(code);
        self.0.finish_call(call)
    }

    fn resume(&mut self, run: &str) -> ToolAnswer {
        self.0.call_tool("continue_program", json!({ "run": run }))
    }
}

/// The run that an answer says is waiting.
fn waiting_run(answer: &ToolAnswer) -> String {
    let run = answer.text.strip_prefix("[Script waiting for approval]\nrun: ");
    let run = run.and_then(|rest| rest.lines().next());
    assert!(!answer.is_error);
    run.unwrap_or_else(|| panic!("it does not wait: {}", answer.text)).to_owned()
}

const DELETE_ONE: &str = r#"
    print("before")
    print(await mcp__files__delete(path="/a"))
    print("after")
"#;

const DELETED_ONE: &str = "[Script executed successfully]\nbefore\ndeleted\nafter\n";
