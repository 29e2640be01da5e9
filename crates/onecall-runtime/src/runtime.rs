//! Runs programs within their limits.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use onecall_core::{
    Calls, EngineChoice, Failure, Limits, Outcome, Program, Resolution, SessionLimits, ToolHost,
};
use onecall_engine::{Engines, Session};
use onecall_store::{RunId, Timestamp};
use serde_json::value::RawValue;

use crate::account::Account;
use crate::capture::Capture;
use crate::directory::{Directory, Resolved};
use crate::file::save;
use crate::layers::{
    Cache, CacheControl, Cached, Discovery, Measured, Observed, Parallel, Quota, Reused,
};
use crate::plan::PlanHost;
use crate::record::{Counting, Origin, Recorder, Recording};
use crate::review::{self, Preview};
use crate::sessions::{Sessions, Visit};
use crate::{Metrics, Observer, Plan, PlanAnswer, report};

/// However little output is allowed, a traceback may be this long: without it
/// nobody could mend the program.
const SHORTEST_LIMIT: usize = 4 * 1024;

/// Runs programs on engines, with the tools of a host.
pub struct Runtime {
    engines: Arc<Engines>,
    host: Arc<dyn ToolHost>,
    directory: Arc<dyn Directory>,
    limits: Limits,
    sessions: Arc<Sessions>,
    cache: Option<Arc<Cache>>,
    recorder: Option<Arc<Recorder>>,
    metrics: Arc<Metrics>,
}

/// What one program can call.
struct Tools<'a> {
    host: &'a dyn ToolHost,
    directory: &'a dyn Directory,
    cached: Option<&'a Cached>,
}

impl Runtime {
    /// Programs run on `engines`, within `limits`; `host` executes their calls.
    #[must_use]
    pub fn new(engines: Arc<Engines>, host: Arc<dyn ToolHost>, limits: Limits) -> Self {
        let directory = Arc::new(Resolved(Arc::clone(&host)));
        let sessions = Arc::new(Sessions::new(SessionLimits::default()));
        let (cache, recorder, metrics) = (None, None, Arc::default());
        Self { engines, host, directory, limits, sessions, cache, recorder, metrics }
    }

    /// The same, with somebody who answers what programs ask about tools.
    #[must_use]
    pub fn with_directory(self, directory: Arc<dyn Directory>) -> Self {
        Self { directory, ..self }
    }

    /// The same, with other limits of sessions.
    #[must_use]
    pub fn with_session_limits(self, limits: SessionLimits) -> Self {
        self.with_sessions(Arc::new(Sessions::new(limits)))
    }

    /// The same, with these sessions.
    pub(crate) fn with_sessions(self, sessions: Arc<Sessions>) -> Self {
        Self { sessions, ..self }
    }

    /// The same, with answers that are kept.
    pub(crate) fn with_cache(self, cache: Option<Arc<Cache>>) -> Self {
        Self { cache, ..self }
    }

    /// The layer of the cache for one program, if there is one.
    pub(crate) fn cached(&self) -> Option<Cached> {
        self.cache.as_ref().map(|cache| cache.around(Arc::clone(&self.host)))
    }

    /// The same, with somebody who records what runs.
    #[must_use]
    pub fn with_recorder(self, recorder: Option<Arc<Recorder>>) -> Self {
        Self { recorder, ..self }
    }

    /// The same, counted together with what else these metrics count.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// What one program may use.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Keeps the text of a program under a name of its own, if programs have a folder that
    /// they may write to. An error says why it could not be kept.
    pub fn save(&self, program: &Program, name: &str) -> Result<Option<PathBuf>, String> {
        match self.engines.writable_folder() {
            Some(folder) => save(folder, name, &program.code).map(Some),
            None => Ok(None),
        }
    }

    /// Runs one program to its end. Dropping the future kills the program and
    /// cancels its calls.
    pub async fn run(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        let cached = self.cached();
        let host = match &cached {
            Some(cached) => cached,
            None => self.host.as_ref(),
        };
        let tools = Tools { host, directory: self.directory.as_ref(), cached: cached.as_ref() };
        let origin = || Origin::Shared(Arc::clone(&self.directory));
        let (outcome, counting) =
            self.run_noted(&tools, program, "program", observer, origin).await;
        let saved = match counting {
            Some(counting) => counting.done().await,
            None => None,
        };
        Outcome { saved, ..outcome }
    }

    /// The same with tools of its own: `host` executes them, `directory` knows them.
    pub async fn run_with(
        &self,
        host: &dyn ToolHost,
        directory: &dyn Directory,
        program: &Program,
        observer: &dyn Observer,
    ) -> Outcome {
        let tools = Tools { host, directory, cached: None };
        let origin = || Origin::Listed(directory.known());
        self.run_noted(&tools, program, "exec", observer, origin).await.0
    }

