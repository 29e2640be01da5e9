//! The one who executes the calls of a plan: each node once, with its own tool.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_core::{
    AnswerForm, BoxFuture, CallHandler, CallableName, LogEntry, ProgramHost, Resolution,
    ResolvedCall, Resolving, RunContext, ToolCall, ToolError, ToolValue,
};
use serde_json::value::RawValue;

use super::{Node, Plan};
use crate::layers::{schema_answer, schema_question};
use crate::names::RunNames;

/// What nodes are called in a plan's program, each with its number.
const NODE: &str = "plan_node_";

/// Knows the nodes of a plan, and nothing else: a transform cannot call
/// a tool that the plan does not, nor one of its own a second time.
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
    /// The whole answer of the target.
    answer: Option<Box<RawValue>>,
}

impl<'a> PlanHost<'a> {
    /// Calls of the plan's nodes go through `layers` as calls of their tools.
    pub(crate) fn new(
        run: Arc<RunContext>,
        names: &'a RunNames<'a>,
        layers: &'a dyn CallHandler,
        plan: &'a Plan,
    ) -> Self {
        Self { run, names, layers, plan, progress: Mutex::default() }
    }

    /// The answer of the target, as its server sent it.
    pub(crate) fn answer(&self) -> Option<Box<RawValue>> {
        self.progress().answer.take()
    }

    /// The nodes whose tools have answered, as a person reads them.
    pub(crate) fn completed(&self) -> Vec<String> {
        let completed = self.progress().completed.clone();
        let nodes = completed.iter().filter_map(|number| self.plan.nodes.get(*number));
        nodes.map(|node| format!("{} ({})", node.path, node.spec.callable)).collect()
    }

    fn node(&self, name: &CallableName) -> Option<(usize, &Node)> {
        let number = name.as_str().strip_prefix(NODE)?.parse().ok()?;
        Some((number, self.plan.nodes.get(number)?))
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
        Box::pin(async move {
            if let Some(name) = schema_question(&call) {
                return Ok(schema_answer(self.node(&name).map(|(_, node)| &*node.spec)));
            }
            let Some((number, node)) = self.node(&call.name) else {
                return Err(ToolError::NotAvailable { name: call.name });
            };
            let name = node.spec.callable.clone();
            if !self.progress().started.insert(number) {
                return Err(ToolError::failed(&name, "this part of the plan has been run already"));
            }
            let is_target = number + 1 == self.plan.nodes.len();
            let form = if is_target { AnswerForm::Whole } else { AnswerForm::Value };
            let (tool, revision) = self.names.target(&name).await;
            let ToolCall { id, arguments, freshness, .. } = call;
            let run = Arc::clone(&self.run);
            let log_entry = LogEntry::default();
            let call = ResolvedCall {
                id,
                name,
                tool,
                revision,
                arguments,
                form,
                freshness,
                run,
                log_entry,
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
        })
    }
}
