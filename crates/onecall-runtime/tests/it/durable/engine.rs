//! The engine of a continued run is the one that it began on.

use std::sync::Arc;

use onecall_core::{EngineChoice, EngineName, JournalEvent, Outcome, Program, RunEngine};
use onecall_engine::{EngineSettings, Engines};
use serde_json::json;
use testkit::bins;

use super::desk::{Desk, approve};
use super::store::MemoryStore;
use super::world::{Process, word};

const CODE: &str = "import sys\nawait mcp__s__delete(id=1)\nprint('done')";

/// Engines with other settings than usual.
fn engines(choice: EngineChoice, python: Option<&str>) -> Arc<Engines> {
    let settings = EngineSettings::new(bins::find("onecall"));
    Arc::new(Engines::new(EngineSettings { choice, python: python.map(Into::into), ..settings }))
}

/// The journal of a run on these engines that waits for its call; `None` if they cannot be started.
async fn waiting(engines: Arc<Engines>) -> Option<Vec<JournalEvent>> {
    let process = Process::on(engines, Arc::default(), Arc::default(), MemoryStore::default());
    let program = Program::new(CODE);
    tokio::select! {
        outcome = process.run(&program) => {
            assert!(outcome.result.unwrap_err().to_string().contains("the engine could not start"));
            return None;
        }
        _ = process.desk.asked(1) => {}
    }
    process.journal.sync().await.unwrap();
    Some(process.store.events().clone())
}

/// Continues a run on these engines.
async fn resumed(engines: Arc<Engines>, events: &[JournalEvent], code: &str) -> (Process, Outcome) {
    let desk = Arc::new(Desk::always(approve()));
    let process = Process::on(engines, Arc::default(), desk, MemoryStore::with(events));
    let outcome = process.run(&Program::new(code)).await;
    (process, outcome)
}

#[tokio::test]
async fn another_default_does_not_change_the_engine() {
    let events = waiting(engines(EngineChoice::Auto, None)).await.unwrap();
    assert_eq!(word(&events[0]), "on python");
    let cpython = EngineChoice::Only(EngineName::CPython);
    let (process, outcome) = resumed(engines(cpython, Some("/nowhere")), &events, CODE).await;
    assert_eq!((outcome.result, outcome.stdout.text.as_str()), (Ok(()), "done\n"));
    assert_eq!(process.tools.effects(), [json!(1)]);
}

#[tokio::test]
async fn without_its_engine_a_run_fails() {
    let mut events = waiting(engines(EngineChoice::Auto, None)).await.unwrap();
    let version = Some("3.12.3".to_owned());
    events[0] = JournalEvent::Engine(RunEngine { name: EngineName::CPython, version });
    let engines = engines(EngineChoice::Auto, Some("/nowhere/python"));
    let (process, outcome) = resumed(engines, &events, CODE).await;
    assert_eq!(
        outcome.result.unwrap_err().to_string(),
        "the engine could not start: the run began on 'cpython' (Python 3.12.3) and cannot be \
         continued on another engine: /nowhere/python cannot be started: No such file or directory \
         (os error 2); set `python` to a CPython from 3.11 on. No call was made again; what the run \
         had done before is not undone. Start the program as a new run if all of that may be \
         repeated"
    );
    assert_eq!(process.tools.effects(), Vec::<serde_json::Value>::new());
    assert_eq!(process.desk.questions(), []);
}

#[tokio::test]
async fn a_divergence_says_that_the_interpreter_is_another_one() {
    let cpython = || engines(EngineChoice::Only(EngineName::CPython), None);
    // Not every machine has a Python that can be used.
    let Some(mut events) = waiting(cpython()).await else { return };
    let JournalEvent::Engine(engine) = &mut events[0] else { panic!("{:?}", events[0]) };
    assert_eq!(engine.name, EngineName::CPython);
    let version = engine.version.replace("3.0.0".to_owned()).unwrap();
    let other = CODE.replace("id=1", "id=2");
    let (process, outcome) = resumed(cpython(), &events, &other).await;
    let text = outcome.result.unwrap_err().to_string();
    let change = format!("The run began with Python 3.0.0, and this is Python {version}. Nothing");
    assert!(text.starts_with("ReplayError: ") && text.contains(&change), "{text}");
    assert_eq!(process.tools.effects(), Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn a_continued_run_waits_until_its_engine_can_start() {
    let events = waiting(engines(EngineChoice::Auto, None)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let executable = folder.path().join("engine");
    let engines = || Arc::new(Engines::new(EngineSettings::new(executable.clone())));
    // A new run says at once that its engine cannot start.
    assert!(waiting(engines()).await.is_none());
    let desk = Arc::new(Desk::always(approve()));
    let process = Process::on(engines(), Arc::default(), desk, MemoryStore::with(&events));
    let program = Program::new(CODE);
    let mut run = Box::pin(process.run(&program));
    let first_attempt = async {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        outcome = &mut run => panic!("{:?}", outcome.result),
        () = first_attempt => {}
    }
    std::os::unix::fs::symlink(bins::find("onecall"), &executable).unwrap();
    let outcome = run.await;
    assert_eq!((outcome.result, outcome.stdout.text.as_str()), (Ok(()), "done\n"));
    assert_eq!(process.tools.effects(), [json!(1)]);
}
