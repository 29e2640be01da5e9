//! Runs programs and plans within their limits. [`Runtime`] is the entry point of this crate. It
//! checks a program, enters its session, runs it on an engine with its calls going through the
//! layers, and returns its outcome (`program.rs`); plans are run in the same way (`plan.rs`).

mod ending;
mod engine_start;
mod plan;
mod program;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use onecall_core::{
    AskPolicy, CallHandler, Digest, Program, RunContext, RunId, RunKind, RunLimits, SessionLimits,
    Timestamp, ToolHost, ToolResolver,
};
use onecall_engine::{Engines, HeldCalls, RunControl};

use crate::access::UserAccess;
use crate::approval::Approvals;
use crate::audit::{AuditWriter, RunAudit};
use crate::call_log::{CallLog, LogWriter, RecordDetail};
use crate::directory::{Directory, ResolverDirectory};
use crate::journal::Journal;
use crate::layers::{Cache, CacheLayer, CallRates};
use crate::record::{Recorder, Recording};
use crate::review::{self, Preview};
use crate::saved_program::save;
use crate::sessions::Sessions;
use crate::stack::{self, RunLayers};
use crate::{ApprovalDesk, Metrics, Observer, SaveError};

/// Runs programs on engines, with the tools of a host.
pub struct Runtime {
    engines: Arc<Engines>,
    resolver: Arc<dyn ToolResolver>,
    /// The layers that runs share, down to the host.
    layers: Arc<dyn CallHandler>,
    directory: Arc<dyn Directory>,
    limits: RunLimits,
    sessions: Arc<Sessions>,
    cache: Option<Arc<Cache>>,
    recorder: Option<Arc<Recorder>>,
    metrics: Arc<Metrics>,
    approvals: Option<Approvals>,
    access: UserAccess,
    call_rates: Option<Arc<CallRates>>,
    audit: Option<Arc<AuditWriter>>,
}

