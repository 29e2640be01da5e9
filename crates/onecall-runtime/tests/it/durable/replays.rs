//! Records of runs with everything that a replay needs, and replays of them.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::storage::{ReplayData, Retention, RunDetail, RunLookup, RunRecord, Store};
use onecall_core::{JournalEvent, Language, Outcome, Program, RunLimits, Timestamp};
use onecall_runtime::{
    Journal, NoopObserver, RecordSettings, Recorder, Redactor, RunOptions, Runtime, StoreWriter,
    stack,
};
use serde_json::Value;

use super::desk::{Desk, approve};
use super::world::{Process, Tools, word};

const A_CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

const TIMEOUT: Duration = Duration::from_secs(60);

/// A store, and the recorder that writes to it.
struct Records {
    folder: tempfile::TempDir,
    writer: Arc<StoreWriter>,
    recorder: Arc<Recorder>,
}

impl Records {
    fn new(detail: RunDetail) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = onecall_store::open(folder.path().join("onecall.db"));
        let writer = Arc::new(StoreWriter::start(store));
        let settings = RecordSettings {
            detail: Some(detail),
            retention: Retention { max_age: A_CENTURY, max_bytes: u64::MAX / 2 },
            report_savings: false,
            redactor: Redactor::new([]),
        };
        let recorder = Recorder::start(settings, Some(writer.clone())).unwrap();
        Self { folder, writer, recorder }
    }

    /// The only run, after everything has been written.
    fn only_run(self) -> RunRecord {
        self.recorder.close(TIMEOUT);
        assert!(self.writer.close(TIMEOUT));
        let store: Arc<dyn Store> = onecall_store::open(self.folder.path().join("onecall.db"));
        match store.find_run("").unwrap() {
            RunLookup::One(record) => *record,
            other => panic!("{other:?}"),
        }
    }
}

fn events(record: &RunRecord) -> &[JournalEvent] {
    match &record.replay {
        ReplayData::Journal(journal) => &journal.events,
        other => panic!("{other:?}"),
    }
}

/// Replays a run with tools that count their effects, on a runtime that asks and records.
async fn replayed(record: &RunRecord, program: &Program) -> (Outcome, Arc<Journal>) {
    let ReplayData::Journal(recorded) = record.replay.clone() else { panic!("no journal") };
    let records = Records::new(RunDetail::Full);
    let process = Process::new(Desk::default());
    // Definitions are not compared: no tool is called.
    *process.tools.description.lock().unwrap() = "Another tool";
    let runtime = process.runtime.with_recorder(Some(records.recorder.clone()));
    let journal = Journal::replay(record.run.id.clone(), record.run.started, recorded);
    let options = RunOptions::journalled(journal.clone());
    let run = runtime.run_with(program, &options, &NoopObserver);
    let outcome = tokio::time::timeout(TIMEOUT, run).await.expect("the replay ends");
    assert_eq!(process.tools.effects(), Vec::<Value>::new());
    assert_eq!((process.tools.reads(), process.desk.questions()), (0, Vec::new()));
    records.recorder.close(TIMEOUT);
    assert!(records.writer.close(TIMEOUT));
    let runs = records.writer.store().runs(&onecall_core::storage::RunFilter::default()).unwrap();
    assert_eq!(runs, [], "a replay is not recorded");
    (outcome, journal)
}

const PARALLEL: &str = "
import asyncio, random, time
async def one(id):
    await asyncio.sleep(random.random() / 100)
    answer = await mcp__s__pay(id=id, of=random.random())
    print(answer, time.time())
await asyncio.gather(*(one(id) for id in range(6)))
try:
    await mcp__s__read(id=13)
except ToolError as error:
    print(error, random.random())
";

#[tokio::test]
async fn a_run_without_a_durable_journal_is_replayed_from_its_record() {
    let records = Records::new(RunDetail::Full);
    let process = Process::new(Desk::default());
    let runtime = process.runtime.with_recorder(Some(records.recorder.clone()));
    let program = Program::new(PARALLEL);
    let outcome = runtime.run(&program, &NoopObserver).await;
    assert_eq!(outcome.result, Ok(()));
    // Nothing went to the store of durable runs.
    assert!(process.store.events().is_empty());
    let record = records.only_run();
    let (again, journal) = replayed(&record, &program).await;
    assert_eq!((again.result, again.stdout.text), (Ok(()), outcome.stdout.text));
    assert_eq!((journal.unrepeated_calls(), journal.divergence()), (0, None));
}

