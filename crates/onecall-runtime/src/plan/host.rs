//! Executes the calls of a plan: each node once, with its own tool.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_core::{
    AnswerForm, BoxFuture, CallHandler, CallableName, Freshness, LogEntry, NodeCall, ProgramHost,
    ProgramQuestion, Resolution, ResolvedCall, Resolving, RunContext, ToolCall, ToolError,
    ToolValue,
};
use serde_json::value::RawValue;

use super::Plan;
use crate::layers::input_schema;
use crate::names::RunNames;

/// The host of a plan's program. It only executes the plan's nodes: a transform cannot call a tool
/// that is not in the plan, nor a node for a second time.
pub(crate) struct PlanHost<'a> {
    run: Arc<RunContext>,
    names: &'a RunNames<'a>,
    layers: &'a dyn CallHandler,
    plan: &'a Plan,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    started: BTreeSet<usize>,
    completed: BTreeSet<usize>,
    /// The complete answer of the target.
    answer: Option<Box<RawValue>>,
}

impl<'a> PlanHost<'a> {
    /// Creates a host; the calls of the plan's nodes pass through `layers`.
    pub(crate) fn new(
        run: Arc<RunContext>,
        names: &'a RunNames<'a>,
        layers: &'a dyn CallHandler,
        plan: &'a Plan,
    ) -> Self {
        Self { run, names, layers, plan, progress: Mutex::default() }
    }

    /// The plan whose nodes are executed.
    pub(crate) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Takes the answer of the target, as its server sent it.
    pub(crate) fn answer(&self) -> Option<Box<RawValue>> {
        self.progress().answer.take()
    }

    /// The nodes whose tools have answered, as text for a person.
    pub(crate) fn completed(&self) -> Vec<String> {
        let completed = self.progress().completed.clone();
        let nodes = completed.iter().filter_map(|number| self.plan.nodes.get(*number));
        nodes.map(|node| format!("{} ({})", node.path, node.spec.callable)).collect()
    }

    /// Calls the tool of a node. The answer of the target is kept here; the program gets an empty
    /// value in its place.
    pub(super) async fn run(&self, call: NodeCall) -> Result<ToolValue, ToolError> {
        let NodeCall { id, node: number, arguments } = call;
        let Some(node) = self.plan.nodes.get(number) else {
            return Err(ToolError::NotAvailable { name: CallableName::new("node of a plan") });
        };
        let name = node.spec.callable.clone();
        if !self.progress().started.insert(number) {
            return Err(ToolError::failed(&name, "this part of the plan has been run already"));
        }
        let is_target = number + 1 == self.plan.nodes.len();
        let form = if is_target { AnswerForm::Whole } else { AnswerForm::Value };
        let (tool, revision) = self.names.target(&name).await;
        let (freshness, run) = (Freshness::Any, Arc::clone(&self.run));
        let log_entry = LogEntry::default();
        let call =
            ResolvedCall { id, name, tool, revision, arguments, form, freshness, run, log_entry };
        let value = self.layers.call(call).await?.value;
        let mut progress = self.progress();
        progress.completed.insert(number);
        match value {
            ToolValue::Json(answer) if is_target => {
                progress.answer = Some(answer);
                Ok(ToolValue::Nothing)
            }
            value => Ok(value),
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgramHost for PlanHost<'_> {
    fn resolve<'a>(&'a self, _name: &'a CallableName) -> Resolving<'a> {
        Resolving::now(Resolution::unknown(Vec::new()))
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        let refused = ToolError::NotAvailable { name: call.name };
        Box::pin(std::future::ready(Err(refused)))
    }

    fn call_node(&self, call: NodeCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(self.run(call))
    }

    fn ask(&self, question: ProgramQuestion) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        let answer = match question {
            ProgramQuestion::NodeSchema { node } => {
                Ok(input_schema(self.plan.nodes.get(node).map(|node| &*node.spec)))
            }
            _ => Err(ToolError::NotAvailable { name: CallableName::new("tools") }),
        };
        Box::pin(std::future::ready(answer))
    }
}
