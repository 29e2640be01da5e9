//! Plans: a tool to call, whose arguments may be the results of other calls.
//!
//! A plan is read ([`read`]) and checked as a whole ([`check_plan`]). One without transforms is carried out
//! right here ([`execute`](mod@execute)). Another is compiled into a program ([`program`]), which
//! runs where programs run. Either way [`PlanHost`](host::PlanHost) executes its nodes.

mod check;
mod execute;
mod explain;
mod failure;
mod host;
mod program;
mod read;

use std::fmt;
use std::sync::Arc;

use onecall_core::{CallableName, ToolSpec};
use serde_json::Value;
use thiserror::Error;

pub use check::{Lookup, check_plan};
pub(crate) use execute::execute;
pub(crate) use host::PlanHost;
pub use read::PlanRequest;

/// A plan in which every tool exists, every reference leads somewhere and no call
/// waits for itself.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Each after those whose results it needs; the last is the target.
    nodes: Vec<Node>,
    definitions: Option<String>,
}

/// One call.
#[derive(Clone, Debug)]
struct Node {
    /// Where it stands in the request.
    path: String,
    spec: Arc<ToolSpec>,
    identifier: Option<String>,
    arguments: Vec<(String, Argument)>,
}

/// A value that a call is made with.
#[derive(Clone, Debug)]
enum Argument {
    Literal(Value),
    List(Vec<Argument>),
    Object(Vec<(String, Argument)>),
    Result(ResultOf),
}

/// The result of a node, on its way into an argument.
#[derive(Clone, Debug)]
struct ResultOf {
    node: usize,
    /// Where this use of it stands in the request.
    path: String,
    transform: Option<Transform>,
}

/// Python source of a function that changes a result.
#[derive(Clone, Debug)]
struct Transform {
    /// Distinguishes the transforms of one plan.
    number: usize,
    source: String,
}

impl Argument {
    /// Calls `visit` with every result in it, in order.
    fn results<'a>(&'a self, visit: &mut dyn FnMut(&'a ResultOf)) {
        match self {
            Self::Literal(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.results(visit)),
            Self::Object(entries) => entries.iter().for_each(|(_, value)| value.results(visit)),
            Self::Result(result) => visit(result),
        }
    }
}

impl Node {
    /// Every result it needs, in order; the same node may be there twice.
    fn results(&self) -> Vec<&ResultOf> {
        let mut results = Vec::new();
        for (_, argument) in &self.arguments {
            argument.results(&mut |result| results.push(result));
        }
        results
    }
}

impl Plan {
    /// The tools it calls, in the order of the calls.
    pub fn tools(&self) -> impl Iterator<Item = &CallableName> {
        self.nodes.iter().map(|node| &node.spec.callable)
    }
}

/// Everything that is wrong with a plan; nothing of it has been run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblems(Vec<Problem>);

/// Why a plan gave no answer. The display text is what its client gets in the place of an answer.
#[derive(Debug, Error)]
pub enum PlanFailure {
    /// Something is wrong with the plan, and nothing of it was run.
    #[error("[Script execution failed]\n{0}")]
    Refused(#[from] PlanProblems),
    /// The plan ended before its target answered.
    #[error("{report}")]
    Failed {
        /// What happened, and which nodes had been completed.
        report: String,
    },
}

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands in the request.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl Problem {
    /// The part of the request at `path` is wrong.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl From<Vec<Problem>> for PlanProblems {
    fn from(problems: Vec<Problem>) -> Self {
        Self(problems)
    }
}

impl std::error::Error for PlanProblems {}

impl fmt::Display for PlanProblems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = match self.0.len() {
            1 => "a problem".to_owned(),
            count => format!("{count} problems"),
        };
        write!(formatter, "PlanError: the plan has {count}, and nothing of it was run:")?;
        for Problem { path, message } in &self.0 {
            write!(formatter, "\n- {path}: {message}")?;
        }
        Ok(())
    }
}
