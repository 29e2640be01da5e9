//! Runs one plan, on an interpreter if it needs one.

use std::sync::Arc;
use std::time::Instant;

use onecall_core::{
    CallSummary, EngineChoice, EngineName, Failure, OutcomeDetail, Program, RunKind, ToolHost,
};
use onecall_engine::{HeldCalls, RunControl, Session};

use super::ending::{build_outcome, until_stopped};
use super::{RunStart, Runtime};
use crate::call_log::LogWriter;
use crate::capture::Capture;
use crate::journal::{Journal, abandon_if_dropped};
use crate::names::RunNames;
use crate::plan::{self, PlanHost};
use crate::record::ToolSource;
use crate::run_telemetry::RunTelemetry;
use crate::{Observer, Plan, PlanAnswer, PlanFailure, RunOptions, report};

/// The engine that runs plans.
const PLAN_ENGINE: EngineChoice = EngineChoice::Only(EngineName::Python);

impl Runtime {
    /// Runs a plan to its end with these tools, and returns the answer of its target.
    ///
    /// # Errors
    /// If the plan fails. The error is the whole text of the answer.
    pub async fn run_plan(
        &self,
        plan: &Plan,
        tools: &dyn ToolHost,
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> Result<PlanAnswer, PlanFailure> {
        let run = self.run_plan_recorded(plan, tools, options.journal(), observer);
        abandon_if_dropped(options.journal(), run).await
    }

    async fn run_plan_recorded(
        &self,
        plan: &Plan,
        tools: &dyn ToolHost,
        journal: Option<&Journal>,
        observer: &dyn Observer,
    ) -> Result<PlanAnswer, PlanFailure> {
        let program = Program { engine: Some(PLAN_ENGINE), ..Program::new(plan.program()) };
        let RunStart { context, log, recording } =
            self.begin(&program, RunKind::Plan, journal, observer);
        let telemetry = RunTelemetry::start(&self.metrics, &context, journal);
        let audit = self.run_audit(&context, journal);
        let log_writer = LogWriter::new(&log, &telemetry, observer, journal, audit.as_ref());
        let held = HeldCalls::default();
        let layers = self.run_layers(log_writer, &self.limits, journal, &held).around(tools);
        let names = RunNames::new(tools);
        let nodes = PlanHost::new(Arc::clone(&context), &names, &layers, plan, journal);
        let run = async {
            let (limits, started) = (&self.limits, Instant::now());
            let mut capture = Capture::new(limits.max_output_bytes, observer);
            let control = self.control(journal, &held, false);
            let work = self.execute_plan(&program, &nodes, control, &mut capture);
            let result = until_stopped(work, journal, observer).await;
            let result = result.map_err(|failure| plan.explain_failure(failure));
            build_outcome(result, started, capture, limits, &log, OutcomeDetail::Brief)
        };
        let mut outcome = telemetry.track(run).await;
        let answer = nodes.take_answer();
        if let Some(recording) = &recording {
            let tool_source = ToolSource::Directory(Arc::clone(&self.directory));
            let text =
                || answer.as_ref().map_or_else(|| report(&outcome), |it| it.get().to_owned());
            let engine = plan.needs_interpreter().then_some(PLAN_ENGINE);
            recording.finish(&outcome, text, engine, tool_source);
        }
        if outcome.result.is_ok()
            && let Some(answer) = answer
        {
            return Ok(PlanAnswer::new(&answer, self.limits.max_output_bytes));
        }
        // The program may have reported success without having called the target.
        outcome.result = outcome.result.and_then(|()| {
            Err(Failure::WorkerDied {
                reason: "the plan ended without a result of its target tool".to_owned(),
            })
        });
        // The list of completed nodes is more useful than the list of calls.
        outcome.calls = CallSummary::default();
        let mut text = report(&outcome);
        let completed = nodes.completed();
        if !completed.is_empty() {
            text.push_str(&format!("\n[Nodes completed: {}]", completed.join(", ")));
        }
        Err(PlanFailure::Failed { report: text })
    }

    /// Executes the plan of `nodes`; `program` runs only if the plan needs an interpreter.
    async fn execute_plan(
        &self,
        program: &Program,
        nodes: &PlanHost<'_>,
        control: RunControl<'_>,
        capture: &mut Capture<'_>,
    ) -> Result<Option<String>, Failure> {
        let limits = &self.limits;
        if nodes.plan().needs_interpreter() {
            let session = &mut Session::default();
            return self.run_on_engine(session, program, limits, nodes, control, capture).await;
        }
        let work = plan::execute(nodes, limits.memory_bytes);
        self.engines.run_without_program(control, limits, capture, work).await.map(|()| None)
    }
}
