//! Records, metrics and limits of runs that several processes execute.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::storage::{Retention, RunDetail, RunFilter};
use onecall_core::{Program, RunLimits};
use onecall_engine::{EngineSettings, Engines};
use onecall_runtime::{
    Metrics, MetricsState, RecordSettings, Recorder, Redactor, Runtime, StoreWriter, stack,
};
use testkit::bins;

use super::desk::{Desk, approve};
use super::world::{Process, asks_before_delete, run_id};

/// The run of these tests began in 1970.
const A_CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_continued_run_is_recorded_once_and_its_calls_are_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("onecall.db");
    let program = Program::new("await mcp__s__pay(id=1)\nawait mcp__s__delete(id=2)\nprint(3)");
    let mut process = Process::new(Desk::default());
    let mut pages = Vec::new();
    for is_last in [false, true] {
        let writer = Arc::new(StoreWriter::start(onecall_store::open(path.clone())));
        let settings = RecordSettings {
            detail: Some(RunDetail::Metadata),
            retention: Retention { max_age: A_CENTURY, max_bytes: u64::MAX / 2 },
            report_savings: false,
            redactor: Redactor::new([]),
        };
        let recorder = Recorder::start(settings, Some(writer.clone())).unwrap();
        let metrics = Arc::new(Metrics::default());
        process.runtime =
            process.runtime.with_recorder(Some(recorder.clone())).with_metrics(metrics.clone());
        if is_last {
            process.desk.answer(&process.desk.questions()[0].item, approve());
            assert_eq!(process.run(&program).await.stdout.text, "3\n");
        } else {
            tokio::select! {
                outcome = process.run(&program) => panic!("it did not wait: {outcome:?}"),
                _ = process.desk.asked(1) => {}
            }
        }
        recorder.close(TIMEOUT);
        assert!(writer.close(TIMEOUT));
        let load = process.load();
        let state =
            MetricsState { servers: Vec::new(), workers: Vec::new(), load, store_queue: None };
        pages.push(metrics.page(&state));
        process = process.killed().await;
    }
    let store = onecall_store::open(path);
    let runs = store.runs(&RunFilter::default()).unwrap();
    let recorded: Vec<_> = runs
        .iter()
        .map(|run| (&run.id, run.outcome.as_str(), run.call_count, run.started.0))
        .collect();
    assert_eq!(recorded, [(&run_id(), "ok", 2, 5)]);
    for (page, outcome) in pages.iter().zip(["suspended", "success"]) {
        let calls = "onecall_tool_calls_total{server=\"s\",outcome=\"success\"} 1";
        assert!(page.contains(calls), "{page}");
        let ended = format!("onecall_runs_total{{engine=\"auto\",outcome=\"{outcome}\"}} 1");
        let ended_on = format!("onecall_runs_total{{engine=\"python\",outcome=\"{outcome}\"}} 1");
        assert!(page.contains(&ended) || page.contains(&ended_on), "{page}");
    }
}

/// The calls that an earlier process made count against the limit.
#[tokio::test]
async fn a_continued_run_has_no_more_calls_than_another() {
    let code = "await mcp__s__pay(id=1)
await mcp__s__delete(id=2)
try:
    await mcp__s__pay(id=3)
except ToolError as error:
    print(error)";
    let program = Program::new(code);
    let limited = |process: Process| {
        let engines = Arc::new(Engines::new(EngineSettings::new(bins::find("onecall"))));
        let limits = RunLimits { max_tool_calls: 2, ..RunLimits::default() };
        let layers = stack::plan_server_layers(process.tools.clone());
        let runtime = Runtime::layered(engines, process.tools.clone(), layers, limits)
            .with_approvals(asks_before_delete(), process.desk.clone());
        Process { runtime, ..process }
    };
    let process = limited(Process::new(Desk::default()));
    tokio::select! {
        outcome = process.run(&program) => panic!("it did not wait: {outcome:?}"),
        _ = process.desk.asked(1) => {}
    }
    let next = limited(process.killed().await);
    next.desk.answer(&next.desk.questions()[0].item, approve());
    let outcome = next.run(&program).await;
    assert_eq!(
        outcome.stdout.text,
        "'mcp__s__pay' was not called: the limit of 2 tool calls per program is reached\n"
    );
}
