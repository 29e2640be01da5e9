//! Plans: a request to call a tool whose arguments may be the results of other calls.
//!
//! A plan is read ([`read`]) and checked as a whole ([`check_plan`]). A plan without transforms is
//! executed directly ([`execute`](mod@execute)); any other is compiled into a program ([`program`])
//! and runs like one. In both cases [`PlanHost`] executes the nodes.

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

pub use check::{PlanLookup, check_plan};
pub(crate) use execute::execute;
pub(crate) use host::PlanHost;
pub use read::PlanRequest;

/// A checked plan: every tool exists, every reference is valid, and no call depends on itself.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Each node comes after those whose results it needs; the last one is the target.
    nodes: Vec<Node>,
    definitions: Option<String>,
}

impl Plan {
    /// The tools that the plan calls.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.nodes.iter().map(|node| &*node.spec)
    }
}

/// One call of a plan.
#[derive(Clone, Debug)]
struct Node {
    /// The node's path in the request.
    path: String,
    spec: Arc<ToolSpec>,
    identifier: Option<String>,
    arguments: Vec<(String, Argument)>,
}

/// An argument of a call, or a part of one.
#[derive(Clone, Debug)]
enum Argument {
    Literal(Value),
    List(Vec<Argument>),
    Object(Vec<(String, Argument)>),
    Result(ResultUse),
}

/// The use of a node's result in an argument.
#[derive(Clone, Debug)]
struct ResultUse {
    node: usize,
    /// The path of this use in the request.
    path: String,
    transform: Option<Transform>,
}

/// The Python source of a function that transforms a result.
#[derive(Clone, Debug)]
struct Transform {
    /// The number of the transform within the plan.
    number: usize,
    source: String,
}

impl Argument {
    /// Calls `visit` with every result in the argument, in order.
    fn results<'a>(&'a self, visit: &mut dyn FnMut(&'a ResultUse)) {
        match self {
            Self::Literal(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.results(visit)),
            Self::Object(entries) => entries.iter().for_each(|(_, value)| value.results(visit)),
            Self::Result(result) => visit(result),
        }
    }
}

impl Node {
    /// Every result that the node needs, in order; the same node can occur more than once.
    fn results(&self) -> Vec<&ResultUse> {
        let mut results = Vec::new();
        for (_, argument) in &self.arguments {
            argument.results(&mut |result| results.push(result));
        }
        results
    }
}

impl Plan {
    /// The tools that the plan calls, in the order of execution.
    pub fn tools(&self) -> impl Iterator<Item = &CallableName> {
        self.nodes.iter().map(|node| &node.spec.callable)
    }
}

/// Everything that is wrong with a plan. No part of the plan has been run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblems(Vec<PlanProblem>);

/// Why a plan gave no answer. The display text is the answer that the client gets instead.
#[derive(Debug, Error)]
pub enum PlanFailure {
    /// The plan is not valid; no part of it was run.
    #[error("[Script execution failed]\n{0}")]
    Refused(#[from] PlanProblems),
    /// The plan ended before its target answered.
    #[error("{report}")]
    Failed {
        /// What happened, and which nodes had completed.
        report: String,
    },
}

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblem {
    /// Where the problem is in the request.
    pub path: String,
    /// The message that says what is wrong at `path`.
    pub message: String,
}

impl PlanProblem {
    /// Creates a problem at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl From<Vec<PlanProblem>> for PlanProblems {
    fn from(problems: Vec<PlanProblem>) -> Self {
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
        for PlanProblem { path, message } in &self.0 {
            write!(formatter, "\n- {path}: {message}")?;
        }
        Ok(())
    }
}
