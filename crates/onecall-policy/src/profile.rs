//! What policies know about a tool: its names, its annotations, the types of its arguments, and which
//! policies do not fit its definition.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cedar_policy::RestrictedExpression;
use onecall_catalog::natural_name;
use onecall_core::{RunContext, ToolAnnotations, ToolHint, ToolSpec};

use crate::argument_type::{Arguments, Untyped, argument_types};
use crate::deep_stack::with_deep_stack;
use crate::function::Function;
use crate::reads::InputReads;
use crate::scope::ActionGroup;
use crate::source::SourcePolicy;
use crate::validate::{Findings, Target, validate};

/// A tool or function, as policies see it.
#[derive(Debug)]
pub(crate) struct ToolProfile {
    /// Distinguishes the profiles of one set of policies.
    pub(crate) id: u64,
    /// The definition.
    pub(crate) spec: ToolSpec,
    /// The function, if it is not a tool of a server.
    pub(crate) function: Option<&'static Function>,
    /// The name that the tool would have if no other tool had the same one; `None` if it has that
    /// name.
    pub(crate) natural_name: Option<String>,
    types: OnceLock<Result<Arguments, Untyped>>,
    /// The checks of policies, by the number of the policy and the name of the tool in it.
    findings: Mutex<HashMap<(usize, String), Arc<Findings>>>,
    /// Whether a warning was logged that a policy does not fit.
    has_warned: AtomicBool,
}

impl ToolProfile {
    pub(crate) fn new(id: u64, spec: &ToolSpec) -> Self {
        let function = Function::of(spec);
        let natural = natural_name(&spec.server, &spec.tool);
        let has_other_name = function.is_none() && natural != spec.callable.as_str();
        // A description can be long, and policies cannot read it.
        let spec = ToolSpec { description: None, output_schema: None, ..spec.clone() };
        Self {
            id,
            spec,
            function,
            natural_name: has_other_name.then_some(natural),
            types: OnceLock::new(),
            findings: Mutex::default(),
            has_warned: AtomicBool::new(false),
        }
    }

    /// Whether this is the profile of a definition. A tool can have other definitions at other times,
    /// or for other users.
    pub(crate) fn is_of(&self, spec: &ToolSpec) -> bool {
        let (own, other) = (self.spec.input_schema.text(), spec.input_schema.text());
        let same_schema = std::ptr::eq(own, other) || own == other;
        same_schema
            && self.spec.server == spec.server
            && self.spec.tool == spec.tool
            && self.spec.annotations == spec.annotations
    }

    /// The types of the arguments.
    pub(crate) fn types(&self) -> Result<&Arguments, Untyped> {
        let types = || argument_types(&self.spec.input_schema);
        match self.function {
            Some(function) => Ok(&function.arguments),
            None => self.types.get_or_init(types).as_ref().map_err(|why| *why),
        }
    }

    /// The group of the action.
    pub(crate) fn group(&self) -> ActionGroup {
        self.function.map_or(ActionGroup::Call, |function| function.group)
    }

    /// The check of a policy that names this tool, as `action`, against the definition.
    pub(crate) fn findings(&self, policy: &SourcePolicy, action: &str) -> Arc<Findings> {
        let mut known = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        let check = || {
            let reads_input = policy.reads.input != InputReads::Nothing;
            let arguments = reads_input.then(|| self.types());
            let target = Target { action: Some(action), arguments };
            let findings = with_deep_stack(|| validate(policy, target));
            Arc::new(findings.unwrap_or_else(|| Findings {
                errors: vec![
                    policy.problem(None, "it cannot be checked: no thread can be started"),
                ],
                warnings: Vec::new(),
            }))
        };
        Arc::clone(known.entry((policy.number, action.to_owned())).or_insert_with(check))
    }

    /// Whether a policy that names the tool, as `action`, can be used for its calls. A policy that
    /// reads no arguments fits every tool.
    pub(crate) fn fits(&self, policy: &SourcePolicy, action: &str) -> Result<(), String> {
        if policy.reads.input == InputReads::Nothing {
            return Ok(());
        }
        let findings = self.findings(policy, action);
        let Some(problem) = findings.errors.first() else { return Ok(()) };
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            let tool = &self.spec.callable;
            tracing::warn!(
                "calls of '{tool}' are denied, because a policy does not fit its definition: {problem}"
            );
        }
        Err(problem.to_string())
    }

    /// The attributes of the context that are the same for all calls of the tool.
    pub(crate) fn context(&self) -> Vec<(String, RestrictedExpression)> {
        let tool = RestrictedExpression::new_string(self.spec.tool.as_str().to_owned());
        let annotations = annotations(&self.spec.annotations);
        [("tool".to_owned(), tool)]
            .into_iter()
            .chain(annotations.map(|it| ("annotations".to_owned(), it)))
            .collect()
    }
}

/// The annotations, with the defaults of the protocol.
fn annotations(annotations: &ToolAnnotations) -> Option<RestrictedExpression> {
    let hints = [
        ("read_only", !ToolHint::Writes.applies(annotations)),
        ("destructive", ToolHint::Destructive.applies(annotations)),
        ("idempotent", annotations.idempotent_hint.unwrap_or(false)),
        ("open_world", ToolHint::OpenWorld.applies(annotations)),
    ];
    let hints = hints.map(|(name, hint)| (name.to_owned(), RestrictedExpression::new_bool(hint)));
    RestrictedExpression::new_record(hints).ok()
}

/// The attributes of the context that differ from run to run.
pub(crate) fn run_context(run: &RunContext) -> Vec<(String, RestrictedExpression)> {
    let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
    let mut attributes =
        vec![("client".to_owned(), text(&run.client)), ("kind".to_owned(), text(run.kind.name()))];
    if let Some(program) = &run.program {
        attributes.push(("program".to_owned(), text(&program.to_string())));
    }
    attributes
}