/// What the calls of one run can access.
#[derive(Clone, Copy)]
pub(crate) struct ToolAccess<'a> {
    pub(crate) resolver: &'a dyn ToolResolver,
    /// The layers that runs share, the cache among them.
    pub(crate) layers: &'a dyn CallHandler,
    pub(crate) directory: &'a dyn Directory,
    pub(crate) cache_layer: Option<&'a CacheLayer>,
    /// The journal of the run, if it has one.
    pub(crate) journal: Option<&'a Journal>,
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
    pub fn new(engines: Arc<Engines>, host: Arc<dyn ToolHost>, limits: RunLimits) -> Self {
        Self::layered(engines, host.clone(), host, limits)
    }

    /// Creates a runtime: programs run on `engines` within `limits`; `resolver` looks names up, and
    /// `layers` execute the calls.
    #[must_use]
    pub fn layered(
        engines: Arc<Engines>,
        resolver: Arc<dyn ToolResolver>,
        layers: Arc<dyn CallHandler>,
        limits: RunLimits,
    ) -> Self {
        let directory = Arc::new(ResolverDirectory(Arc::clone(&resolver)));
        let sessions = Arc::new(Sessions::new(SessionLimits::default()));
        let (cache, recorder, metrics, approvals) = (None, None, Arc::default(), None);
        Self {
            engines,
            resolver,
            layers,
            directory,
            limits,
            sessions,
            cache,
            recorder,
            metrics,
            approvals,
            access: UserAccess::default(),
            call_rates: None,
            audit: None,
        }
    }

    /// Sets the user that all runs are for, and the policy that decides about their calls. The default
    /// is the local user without a policy.
    #[must_use]
    pub fn with_access(self, access: UserAccess) -> Self {
        Self { access, ..self }
    }

    /// Limits how many calls each user may make in a minute. All runtimes of a process share the counts.
    #[must_use]
    pub fn with_call_rates(self, call_rates: Option<Arc<CallRates>>) -> Self {
        Self { call_rates, ..self }
    }

    /// Adds an audit trail: each decision about a call, and the end of the call, are written to it.
    #[must_use]
    pub fn with_audit(self, audit: Option<Arc<AuditWriter>>) -> Self {
        Self { audit, ..self }
    }

    /// The audit of one run, if there is an audit trail.
    pub(crate) fn run_audit<'a>(
        &'a self,
        context: &Arc<RunContext>,
        journal: Option<&'a Journal>,
    ) -> Option<RunAudit<'a>> {
        self.audit.as_deref().map(|writer| RunAudit::new(writer, context, journal))
    }

    pub(crate) fn access(&self) -> &UserAccess {
        &self.access
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
    fn cache_layer(&self) -> Option<CacheLayer> {
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

    /// Sets which calls need an approval, and the desk that asks people. The desk is also asked about
    /// calls of continued runs whose outcome is unknown, so it is useful with an empty policy, too.
    #[must_use]
    pub fn with_approvals(self, policy: AskPolicy, desk: Arc<dyn ApprovalDesk>) -> Self {
        Self { approvals: Some(Approvals { policy, desk }), ..self }
    }

    pub(crate) fn approvals(&self) -> Option<&Approvals> {
        self.approvals.as_ref()
    }

    pub(crate) fn directory(&self) -> &dyn Directory {
        self.directory.as_ref()
    }

    /// The limits of one program.
    #[must_use]
    pub fn limits(&self) -> &RunLimits {
        &self.limits
    }

    /// Saves the source of a program as a file, if programs have a folder that they may write to.
    ///
    /// # Errors
    /// If the name cannot be used, or the file cannot be written.
    pub async fn save(&self, program: &Program, name: &str) -> Result<Option<PathBuf>, SaveError> {
        match self.engines.lock_workspace().await {
            Some(room) => save(&room, name, &program.code).map(Some),
            None => Ok(None),
        }
    }

    /// Begins a run: its context, its log, and its recording if runs are recorded.
    pub(crate) fn begin(
        &self,
        program: &Program,
        kind: RunKind,
        journal: Option<&Journal>,
        observer: &dyn Observer,
    ) -> RunStart {
        let record_detail =
            self.recorder.as_ref().map_or(RecordDetail::None, |recorder| recorder.record_detail());
        let log = Arc::new(CallLog::new(program.detail, record_detail));
        let user = &self.access.principal.user;
        let begin =
            |recorder| Recording::begin(recorder, program, kind, user, observer, &log, journal);
        let is_replay = journal.is_some_and(Journal::is_replay);
        let recording = self.recorder.as_ref().filter(|_| !is_replay).map(begin);
        let id = recording.as_ref().map(|recording| recording.id.clone());
        let id = id.or_else(|| journal.map(|journal| journal.run().clone()));
        let id = id.unwrap_or_else(|| RunId::generate(Timestamp::now().0));
        let context = Arc::new(RunContext {
            id,
            kind,
            principal: Arc::clone(&self.access.principal),
            client: observer.client(),
            program: kind.is_program().then(|| Digest::of(&program.code)),
            language: program.language,
            caller: observer.caller(),
        });
        RunStart { context, log, recording }
    }

    /// The layers of one run.
    pub(crate) fn run_layers<'a>(
        &'a self,
        log: LogWriter<'a>,
        limits: &'a RunLimits,
        journal: Option<&'a Journal>,
        held: &'a HeldCalls,
    ) -> RunLayers<'a> {
        RunLayers {
            log,
            limits,
            journal,
            access: &self.access,
            call_rates: self.call_rates.as_deref(),
            approvals: self.approvals.as_ref(),
            held,
        }
    }

    /// A journal in memory for a program that has no other one, if its record needs it. A program of a
    /// session cannot be repeated.
    fn journal_for_record(
        &self,
        program: &Program,
        journal: Option<&Journal>,
    ) -> Option<Arc<Journal>> {
        let recorder = self.recorder.as_ref()?;
        let is_full = recorder.record_detail() == RecordDetail::Full;
        if !is_full || journal.is_some() || program.session.is_some() {
            return None;
        }
        let no_randomness = |error: &io::Error| {
            tracing::warn!(
                "a run cannot be replayed, because there are no random numbers: {error}"
            );
        };
        Journal::for_record().inspect_err(no_randomness).ok()
    }

    /// How the engine controls a run. A run that asks no person and has no journal pays nothing. A policy
    /// may be replaced by one that has a person asked, and a run that an earlier process began may ask about
    /// calls whose outcome is unknown.
    fn control<'a>(
        &'a self,
        journal: Option<&'a Journal>,
        held: &'a HeldCalls,
        names_value_type: bool,
    ) -> RunControl<'a> {
        let may_ask = |it: &Approvals| !it.policy.is_empty() || self.access.policy.is_some();
        let can_wait = self.approvals.as_ref().is_some_and(may_ask)
            || journal.is_some_and(Journal::is_resumed);
        RunControl {
            user: self.access.principal.user.as_str(),
            names_value_type,
            fast_names: "",
            held: can_wait.then_some(held),
            journal: journal.map(Journal::control),
            is_continued: journal
                .is_some_and(|journal| journal.is_resumed() && journal.is_durable()),
        }
    }

    /// Reports which tools a program can call, without running it.
    pub async fn preview(&self, program: &Program) -> Preview {
        let (program, parsed) = review::parse(program);
        let (names, directory) = (self.resolver.as_ref(), self.directory.as_ref());
        Preview::of(&program, &parsed, names, directory, &|spec| self.ask_preview(spec)).await
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
}
