//! The recording of one run, from its beginning until it is handed to the recorder.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onecall_core::{EngineChoice, Failure, Outcome, Program, RunId, RunKind, TextSizes, Timestamp};
use onecall_engine::choice_of;

use super::recorder::{Origin, Recorder};
use crate::Observer;
use crate::call_log::{CallLog, LoggedCalls};

/// Records a run when it ends. If this is dropped before that, the run is recorded as cancelled.
pub(crate) struct Recording {
    pub(crate) id: RunId,
    recorder: Arc<Recorder>,
    run: Arc<Underway>,
}

/// A run that has not ended; shared between its [`Recording`] and the recorder.
pub(super) struct Underway {
    /// `None` once the run has been handed over.
    about: Mutex<Option<About>>,
    log: Arc<CallLog>,
}

/// What is known about a run when it begins.
#[derive(Debug)]
pub(super) struct About {
    pub(super) id: RunId,
    pub(super) started: Timestamp,
    pub(super) client: String,
    pub(super) kind: RunKind,
    pub(super) language: &'static str,
    /// The engine that runs the program; `None` for a call without a program.
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
    /// Begins the recording of a program.
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

    /// Hands the finished run to the recorder. Returns its sizes if savings are reported to agents.
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
    /// Everything known about the run; `None` if it has been handed over before.
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
