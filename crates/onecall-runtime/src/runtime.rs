//! Runs programs within their limits. [`Runtime`] is the entry point of this crate: it checks a
//! program, enters its session, runs it on an engine with its calls going through the layers, and
//! returns its outcome.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use onecall_catalog::ParsedProgram;
use onecall_core::text::visible;
use onecall_core::{
    CallHandler, Calls, EngineChoice, EngineName, Failure, Limits, Outcome, Program, ProgramHost,
    RunContext, RunId, RunKind, SessionLimits, Timestamp, ToolHost, ToolResolver,
};
use onecall_engine::{Engines, Offers, Session, choice_of, no_session};
use serde_json::value::RawValue;

use crate::account::Account;
use crate::call_log::{CallLog, Depth, LogWriter};
use crate::capture::Capture;
use crate::directory::{Directory, Resolved};
use crate::file::save;
use crate::hint::hint;
use crate::layers::{Cache, CacheControl, Cached};
use crate::names::RunNames;
use crate::plan::{self, PlanHost};
use crate::program_calls::ProgramCalls;
use crate::record::{Origin, Recorder, Recording};
use crate::review::{self, Preview};
use crate::sessions::{Departure, Sessions, Visit};
use crate::stack::{self, RunLayers};
use crate::{Metrics, Observer, Plan, PlanAnswer, PlanFailure, SaveError, report};

/// Bytes that a traceback may take even if the output limit is smaller: without it the program
/// could not be corrected.
const SHORTEST_LIMIT: usize = 4 * 1024;

/// The engine that runs plans.
const PLANS: EngineChoice = EngineChoice::Only(EngineName::Python);

/// Runs programs on engines, with the tools of a host.
pub struct Runtime {
    engines: Arc<Engines>,
    resolver: Arc<dyn ToolResolver>,
    /// The layers that runs share, down to the host.
    layers: Arc<dyn CallHandler>,
    directory: Arc<dyn Directory>,
    limits: Limits,
    sessions: Arc<Sessions>,
    cache: Option<Arc<Cache>>,
    recorder: Option<Arc<Recorder>>,
    metrics: Arc<Metrics>,
}

/// What the calls of one run can reach.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub(crate) resolver: &'a dyn ToolResolver,
    /// The layers that runs share, the cache among them.
    pub(crate) layers: &'a dyn CallHandler,
    pub(crate) directory: &'a dyn Directory,
    pub(crate) cached: Option<&'a Cached>,
}

/// A run that begins: its context, its log, and its recording if runs are recorded.
pub(crate) struct RunStart {
    pub(crate) context: Arc<RunContext>,
    pub(crate) log: Arc<CallLog>,
    pub(crate) recording: Option<Recording>,
}

impl Runtime {
    /// Creates a runtime: programs run on `engines` within `limits`; `host` executes their calls.
    #[must_use]
    pub fn new(engines: Arc<Engines>, host: Arc<dyn ToolHost>, limits: Limits) -> Self {
        Self::layered(engines, host.clone(), host, limits)
    }

    /// Creates a runtime: programs run on `engines` within `limits`; `resolver` looks names up, and
    /// `layers` execute the calls.
    #[must_use]
    pub fn layered(
        engines: Arc<Engines>,
        resolver: Arc<dyn ToolResolver>,
        layers: Arc<dyn CallHandler>,
        limits: Limits,
    ) -> Self {
        let directory = Arc::new(Resolved(Arc::clone(&resolver)));
        let sessions = Arc::new(Sessions::new(SessionLimits::default()));
        let (cache, recorder, metrics) = (None, None, Arc::default());
        Self { engines, resolver, layers, directory, limits, sessions, cache, recorder, metrics }
    }

    /// Replaces the directory, which answers questions of programs about tools.
    #[must_use]
    pub fn with_directory(self, directory: Arc<dyn Directory>) -> Self {
        Self { directory, ..self }
    }

    /// Replaces the sessions by new ones with these limits.
    #[must_use]
    pub fn with_session_limits(self, limits: SessionLimits) -> Self {
        self.with_sessions(Arc::new(Sessions::new(limits)))
    }

    /// Replaces the sessions. Several runtimes can share them.
    #[must_use]
    pub fn with_sessions(self, sessions: Arc<Sessions>) -> Self {
        Self { sessions, ..self }
    }

