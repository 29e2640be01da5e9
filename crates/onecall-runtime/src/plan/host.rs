//! Executes the calls of a plan: each node once, with its own tool.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_core::{
    AnswerForm, BoxFuture, CallHandler, CallableName, Freshness, JournalCall, LogIndex, NodeCall,
    ProgramHost, ProgramQuestion, Resolution, ResolutionFuture, ResolvedCall, RunContext, ToolCall,
    ToolError, ToolValue,
};
use serde_json::value::RawValue;

use super::Plan;
use crate::journal::Journal;
use crate::layers::input_schema;
use crate::names::RunNames;

/// The host of a plan's program. It only executes the plan's nodes: a transform cannot call a tool
/// that is not in the plan, nor a node for a second time.
pub(crate) struct PlanHost<'a> {
    run: Arc<RunContext>,
    names: &'a RunNames<'a>,
    layers: &'a dyn CallHandler,
    plan: &'a Plan,
    journal: Option<&'a Journal>,
    progress: Mutex<PlanProgress>,
}

#[derive(Default)]
struct PlanProgress {
    started: BTreeSet<usize>,
    completed: BTreeSet<usize>,
    /// The complete answer of the target.
    answer: Option<Box<RawValue>>,
}

impl<'a> PlanHost<'a> {
    /// Creates a host; the calls of the plan's nodes pass through `layers`. `journal` is that of the
    /// run, if it has one.
    pub(crate) fn new(
        run: Arc<RunContext>,
        names: &'a RunNames<'a>,
        layers: &'a dyn CallHandler,
        plan: &'a Plan,
        journal: Option<&'a Journal>,
    ) -> Self {
        Self { run, names, layers, plan, journal, progress: Mutex::default() }
    }

    /// The plan whose nodes are executed.
    pub(crate) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Takes the answer of the target, as its server sent it.
    pub(crate) fn take_answer(&self) -> Option<Box<RawValue>> {
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
    pub(super) fn run_node(
        &self,
        call: NodeCall,
    ) -> impl Future<Output = Result<ToolValue, ToolError>> + Send {
        if let (Some(journal), Some(node)) = (self.journal, self.plan.nodes.get(call.node)) {
            // The order of events in the journal is that of the program.
            let name = node.spec.callable.clone();
            journal.called(JournalCall {
                id: call.id,
                site: call.site.clone(),
                arguments: call.arguments.get().to_owned(),
                definition: journal.definition(|| self.names.known(&name)),
                name,
            });
        }
        self.answer_node(call)
    }

    async fn answer_node(&self, call: NodeCall) -> Result<ToolValue, ToolError> {
        let NodeCall { id, node: number, arguments, site } = call;
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
        let log_index = LogIndex::default();
        let call = ResolvedCall {
            id,
            name,
            tool,
            revision,
            arguments,
            form,
            freshness,
            site,
            run,
            log_index,
        };
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

    fn progress(&self) -> MutexGuard<'_, PlanProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgramHost for PlanHost<'_> {
    fn resolve<'a>(&'a self, _name: &'a CallableName) -> ResolutionFuture<'a> {
        ResolutionFuture::ready(Resolution::unknown(Vec::new()))
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        let refused = ToolError::NotAvailable { name: call.name };
        Box::pin(std::future::ready(Err(refused)))
    }

    fn call_node(&self, call: NodeCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(self.run_node(call))
    }

    fn ask(
        &self,
        _id: u64,
        question: ProgramQuestion,
    ) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        let answer = match question {
            ProgramQuestion::NodeSchema { node } => {
                Ok(input_schema(self.plan.nodes.get(node).map(|node| &*node.spec)))
            }
            _ => Err(ToolError::NotAvailable { name: CallableName::new("tools") }),
        };
        Box::pin(std::future::ready(answer))
    }
}
