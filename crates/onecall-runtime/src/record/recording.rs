//! The recording of one run, from its beginning until it is handed to the recorder.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onecall_core::storage::ReplayData;
use onecall_core::{
    EngineChoice, Failure, InPlaceReason, Media, MediaKind, Outcome, Program, RunId, RunKind,
    TextSizes, Timestamp, UserName,
};
use onecall_engine::choice_of;

use super::recorder::{Recorder, ToolSource};
use crate::Observer;
use crate::call_log::{CallLog, LoggedCalls, RecordDetail};
use crate::journal::{EventCopy, Journal};

/// How many pictures of a run are recorded, and their bytes of base64 together. A picture that does
/// not fit is left out, and smaller ones after it are kept.
const MAX_PICTURES: usize = 50;
const MAX_PICTURE_BYTES: usize = 2 * 1024 * 1024;

/// Records a run when it ends. If this is dropped before that, the run is recorded as cancelled, unless
/// it can be continued.
pub(crate) struct Recording {
    pub(crate) id: RunId,
    recorder: Arc<Recorder>,
    run: Arc<UnfinishedRun>,
    /// Whether the run can be continued in another process, which then records it.
    is_durable: bool,
}

/// A run that has not ended; shared between its [`Recording`] and the recorder.
pub(super) struct UnfinishedRun {
    /// `None` once the run has been handed over.
    header: Mutex<Option<RunHeader>>,
    log: Arc<CallLog>,
    /// The events of a run that is recorded as a whole.
    events: Option<Arc<EventCopy>>,
}

/// What is known about a run when it begins.
#[derive(Debug)]
pub(super) struct RunHeader {
    pub(super) id: RunId,
    pub(super) started: Timestamp,
    pub(super) user: UserName,
    pub(super) client: String,
    pub(super) kind: RunKind,
    pub(super) language: &'static str,
    /// The engine that runs the program; `None` for a call without a program.
    pub(super) engine: Option<EngineChoice>,
    pub(super) session: Option<String>,
    pub(super) code: String,
    pub(super) argv: Vec<String>,
}

/// A run that has begun and not ended.
#[derive(Clone, Copy, Debug)]
pub struct RunningRun<'a> {
    /// The identifier of the run.
    pub id: &'a RunId,
    /// When the run began.
    pub started: Timestamp,
    /// The user that the run is for.
    pub user: &'a UserName,
    /// The client that asked for the run.
    pub client: &'a str,
    /// The kind of run.
    pub kind: RunKind,
    /// The source of the program, with secrets.
    pub code: &'a str,
}

/// A run that has ended.
pub(super) struct FinishedRun {
    pub(super) header: RunHeader,
    pub(super) duration: Duration,
    pub(super) result: Result<(), Failure>,
    pub(super) output_truncated: bool,
    /// The pictures that the program showed, in base64; `None` for one that is not recorded.
    pub(super) pictures: Vec<Option<String>>,
    /// The answer that its agent got, if the run is recorded as a whole.
    pub(super) answer: Option<String>,
    pub(super) log: LoggedCalls,
    /// The journal of the run, with secrets.
    pub(super) replay: ReplayData,
    pub(super) tool_source: ToolSource,
}

impl FinishedRun {
    /// The approximate size of the run in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        let pictures = self.pictures.iter().flatten().map(String::len);
        self.header.code.len()
            + self.answer.as_ref().map_or(0, String::len)
            + pictures.sum::<usize>()
            + self.log.memory_bytes()
            + self.replay.memory_bytes()
    }
}