    /// Sets the cache that answers repeated tool calls.
    #[must_use]
    pub fn with_cache(self, cache: Option<Arc<Cache>>) -> Self {
        Self { cache, ..self }
    }

    /// The cache layer for one program, if there is a cache.
    fn cached(&self) -> Option<Cached> {
        self.cache.as_ref().map(|cache| cache.around(Arc::clone(&self.layers)))
    }

    /// Adds a recorder: every finished run is handed to it.
    #[must_use]
    pub fn with_recorder(self, recorder: Option<Arc<Recorder>>) -> Self {
        Self { recorder, ..self }
    }

    /// Replaces the metrics that runs and their calls are counted in.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// The limits of one program.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Saves the source of a program as a file, if programs have a folder that they may write to.
    ///
    /// # Errors
    /// If the name cannot be used, or the file cannot be written.
    pub async fn save(&self, program: &Program, name: &str) -> Result<Option<PathBuf>, SaveError> {
        match self.engines.workspace_room().await {
            Some(room) => save(&room, name, &program.code).map(Some),
            None => Ok(None),
        }
    }

    /// Runs one program to its end. Dropping the future kills the program and cancels its calls.
    pub async fn run(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        let cached = self.cached();
        let reach = Reach {
            resolver: self.resolver.as_ref(),
            layers: match &cached {
                Some(cached) => cached,
                None => self.layers.as_ref(),
            },
            directory: self.directory.as_ref(),
            cached: cached.as_ref(),
        };
        let origin = || Origin::Shared(Arc::clone(&self.directory));
        self.run_noted(reach, program, RunKind::Program, observer, origin).await
    }

    /// Runs one program that brings its own tools: `host` executes them, `directory` lists them.
    pub async fn run_with(
        &self,
        host: &dyn ToolHost,
        directory: &dyn Directory,
        program: &Program,
        observer: &dyn Observer,
    ) -> Outcome {
        let layers = stack::own_tool_layers(host);
        let reach = Reach { resolver: host, layers: &layers, directory, cached: None };
        let origin = || Origin::Listed(directory.known());
        let outcome = self.run_noted(reach, program, RunKind::Exec, observer, origin).await;
        Outcome { sizes: None, ..outcome }
    }

    /// Runs a program with recording and telemetry.
    async fn run_noted(
        &self,
        reach: Reach<'_>,
        program: &Program,
        kind: RunKind,
        observer: &dyn Observer,
        origin: impl FnOnce() -> Origin,
    ) -> Outcome {
        let RunStart { context, log, recording } = self.begin(program, kind, observer);
        let account = Account::open(&self.metrics, &context);
        let run = self.run_for(&context, &log, &account, reach, program, observer);
        let outcome = account.settle(run).await;
        let sizes = recording.and_then(|recording| {
            recording.finish(&outcome, || report(&outcome), account.engine(), origin())
        });
        Outcome { sizes, ..outcome }
    }

    /// Begins a run: its context, its log, and its recording if runs are recorded.
    pub(crate) fn begin(
        &self,
        program: &Program,
        kind: RunKind,
        observer: &dyn Observer,
    ) -> RunStart {
        let depth = self.recorder.as_ref().map_or(Depth::None, |recorder| recorder.depth());
        let log = Arc::new(CallLog::new(program.detail, depth));
        let begin = |recorder| Recording::begin(recorder, program, kind, observer, &log);
        let recording = self.recorder.as_ref().map(begin);
        let id = recording.as_ref().map(|recording| recording.id.clone());
        let id = id.unwrap_or_else(|| RunId::at(Timestamp::now().0));
        let context = Arc::new(RunContext { id, kind, caller: observer.caller() });
        RunStart { context, log, recording }
    }

