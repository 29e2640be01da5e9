//! One run on its way into a record.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onecall_core::{EngineChoice, Failure, Outcome, Program, RunId, RunKind, TextSizes, Timestamp};
use onecall_engine::choice_of;

use super::recorder::{Origin, Recorder};
use crate::Observer;
use crate::call_log::{CallLog, LoggedCalls};

/// Makes a record of a run and its log when the run has ended. A run that is dropped before was
/// cancelled.
pub(crate) struct Recording {
    pub(crate) id: RunId,
    recorder: Arc<Recorder>,
    run: Arc<Underway>,
}

/// A run that has not ended, as its recorder knows it, too.
pub(super) struct Underway {
    /// Gone once it has been handed over.
    about: Mutex<Option<About>>,
    log: Arc<CallLog>,
}

/// What is known of a run from its beginning.
#[derive(Debug)]
pub(super) struct About {
    pub(super) id: RunId,
    pub(super) started: Timestamp,
    pub(super) client: String,
    pub(super) kind: RunKind,
    pub(super) language: &'static str,
    /// What runs it; nothing for a call without a program.
    pub(super) engine: Option<EngineChoice>,
    pub(super) session: Option<String>,
    pub(super) code: String,
    pub(super) argv: Vec<String>,
}

/// A run that has ended.
pub(super) struct Finished {
    pub(super) about: About,
    pub(super) duration: Duration,
    pub(super) result: Result<(), Failure>,
    pub(super) output_truncated: bool,
    pub(super) log: LoggedCalls,
    pub(super) origin: Origin,
}

impl Recording {
    /// Begins with the program.
    pub(crate) fn begin(
        recorder: &Arc<Recorder>,
        program: &Program,
        kind: RunKind,
        observer: &dyn Observer,
        log: &Arc<CallLog>,
    ) -> Self {
        let started = Timestamp::now();
        let id = RunId::at(started.0);
        let about = About {
            id: id.clone(),
            started,
            client: observer.client(),
            kind,
            language: program.language.name(),
            engine: Some(choice_of(program)),
            session: program.session.as_ref().and_then(|it| it.session.name().map(str::to_owned)),
            code: program.code.clone(),
            argv: program.argv.clone(),
        };
        let run = Arc::new(Underway { about: Mutex::new(Some(about)), log: Arc::clone(log) });
        recorder.watch(&run);
        Self { id, recorder: Arc::clone(recorder), run }
    }

    /// Hands the run over to be recorded. Its sizes come back if agents are told what they saved.
    pub(crate) fn finish(
        &self,
        outcome: &Outcome,
        answer: impl FnOnce() -> String,
        engine: Option<EngineChoice>,
        origin: Origin,
    ) -> Option<TextSizes> {
        let mut run = self.run.hand_over()?;
        run.about.engine = engine;
        run.log.conclude(&outcome.stdout.text, &answer());
        let finished = Finished {
            result: outcome.result.clone(),
            output_truncated: outcome.stdout.truncated,
            origin,
            ..run
        };
        self.recorder.submit(finished)
    }
}

impl Underway {
    /// What there is of it, the first time.
    pub(super) fn hand_over(&self) -> Option<Finished> {
        let about = self.about.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Finished {
            about,
            duration: self.log.begun().elapsed(),
            result: Err(Failure::Cancelled),
            output_truncated: false,
            log: self.log.take(),
            origin: Origin::Unknown,
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(run) = self.run.hand_over() {
            self.recorder.submit(run);
        }
    }
}