    /// Runs a program, and has it recorded and counted. The count of what it saved is there
    /// where somebody wants to know it.
    async fn run_noted(
        &self,
        tools: &Tools<'_>,
        program: &Program,
        kind: &'static str,
        observer: &dyn Observer,
        origin: impl FnOnce() -> Origin,
    ) -> (Outcome, Option<Counting>) {
        let (id, recording) = self.recording(program, kind, observer);
        let account = Account::open(&self.metrics, observer, id);
        let run = self.run_for(&account, tools, program, observer, recording.as_ref());
        let outcome = account.settle(run).await;
        let counting = recording.and_then(|recording| {
            recording.finish(&outcome, || report(&outcome), account.engine(), origin())
        });
        (outcome, counting)
    }

    /// The name of a run that begins now, and its record if there is to be one.
    fn recording(
        &self,
        program: &Program,
        kind: &'static str,
        observer: &dyn Observer,
    ) -> (RunId, Option<Recording>) {
        let begin = |recorder| Recording::begin(recorder, program, kind, observer);
        let recording = self.recorder.as_ref().map(begin);
        let id = recording.as_ref().map(|recording| recording.id.clone());
        (id.unwrap_or_else(|| RunId::new(Timestamp::now())), recording)
    }

    async fn run_for(
        &self,
        account: &Account<'_>,
        tools: &Tools<'_>,
        program: &Program,
        observer: &dyn Observer,
        recording: Option<&Recording>,
    ) -> Outcome {
        let Tools { host, directory, cached } = *tools;
        account.ran_on(program.engine.unwrap_or_default());
        let mut limits = self.limits.clone();
        limits.timeout = program.timeout.unwrap_or(limits.timeout);
        let admitted = tokio::select! {
            admitted = self.admit(host, directory, program, &limits) => admitted,
            () = observer.called_off() => Err(Failure::Cancelled),
        };
        let mut visit = match admitted {
            Ok(visit) => visit,
            Err(failure) => return Outcome::not_started(failure, limits.timeout),
        };
        let parallel = Parallel::new(host, limits.max_parallel_calls);
        let quota = Quota::new(&parallel, limits.max_tool_calls);
        let observed = Observed::new(&quota, observer, program.detail)
            .with_reused(cached.map(Cached::reused))
            .with_recording(recording);
        let measured = Measured::new(&observed, account);
        let control = CacheControl::new(&measured, cached);
        let discovery = Discovery::new(&control, directory);
        let mut alone = Session::default();
        let session = visit.as_mut().and_then(Visit::session).unwrap_or(&mut alone);
        let mut outcome =
            self.run_on(&discovery, program, &limits, session, &observed, observer).await;
        account.ran_on(session.engine());
        outcome.remarks.extend(visit.and_then(Visit::leave));
        outcome
    }

    /// Looks at a program before it runs, and waits for its session if it is to have one.
    async fn admit(
        &self,
        host: &dyn ToolHost,
        directory: &dyn Directory,
        program: &Program,
        limits: &Limits,
    ) -> Result<Option<Visit>, Failure> {
        let refusal = review::refusal(program, host, directory);
        match tokio::time::timeout(limits.timeout, refusal).await {
            Ok(None) => {}
            Ok(Some(failure)) => return Err(failure),
            Err(_) => return Err(Failure::TimedOut { limit: limits.timeout }),
        }
        match &program.session {
            Some(_) if program.engine == Some(EngineChoice::TypeScript) => {
                Err(Failure::refused("ValueError", "only Python programs can have a session"))
            }
            Some(request) => self.sessions.enter(request).await.map(Some),
            None => Ok(None),
        }
    }

    /// Tells what a program can call, and runs nothing of it.
    pub async fn preview(&self, program: &Program) -> Preview {
        Preview::of(program, self.host.as_ref(), self.directory.as_ref()).await
    }

    /// Who executes the calls of programs.
    pub(crate) fn host(&self) -> &Arc<dyn ToolHost> {
        &self.host
    }