    async fn run_for(
        &self,
        context: &Arc<RunContext>,
        log: &CallLog,
        account: &Account<'_>,
        reach: Reach<'_>,
        program: &Program,
        observer: &dyn Observer,
    ) -> Outcome {
        let Reach { resolver, layers, directory, cached } = reach;
        account.ran_on(choice_of(program));
        let (program, parsed) = review::parsed(program);
        let program = &*program;
        let mut limits = self.limits.clone();
        limits.timeout = program.timeout.unwrap_or(limits.timeout);
        let offers = match self.engines.offers(program) {
            Ok(offers) => offers,
            Err(mismatch) => return Outcome::not_started(mismatch.into(), limits.timeout),
        };
        let names = RunNames::new(resolver);
        let admitted = tokio::select! {
            admitted = self.admit(&names, directory, program, parsed, &limits, offers) => admitted,
            () = observer.called_off() => Err(Failure::Cancelled),
        };
        let mut visit = match admitted {
            Ok(visit) => visit,
            Err(failure) => return Outcome::not_started(failure, limits.timeout),
        };
        let log_writer = LogWriter::new(log, account, observer);
        let layers = RunLayers { log: log_writer, limits: &limits }.around(layers);
        let host = ProgramCalls {
            run: Arc::clone(context),
            names: &names,
            layers: &layers,
            directory,
            cache: CacheControl::new(cached),
        };
        let mut alone = Session::default();
        let session = visit.as_mut().and_then(Visit::session).unwrap_or(&mut alone);
        let mut outcome = self.run_on(&host, program, &limits, session, log, observer).await;
        account.ran_on(session.engine());
        if let Err(Failure::Raised { error, .. }) = &outcome.result
            && let Some(denied) = error.denied
        {
            outcome.remarks.push(hint(denied, program.language, offers, directory));
        }
        if let Some(visit) = visit {
            match visit.leave() {
                Departure::Lives { handle } => outcome.session = handle,
                Departure::Ended { remark } => outcome.remarks.push(remark),
            }
        }
        outcome
    }

    /// Checks a program before it runs, and waits for its session if it has one.
    async fn admit(
        &self,
        names: &dyn ToolResolver,
        directory: &dyn Directory,
        program: &Program,
        parsed: ParsedProgram<'_>,
        limits: &Limits,
        offers: Offers,
    ) -> Result<Option<Visit>, Failure> {
        if offers.check {
            let refusal = review::refusal(program, &parsed, names, directory);
            match tokio::time::timeout(limits.timeout, refusal).await {
                Ok(None) => {}
                Ok(Some(failure)) => return Err(failure),
                Err(_) => return Err(Failure::TimedOut { limit: limits.timeout }),
            }
        }
        // Waiting for a session can take long, and a syntax tree is large.
        drop(parsed);
        match &program.session {
            Some(_) if !offers.sessions => Err(no_session()),
            Some(request) => self.sessions.enter(request).await.map(Some),
            None => Ok(None),
        }
    }

    /// Reports which tools a program can call, without running it.
    pub async fn preview(&self, program: &Program) -> Preview {
        let (program, parsed) = review::parsed(program);
        if !self.engines.offers(&program).is_ok_and(|offers| offers.check) {
            return Preview::unchecked();
        }
        Preview::of(&program, &parsed, self.resolver.as_ref(), self.directory.as_ref()).await
    }

    /// The resolver for the names of programs.
    #[must_use]
    pub fn resolver(&self) -> &Arc<dyn ToolResolver> {
        &self.resolver
    }

    /// The layers that runs share, including the cache.
    #[must_use]
    pub fn layers(&self) -> Arc<dyn CallHandler> {
        self.through_cache(&self.layers)
    }

