//! One run on its way into a record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_core::{
    CallableName, EngineChoice, Failure, Language, Outcome, Program, Tokens, ToolCall, ToolError,
    ToolSpec, ToolValue,
};
use onecall_store::{RunId, Timestamp};
use tokio::sync::oneshot;

use super::note::Notes;
use super::recorder::{Origin, Recorder};
use crate::Observer;

/// How long an answer waits for the count of what it saved.
const COUNTING: Duration = Duration::from_secs(3);

/// Notes the calls of a program, and turns them into a record when it has ended. One that
/// is dropped before was cancelled.
pub(crate) struct Recording {
    pub(crate) id: RunId,
    recorder: Arc<Recorder>,
    run: Arc<Underway>,
}

/// A run that has not ended, as its recorder knows it, too.
pub(super) struct Underway {
    begun: Instant,
    log: Mutex<Log>,
}

struct Log {
    /// Gone once it has been handed over.
    about: Option<About>,
    notes: Notes,
    specs: HashMap<CallableName, Arc<ToolSpec>>,
}

/// What is known of a run from its beginning.
#[derive(Debug)]
pub(super) struct About {
    pub(super) id: RunId,
    pub(super) started: Timestamp,
    pub(super) client: String,
    pub(super) kind: &'static str,
    pub(super) language: &'static str,
    pub(super) engine: EngineChoice,
    pub(super) session: Option<String>,
    pub(super) code: String,
}

/// A run that has ended.
pub(super) struct Finished {
    pub(super) about: About,
    pub(super) duration: Duration,
    pub(super) result: Result<(), Failure>,
    pub(super) output_truncated: bool,
    pub(super) notes: Notes,
    /// Which calls were answered from the cache.
    pub(super) cached: Vec<u64>,
    pub(super) specs: HashMap<CallableName, Arc<ToolSpec>>,
    pub(super) origin: Origin,
}

impl Recording {
    /// Begins with the program.
    pub(crate) fn begin(
        recorder: &Arc<Recorder>,
        program: &Program,
        kind: &'static str,
        observer: &dyn Observer,
    ) -> Self {
        let engine = program.engine.unwrap_or_default();
        let language = match engine {
            EngineChoice::TypeScript => Language::TypeScript,
            _ => Language::Python,
        };
        let language = Language::NAMES.iter().find(|(_, it)| *it == language);
        let started = Timestamp::now();
        let id = RunId::new(started);
        let about = About {
            id: id.clone(),
            started,
            client: observer.client(),
            kind,
            language: language.map_or("", |(name, _)| name),
            engine,
            session: program.session.as_ref().map(|session| session.name.clone()),
            code: program.code.clone(),
        };
        let notes = Notes::new(recorder.depth());
        let log = Log { about: Some(about), notes, specs: HashMap::new() };
        let run = Arc::new(Underway { begun: Instant::now(), log: Mutex::new(log) });
        recorder.watch(&run);
        Self { id, recorder: Arc::clone(recorder), run }
    }

    /// A name of the program means this tool.
    pub(crate) fn met(&self, spec: &Arc<ToolSpec>) {
        self.run.log().specs.insert(spec.callable.clone(), Arc::clone(spec));
    }

    /// Where the note of a call is, if there is room for one.
    pub(crate) fn call_began(&self, call: &ToolCall, now: Instant) -> Option<usize> {
        let started = now.saturating_duration_since(self.run.begun);
        self.run.log().notes.begin(call, started)
    }

    pub(crate) fn call_ended(
        &self,
        place: usize,
        result: &Result<ToolValue, ToolError>,
        now: Instant,
    ) {
        let ended = now.saturating_duration_since(self.run.begun);
        self.run.log().notes.end(place, ended, result);
    }

    /// Hands the run over. What it was worth can be waited for if agents are told so.
    pub(crate) fn finish(
        &self,
        outcome: &Outcome,
        answer: impl FnOnce() -> String,
        engine: EngineChoice,
        origin: Origin,
    ) -> Option<Counting> {
        let cached = outcome.calls.records.iter().filter(|call| call.cached).map(|call| call.id);
        let mut run = self.run.hand_over()?;
        run.about.engine = engine;
        run.notes.conclude(&outcome.stdout.text, &answer());
        let finished = Finished {
            result: outcome.result.clone(),
            output_truncated: outcome.stdout.truncated,
            cached: cached.collect(),
            origin,
            ..run
        };
        self.recorder.submit(finished).map(Counting)
    }
}

impl Underway {
    /// What there is of it, the first time.
    pub(super) fn hand_over(&self) -> Option<Finished> {
        let mut log = self.log();
        let about = log.about.take()?;
        let notes = log.notes.take();
        Some(Finished {
            about,
            duration: self.begun.elapsed(),
            result: Err(Failure::Cancelled),
            output_truncated: false,
            notes,
            cached: Vec::new(),
            specs: std::mem::take(&mut log.specs),
            origin: Origin::Unknown,
        })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a run was worth, while it is counted.
pub(crate) struct Counting(oneshot::Receiver<Tokens>);

impl Counting {
    /// Waits for the count, but not for long.
    pub(crate) async fn done(self) -> Option<Tokens> {
        tokio::time::timeout(COUNTING, self.0).await.ok()?.ok()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(run) = self.run.hand_over() {
            drop(self.recorder.submit(run));
        }
    }
}