    /// Runs a plan to its end, its calls executed by `host`: the answer of its target,
    /// or what is to be said of its failure.
    pub(crate) async fn run_plan(
        &self,
        plan: &Plan,
        host: &dyn ToolHost,
        reused: Option<&Reused>,
        observer: &dyn Observer,
    ) -> Result<PlanAnswer, String> {
        let program =
            Program { engine: Some(EngineChoice::Python), ..Program::new(plan.program()) };
        let parallel = Parallel::new(host, self.limits.max_parallel_calls);
        let quota = Quota::new(&parallel, self.limits.max_tool_calls);
        let (id, recording) = self.recording(&program, "plan", observer);
        let observed = Observed::new(&quota, observer, program.detail)
            .with_reused(reused)
            .with_recording(recording.as_ref());
        let account = Account::open(&self.metrics, observer, id);
        let measured = Measured::new(&observed, &account);
        let nodes = PlanHost::new(&measured, plan);
        let mut alone = Session::default();
        let run = self.run_on(&nodes, &program, &self.limits, &mut alone, &observed, observer);
        let mut outcome = account.settle(run).await;
        let answer = nodes.answer();
        if let Some(recording) = &recording {
            let origin = Origin::Shared(Arc::clone(&self.directory));
            let text =
                || answer.as_ref().map_or_else(|| report(&outcome), |it| it.get().to_owned());
            recording.finish(&outcome, text, EngineChoice::Python, origin);
        }
        if outcome.result.is_ok()
            && let Some(answer) = answer
        {
            return Ok(PlanAnswer::new(&answer, self.limits.max_output_bytes));
        }
        outcome.result = Err(match outcome.result {
            Err(Failure::Raised { traceback, error }) => {
                Failure::Raised { traceback: plan_error(&traceback).to_owned(), error }
            }
            Err(failure) => failure,
            // It has reported an end that it did not reach.
            Ok(()) => Failure::WorkerDied { reason: "the plan ended without its target".into() },
        });
        // Which nodes were completed says more.
        outcome.calls = Calls::default();
        let mut text = report(&outcome);
        let completed = nodes.completed();
        if !completed.is_empty() {
            text.push_str(&format!("\n[Nodes completed: {}]", completed.join(", ")));
        }
        Err(text)
    }

    async fn run_on(
        &self,
        host: &dyn ToolHost,
        program: &Program,
        limits: &Limits,
        session: &mut Session,
        observed: &Observed<'_>,
        observer: &dyn Observer,
    ) -> Outcome {
        let started = Instant::now();
        let mut capture = Capture::new(limits.max_output_bytes, observer);
        let result = tokio::select! {
            result = self.engines.run_in(session, program, limits, host, &mut capture) => result,
            () = observer.called_off() => Err(Failure::Cancelled),
        };
        let duration = started.elapsed();
        let longest = limits.max_output_bytes.max(SHORTEST_LIMIT);
        let result = result.map_err(|failure| shorten(failure, longest));
        let (stdout, stderr, shown) = capture.finish();
        let mut calls = observed.calls();
        if result.is_err() {
            mark_harmless(&mut calls, host).await;
        }
        let (value, result) = match result {
            Ok(value) => (value.and_then(|json| RawValue::from_string(json).ok()), Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        let (remarks, timeout) = (Vec::new(), limits.timeout);
        let saved = None;
        Outcome { result, stdout, stderr, shown, value, calls, remarks, saved, duration, timeout }
    }
}

/// Finds out which calls changed nothing.
async fn mark_harmless(calls: &mut Calls, host: &dyn ToolHost) {
    let mut known = HashMap::new();
    for record in &mut calls.records {
        let harmless = match known.get(&record.name) {
            Some(harmless) => *harmless,
            None => {
                let harmless = match host.resolve(&record.name).await {
                    Resolution::Callable(spec) => spec.annotations.read_only_hint == Some(true),
                    Resolution::Blocked | Resolution::Unknown { .. } => false,
                };
                known.insert(record.name.clone(), harmless);
                harmless
            }
        };
        record.harmless = harmless;
    }
}

/// What a plan's program says of its failure, without the way that led there.
fn plan_error(traceback: &str) -> &str {
    let starts = ["\nPlanError: ", "\nToolError: "].map(|kind| traceback.find(kind));
    let start = starts.into_iter().flatten().min().map_or(0, |start| start + 1);
    traceback.get(start..).unwrap_or(traceback)
}

/// Takes out the middle of a traceback that is longer than output may be: its
/// beginning says where the program was, its end what happened.
fn shorten(failure: Failure, limit: usize) -> Failure {
    let Failure::Raised { traceback, error } = failure else { return failure };
    if traceback.len() <= limit {
        return Failure::Raised { traceback, error };
    }
    let head = traceback.floor_char_boundary(limit / 2);
    let tail = traceback.ceil_char_boundary(traceback.len() - limit / 2);
    let (head, tail) = (traceback.get(..head), traceback.get(tail..));
    let traceback =
        format!("{}\n... (truncated)\n{}", head.unwrap_or_default(), tail.unwrap_or_default());
    Failure::Raised { traceback, error }
}

#[cfg(test)]
mod tests {
    use onecall_core::ErrorSummary;

    use super::*;

    #[test]
    fn a_long_traceback_keeps_its_ends() {
        let raised = |traceback: &str| Failure::Raised {
            traceback: traceback.to_owned(),
            error: ErrorSummary::default(),
        };
        let cases = [
            (raised("ValueError: é"), 14, raised("ValueError: é")),
            (raised("aéiou-uoiéa"), 5, raised("a\n... (truncated)\na")),
            (raised("Traceback long Error"), 8, raised("Trac\n... (truncated)\nrror")),
        ];
        for (failure, limit, expected) in cases {
            assert_eq!(shorten(failure, limit), expected);
        }
    }
}