    /// Puts the cache, if there is one, around these layers.
    pub(crate) fn through_cache(&self, layers: &Arc<dyn CallHandler>) -> Arc<dyn CallHandler> {
        stack::through_cache(self.cache.as_deref(), layers)
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Runs a plan to its end with these tools, and returns the answer of its target.
    ///
    /// # Errors
    /// If the plan fails. The error is the whole text of the answer.
    pub async fn run_plan(
        &self,
        plan: &Plan,
        tools: &dyn ToolHost,
        observer: &dyn Observer,
    ) -> Result<PlanAnswer, PlanFailure> {
        let program = Program { engine: Some(PLANS), ..Program::new(plan.program()) };
        let RunStart { context, log, recording } = self.begin(&program, RunKind::Plan, observer);
        let account = Account::open(&self.metrics, &context);
        let log_writer = LogWriter::new(&log, &account, observer);
        let layers = RunLayers { log: log_writer, limits: &self.limits }.around(tools);
        let names = RunNames::new(tools);
        let nodes = PlanHost::new(Arc::clone(&context), &names, &layers, plan);
        let run = async {
            let (limits, started) = (&self.limits, Instant::now());
            let mut capture = Capture::new(limits.max_output_bytes, observer);
            let result = tokio::select! {
                result = self.carry_out(&program, &nodes, &mut capture) => result,
                () = observer.called_off() => Err(Failure::Cancelled),
            };
            let result = result.map_err(|failure| plan.explain_failure(failure));
            ended(result, started, capture, limits, &log)
        };
        let mut outcome = account.settle(run).await;
        let answer = nodes.answer();
        if let Some(recording) = &recording {
            let origin = Origin::Shared(Arc::clone(&self.directory));
            let text =
                || answer.as_ref().map_or_else(|| report(&outcome), |it| it.get().to_owned());
            let engine = plan.needs_interpreter().then_some(PLANS);
            recording.finish(&outcome, text, engine, origin);
        }
        if outcome.result.is_ok()
            && let Some(answer) = answer
        {
            return Ok(PlanAnswer::new(&answer, self.limits.max_output_bytes));
        }
        // The program may have reported success without having called the target.
        outcome.result = outcome.result.and_then(|()| {
            Err(Failure::WorkerDied { reason: "the plan ended without its target".to_owned() })
        });
        // The list of completed nodes is more useful than the list of calls.
        outcome.calls = Calls::default();
        let mut text = report(&outcome);
        let completed = nodes.completed();
        if !completed.is_empty() {
            text.push_str(&format!("\n[Nodes completed: {}]", completed.join(", ")));
        }
        Err(PlanFailure::Failed { report: text })
    }

    /// Executes the plan of `nodes`; `program` runs only if the plan needs an interpreter.
    async fn carry_out(
        &self,
        program: &Program,
        nodes: &PlanHost<'_>,
        capture: &mut Capture<'_>,
    ) -> Result<Option<String>, Failure> {
        let limits = &self.limits;
        if nodes.plan().needs_interpreter() {
            return self.engines.run(program, limits, nodes, capture).await;
        }
        let work = plan::execute(nodes, limits.memory_bytes);
        self.engines.run_without_program(limits, capture, work).await.map(|()| None)
    }

    async fn run_on(
        &self,
        host: &dyn ProgramHost,
        program: &Program,
        limits: &Limits,
        session: &mut Session,
        log: &CallLog,
        observer: &dyn Observer,
    ) -> Outcome {
        let started = Instant::now();
        let mut capture = Capture::new(limits.max_output_bytes, observer);
        let result = tokio::select! {
            result = self.engines.run_in(session, program, limits, host, &mut capture) => result,
            () = observer.called_off() => Err(Failure::Cancelled),
        };
        ended(result, started, capture, limits, log)
    }
}

/// Builds the outcome of a program or plan that has just ended.
fn ended(
    result: Result<Option<String>, Failure>,
    started: Instant,
    capture: Capture<'_>,
    limits: &Limits,
    log: &CallLog,
) -> Outcome {
    let duration = started.elapsed();
    let longest = limits.max_output_bytes.max(SHORTEST_LIMIT);
    let result = result.map_err(|failure| shorten(failure, longest));
    let (stdout, stderr, shown, remarks) = capture.finish();
    let calls = log.told(result.is_err());
    let (value, result) = match result {
        Ok(value) => (value.and_then(|json| RawValue::from_string(json).ok()), Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    let timeout = limits.timeout;
    Outcome {
        result,
        stdout,
        stderr,
        shown,
        value,
        calls,
        remarks,
        session: None,
        sizes: None,
        duration,
        timeout,
    }
}

/// Escapes invisible characters in a traceback, which may contain text from a server. If it is
/// longer than the limit, its middle is cut out: the beginning says where the program was, the end
/// what happened.
fn shorten(failure: Failure, limit: usize) -> Failure {
    let Failure::Raised { traceback, error } = failure else { return failure };
    let traceback = visible(&traceback).into_owned();
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
            (raised("no\u{202e}"), 20, raised("no\\u{202e}")),
        ];
        for (failure, limit, expected) in cases {
            assert_eq!(shorten(failure, limit), expected);
        }
    }
}
