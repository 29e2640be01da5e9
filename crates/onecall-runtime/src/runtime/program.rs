//! Runs one program: checks it, enters its session, runs it on an engine and builds its outcome.

use std::sync::Arc;
use std::time::Instant;

use onecall_catalog::ParsedProgram;
use onecall_core::{
    Failure, InPlaceReason, Outcome, OutcomeDetail, Program, RunContext, RunKind, RunLimits,
    ToolHost, ToolResolver,
};
use onecall_engine::{HeldCalls, ObservationSink, RunControl, Session, choice_of};

use super::ending::{build_outcome, until_stopped};
use super::{RunStart, Runtime, ToolAccess};
use crate::call_log::{CallLog, LogWriter};
use crate::capture::Capture;
use crate::directory::Directory;
use crate::hint::hint;
use crate::journal::abandon_if_dropped;
use crate::layers::CacheFunctions;
use crate::names::RunNames;
use crate::program_calls::ProgramCalls;
use crate::record::ToolSource;
use crate::run_telemetry::RunTelemetry;
use crate::sessions::{SessionLease, SessionStatus};
use crate::undeclared_results::UndeclaredResults;
use crate::{Observer, RunOptions, report, review, stack};

impl Runtime {
    /// Runs one program to its end, without a journal. Dropping the future kills the program and
    /// cancels its calls.
    pub async fn run(&self, program: &Program, observer: &dyn Observer) -> Outcome {
        self.run_with(program, &RunOptions::default(), observer).await
    }

    /// Runs one program to its end. Dropping the future kills the program; without a journal its
    /// calls are cancelled, with one it can be continued.
    pub async fn run_with(
        &self,
        program: &Program,
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> Outcome {
        let cache_layer = self.cache_layer();
        let access = ToolAccess {
            resolver: self.resolver.as_ref(),
            layers: match &cache_layer {
                Some(cache_layer) => cache_layer,
                None => self.layers.as_ref(),
            },
            directory: self.directory.as_ref(),
            cache_layer: cache_layer.as_ref(),
            journal: options.journal(),
        };
        let tool_source = || ToolSource::Directory(Arc::clone(&self.directory));
        let run = self.run_recorded(access, program, RunKind::Program, observer, tool_source);
        abandon_if_dropped(options.journal(), run).await
    }

    /// Runs one program that brings its own tools: `host` executes them, `directory` lists them.
    pub async fn run_with_own_tools(
        &self,
        host: &dyn ToolHost,
        directory: &dyn Directory,
        program: &Program,
        observer: &dyn Observer,
    ) -> Outcome {
        let layers = stack::own_tool_layers(host);
        let (cache_layer, journal) = (None, None);
        let access =
            ToolAccess { resolver: host, layers: &layers, directory, cache_layer, journal };
        let tool_source = || ToolSource::List(directory.known_tools());
        let outcome =
            self.run_recorded(access, program, RunKind::Exec, observer, tool_source).await;
        Outcome { sizes: None, ..outcome }
    }

    /// Runs a program with recording and telemetry.
    async fn run_recorded(
        &self,
        access: ToolAccess<'_>,
        program: &Program,
        kind: RunKind,
        observer: &dyn Observer,
        tool_source: impl FnOnce() -> ToolSource,
    ) -> Outcome {
        let own_journal = self.journal_for_record(program, access.journal);
        let journal = access.journal.or(own_journal.as_deref());
        let access = ToolAccess { journal, ..access };
        let RunStart { context, log, recording } = self.begin(program, kind, journal, observer);
        let telemetry = RunTelemetry::start(&self.metrics, &context, journal);
        let run = self.check_and_run(&context, &log, &telemetry, access, program, observer);
        let outcome = telemetry.track(run).await;
        let sizes = recording.and_then(|recording| {
            recording.finish(&outcome, || report(&outcome), telemetry.engine(), tool_source())
        });
        Outcome { sizes, ..outcome }
    }

    async fn check_and_run(
        &self,
        context: &Arc<RunContext>,
        log: &CallLog,
        telemetry: &RunTelemetry<'_>,
        access: ToolAccess<'_>,
        program: &Program,
        observer: &dyn Observer,
    ) -> Outcome {
        let ToolAccess { resolver, layers, directory, cache_layer, journal } = access;
        let continued = journal.and_then(|journal| journal.on_first_engine(program));
        let program = continued.as_ref().unwrap_or(program);
        telemetry.set_engine(choice_of(program));
        let (program, parsed) = review::parse(program);
        let program = &*program;
        let mut limits = self.limits.clone();
        limits.timeout = program.timeout.unwrap_or(limits.timeout);
        if let Err(mismatch) = self.engines.check(program) {
            return Outcome::not_started(mismatch.into(), limits.timeout);
        }
        if let Some(journal) = journal
            && program.session.is_some()
        {
            journal.in_place_only(InPlaceReason::Session);
        }
        // A program that is continued or replayed was checked when it began. What has changed since is
        // reported as a difference to its journal.
        let is_repeated = journal.is_some_and(|it| it.is_resumed() || it.is_replay());
        let names = RunNames::new(resolver);
        let names_value_type = program.detail == OutcomeDetail::Brief && parsed.ends_with_value();
        let fast_names = parsed.fast_names().join("\n");
        let admitted = tokio::select! {
            admitted = self.admit(&names, directory, program, parsed, &limits, !is_repeated) => admitted,
            () = observer.cancelled() => Err(Failure::Cancelled),
        };
        let mut lease = match admitted {
            Ok(lease) => lease,
            Err(failure) => return Outcome::not_started(failure, limits.timeout),
        };
        let audit = self.run_audit(context, journal);
        let log_writer = LogWriter::new(log, telemetry, observer, journal, audit.as_ref());
        let held = HeldCalls::default();
        let layers = self.run_layers(log_writer, &limits, journal, &held).around(layers);
        let host = ProgramCalls {
            run: Arc::clone(context),
            names: &names,
            layers: &layers,
            directory,
            cache: CacheFunctions::new(cache_layer),
            journal,
            undeclared: UndeclaredResults::default(),
        };
        let mut temporary = Session::default();
        let session = lease.as_mut().and_then(SessionLease::session).unwrap_or(&mut temporary);
        let started = Instant::now();
        let mut capture = Capture::new(limits.max_output_bytes, observer);
        let control = RunControl {
            fast_names: &fast_names,
            ..self.control(journal, &held, names_value_type)
        };
        let run = self.run_on_engine(session, program, &limits, &host, control, &mut capture);
        let result = until_stopped(run, journal, observer).await.map_err(|failure| match journal {
            Some(journal) => journal.explain_engine(failure),
            None => failure,
        });
        let mut outcome = build_outcome(result, started, capture, &limits, log, program.detail);
        telemetry.set_engine(session.engine());
        if let Err(Failure::Raised { error, .. }) = &outcome.result {
            let hint = error.denied.map(|denied| hint(denied, directory));
            let returned = host.undeclared.remarks(error, program.language);
            outcome.remarks.extend(hint.into_iter().chain(returned));
        }
        if let Some(lease) = lease {
            match lease.release() {
                SessionStatus::Alive { handle } => outcome.session = handle,
                SessionStatus::Ended { remark } => outcome.remarks.push(remark),
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
        limits: &RunLimits,
        is_checked: bool,
    ) -> Result<Option<SessionLease>, Failure> {
        if is_checked {
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
            Some(request) => {
                self.sessions.acquire(request, &self.access().principal.user).await.map(Some)
            }
            None => Ok(None),
        }
    }
}