#[tokio::test]
async fn a_continued_run_is_recorded_with_all_its_events() {
    let code = "
import random
print(random.random(), await mcp__s__pay(id=1))
print(await mcp__s__delete(id=2), random.random())";
    let program = Program::new(code);
    let process = Process::new(Desk::default());
    tokio::select! {
        outcome = process.run(&program) => panic!("it did not wait: {outcome:?}"),
        _ = process.desk.asked(1) => {}
    }
    let mut next = process.killed().await;
    let records = Records::new(RunDetail::Full);
    next.runtime = next.runtime.with_recorder(Some(records.recorder.clone()));
    next.desk.answer(&next.desk.questions()[0].item, approve());
    let outcome = next.run(&program).await;
    assert_eq!(outcome.result, Ok(()));
    let journalled = next.journal_words().await;
    let record = records.only_run();
    let recorded: Vec<String> = events(&record).iter().map(word).collect();
    assert_eq!(recorded, journalled);
    let (again, _) = replayed(&record, &program).await;
    assert_eq!((again.result, again.stdout.text), (Ok(()), outcome.stdout.text));
}

#[tokio::test]
async fn a_run_that_is_dropped_is_recorded_with_its_journal() {
    let records = Records::new(RunDetail::Full);
    let process = Process::new(Desk::default());
    process.tools.gate.send_replace(false);
    let runtime = process.runtime.with_recorder(Some(records.recorder.clone()));
    let program = Program::new("await mcp__s__pay(id=1)\nawait mcp__s__slow_pay(id=2)");
    let mut at_gate = process.tools.at_gate.subscribe();
    tokio::select! {
        outcome = runtime.run(&program, &NoopObserver) => panic!("it ended: {outcome:?}"),
        _ = at_gate.wait_for(|count| *count == 1) => {}
    }
    let record = records.only_run();
    assert_eq!(record.run.outcome, "cancelled");
    let ends = events(&record).iter().filter(|it| matches!(it, JournalEvent::Ended { .. }));
    assert_eq!(ends.count(), 1);
}

#[tokio::test]
async fn other_records_have_no_journal() {
    let records = Records::new(RunDetail::Metadata);
    let process = Process::new(Desk::default());
    let runtime = process.runtime.with_recorder(Some(records.recorder.clone()));
    runtime.run(&Program::new("await mcp__s__pay(id=1)"), &NoopObserver).await;
    assert_eq!(records.only_run().replay, ReplayData::None);
}

/// The calls of a replay are answered in the recorded order, or it stops.
#[tokio::test]
async fn a_replay_of_another_program_stops() {
    let code = "print(await mcp__s__pay(id=1))\nprint(await mcp__s__pay(id=2))";
    let records = Records::new(RunDetail::Full);
    let process = Process::new(Desk::default());
    let runtime = process.runtime.with_recorder(Some(records.recorder.clone()));
    runtime.run(&Program::new(code), &NoopObserver).await;
    let record = records.only_run();
    for (code, expected, left) in [
        (
            "print(await mcp__s__pay(id=2))\nprint(await mcp__s__pay(id=1))",
            "(line 1): it calls 'mcp__s__pay' with other arguments",
            2,
        ),
        (
            "print(await mcp__s__pay(id=1))\nprint(await mcp__s__pay(id=2))\nawait mcp__s__pay(id=3)",
            "in line 3 the program calls 'mcp__s__pay', and in the recorded run it waited for answers",
            0,
        ),
        (
            "print(await mcp__s__pay(id=1))",
            "the program ends, and in the recorded run it made a call at this point; its next call was \
             that of 'mcp__s__pay' in line 2. A replay",
            1,
        ),
    ] {
        let (outcome, journal) = replayed(&record, &Program::new(code)).await;
        let text = outcome.result.unwrap_err().to_string();
        assert!(text.starts_with("ReplayError: the run cannot be replayed"), "{text}");
        assert!(text.contains(expected), "{text}");
        assert_eq!(journal.unrepeated_calls(), left, "{text}");
    }
}

#[tokio::test]
async fn typescript_is_replayed() {
    let code = "
const one = async (id: number) => console.log(await mcp__s__pay({ id, of: Math.random() }), Date.now());
await Promise.all([1, 2, 3].map(one));";
    let program = Program { language: Language::TypeScript, ..Program::new(code) };
    let records = Records::new(RunDetail::Full);
    let process = Process::new(Desk::default());
    let layers = stack::plan_server_layers(Arc::new(Tools::default()));
    let limits = RunLimits::default();
    let runtime = Runtime::layered(process.engines.clone(), process.tools.clone(), layers, limits)
        .with_recorder(Some(records.recorder.clone()));
    let outcome = runtime.run(&program, &NoopObserver).await;
    assert_eq!(outcome.result, Ok(()));
    let record = records.only_run();
    assert!(record.run.started > Timestamp(0));
    let (again, _) = replayed(&record, &program).await;
    assert_eq!((again.result, again.stdout.text), (Ok(()), outcome.stdout.text));
}