impl Recording {
    /// Begins the recording of a program.
    pub(crate) fn begin(
        recorder: &Arc<Recorder>,
        program: &Program,
        kind: RunKind,
        user: &UserName,
        observer: &dyn Observer,
        log: &Arc<CallLog>,
        journal: Option<&Journal>,
    ) -> Self {
        let started = journal.map_or_else(Timestamp::now, Journal::started);
        let id =
            journal.map_or_else(|| RunId::generate(started.0), |journal| journal.run().clone());
        let header = RunHeader {
            id: id.clone(),
            started,
            user: user.clone(),
            client: observer.client(),
            kind,
            language: program.language.name(),
            engine: Some(choice_of(program)),
            session: program.session.as_ref().and_then(|it| it.session.name().map(str::to_owned)),
            code: program.code.clone(),
            argv: program.argv.clone(),
        };
        let events = (kind.is_program() && recorder.record_detail() == RecordDetail::Full)
            .then(|| copied_events(program, journal));
        let (header, log) = (Mutex::new(Some(header)), Arc::clone(log));
        let run = Arc::new(UnfinishedRun { header, log, events });
        let is_durable = journal.is_some_and(Journal::is_durable);
        if !is_durable {
            recorder.track(&run);
        }
        Self { id, recorder: Arc::clone(recorder), run, is_durable }
    }

    /// Hands the finished run to the recorder. Returns its sizes if savings are reported to agents.
    pub(crate) fn finish(
        &self,
        outcome: &Outcome,
        answer: impl FnOnce() -> String,
        engine: Option<EngineChoice>,
        tool_source: ToolSource,
    ) -> Option<TextSizes> {
        let mut run = self.run.hand_over()?;
        run.header.engine = engine;
        if self.is_durable {
            run.duration = Timestamp::now().since(run.header.started);
        }
        let answer = answer();
        run.log.set_output(&outcome.stdout.text, &answer);
        let is_full = self.recorder.record_detail() == RecordDetail::Full;
        let finished = FinishedRun {
            result: outcome.result.clone(),
            output_truncated: outcome.stdout.truncated,
            pictures: if is_full { kept_pictures(&outcome.media) } else { Vec::new() },
            answer: is_full.then_some(answer),
            tool_source,
            ..run
        };
        self.recorder.submit(finished)
    }
}

/// The pictures that a record keeps of what a program showed.
fn kept_pictures(media: &[Media]) -> Vec<Option<String>> {
    let mut room = MAX_PICTURE_BYTES;
    let pictures = media.iter().filter(|media| media.kind == MediaKind::Image).take(MAX_PICTURES);
    pictures
        .map(|picture| {
            room = room.checked_sub(picture.data.len())?;
            Some(picture.data.clone())
        })
        .collect()
}

/// A copy of the events of a run, from now on. If the run has none, the copy says why.
fn copied_events(program: &Program, journal: Option<&Journal>) -> Arc<EventCopy> {
    match journal {
        Some(journal) => journal.copy_events(),
        None => {
            let is_session = program.session.is_some();
            let reason = if is_session { InPlaceReason::Session } else { InPlaceReason::NoJournal };
            Arc::new(EventCopy::impossible(reason.into()))
        }
    }
}

impl UnfinishedRun {
    /// Reads what is known about the run; `None` if it has been handed over.
    pub(super) fn read<T>(&self, read: impl FnOnce(RunningRun<'_>) -> T) -> Option<T> {
        let header = self.header.lock().unwrap_or_else(PoisonError::into_inner);
        let RunHeader { id, started, user, client, kind, code, .. } = header.as_ref()?;
        Some(read(RunningRun { id, started: *started, user, client, kind: *kind, code }))
    }

    /// Everything known about the run; `None` if it has been handed over before.
    pub(super) fn hand_over(&self) -> Option<FinishedRun> {
        let header = self.header.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(FinishedRun {
            header,
            duration: self.log.begun().elapsed(),
            result: Err(Failure::Cancelled),
            output_truncated: false,
            pictures: Vec::new(),
            answer: None,
            log: self.log.take(),
            replay: self.events.as_ref().map_or(ReplayData::None, |events| events.take()),
            tool_source: ToolSource::Unknown,
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(run) = self.run.hand_over()
            && !self.is_durable
        {
            self.recorder.submit(run);
        }
    }
}
