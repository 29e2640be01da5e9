#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::PathBuf;

use onecall_core::storage::{DurableState, FinalAnswer, Journals as _};
use onecall_core::{
    ApprovalQuestion, ApprovalWay, CallableName, ItemId, Principal, Program, QuestionKind,
    Timestamp,
};
use onecall_engine::EngineSettings;
use onecall_runtime::NoopObserver;
use onecall_store::SqliteStore;

use super::*;

/// Durable runs with a store of their own. Nothing can be executed.
struct World {
    folder: PathBuf,
    store: Arc<SqliteStore>,
    runs: Arc<DurableRuns>,
}

impl World {
    fn new(name: &str) -> Self {
        let folder = format!("onecall-test-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let store = onecall_store::open_durable(folder.join("onecall.db"), 1);
        let engines = Arc::new(Engines::new(EngineSettings::new(PathBuf::from("/nowhere"))));
        let runs = DurableRuns::start(&Config::default(), store.clone(), engines);
        Self { folder, store, runs }
    }

    /// A run that is in the store.
    async fn run(&self) -> Arc<LiveRun> {
        let request = RunRequest::Program { program: Program::new("print(1)"), file: None };
        let principal = Arc::new(Principal::local());
        let live = self.runs.begin(&request, &principal, &NoopObserver).unwrap();
        live.journal.stored().await.unwrap();
        live
    }
}

impl Drop for World {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_about_to_be_left_is_cancelled_in_the_store() {
    for reason in [StopReason::LetGo, StopReason::Shutdown] {
        let world = World::new(&format!("{reason:?}"));
        let live = world.run().await;
        live.stop(reason);
        assert!(world.runs.cancel(&live.id).await.unwrap());
        let stored = world.store.durable_run(&live.id).unwrap().unwrap();
        let cancelled = RunAnswer::cancelled().to_json();
        assert!(
            matches!(&stored.state, DurableState::Ended(FinalAnswer { result, .. }) if *result == cancelled),
            "{stored:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_executed_ends_by_itself_when_it_is_cancelled() {
    let world = World::new("cancelled");
    let live = world.run().await;
    assert!(world.runs.cancel(&live.id).await.unwrap());
    assert_eq!(live.stop_reason(), Some(StopReason::Cancelled));
    let stored = world.store.durable_run(&live.id).unwrap().unwrap();
    assert_eq!(stored.state, DurableState::Running);
}

/// A run that this gateway executes and that asks finds its answer in the store at the next look.
#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_looked_at_in_less_than_half_a_second_while_a_question_is_open() {
    let world = World::new("looks");
    let live = world.run().await;
    let now = Timestamp::now();
    let question = ApprovalQuestion {
        item: ItemId::of(&live.id, 1),
        run: live.id.clone(),
        call: 1,
        kind: QuestionKind::Approve,
        name: CallableName::new("mcp__s__t"),
        line: None,
        arguments: "{}".to_owned(),
        rule: String::new(),
        asked: now,
        expires: now.after(Duration::from_secs(60)),
        ways: vec![ApprovalWay::Cli],
    };
    assert!(world.runs.look_interval() >= Duration::from_millis(500));
    let desk = Desk(Arc::clone(&world.runs));
    let mut changes = world.runs.changes.subscribe();
    let asking = tokio::spawn(async move {
        use onecall_runtime::ApprovalDesk as _;
        desk.ask(question).await
    });
    while !live.is_waiting() {
        changes.changed().await.unwrap();
    }
    assert!(world.runs.look_interval() < Duration::from_millis(500));
    asking.abort();
    _ = asking.await;
    assert!(world.runs.look_interval() >= Duration::from_millis(500));
}
