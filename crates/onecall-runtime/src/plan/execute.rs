//! Executes a plan that needs no interpreter, by calling its nodes directly.
//!
//! A node is called as soon as the results that it needs have arrived. Results and arguments have
//! the same values as in a program (`onecall_engine::PlainData`) and count against the same memory
//! limit.

use std::collections::VecDeque;

use futures_util::stream::{FuturesUnordered, StreamExt};
use onecall_core::{ErrorSummary, Failure, NodeCall, PlanPart, ToolError, ToolValue};
use onecall_engine::{ArgumentWriter, PlainData, UnreadableAnswer, UnwritableArguments};
use serde_json::value::RawValue;

use super::{Argument, Node, Plan, PlanHost};

impl Plan {
    /// Whether the plan contains Python and has to run as a program.
    pub(crate) fn needs_interpreter(&self) -> bool {
        let mut results = self.nodes.iter().flat_map(Node::results);
        self.definitions.is_some() || results.any(|result| result.transform.is_some())
    }
}

/// Executes a plan that needs no interpreter. Its results and arguments may take `memory_bytes`
/// together.
pub(crate) async fn execute(host: &PlanHost<'_>, memory_bytes: u64) -> Result<(), Failure> {
    let mut execution = Execution::new(host.plan(), memory_bytes);
    let mut running = FuturesUnordered::new();
    loop {
        while let Some(started) = execution.ready.pop_front() {
            let arguments = execution.arguments(started)?;
            let (bytes, node) = (arguments.get().len(), started.number);
            let call = NodeCall { id: call_id(node), node, arguments, site: None };
            let answer = host.run_node(call);
            running.push(async move { (started, bytes, answer.await) });
        }
        let Some((ended, bytes, answer)) = running.next().await else { return Ok(()) };
        execution.free(bytes);
        execution.store_answer(ended, answer)?;
    }
}

/// The id of a node's call. It does not depend on the order of answers, so that a continued run has
/// the same ids.
fn call_id(node: usize) -> u64 {
    u64::try_from(node).unwrap_or(u64::MAX).saturating_add(1)
}

/// The state of a plan in execution.
struct Execution<'a> {
    plan: &'a Plan,
    /// Nodes whose results have arrived and that can be called.
    ready: VecDeque<NumberedNode<'a>>,
    nodes: Vec<NodeState>,
    limit: u64,
    /// Bytes of memory that are left.
    room: usize,
}

/// A node and its index in the plan.
#[derive(Clone, Copy)]
struct NumberedNode<'a> {
    number: usize,
    node: &'a Node,
}

/// The state of one node.
#[derive(Default)]
struct NodeState {
    /// How many results it still waits for.
    missing: usize,
    /// The nodes that need its result.
    needed_by: Vec<usize>,
    /// The node's result and the bytes that it takes, until the last node that needs it has used
    /// it.
    result: Option<(PlainData, usize)>,
}

impl<'a> Execution<'a> {
    fn new(plan: &'a Plan, limit: u64) -> Self {
        let mut nodes: Vec<NodeState> = plan.nodes.iter().map(|_| NodeState::default()).collect();
        for (number, node) in plan.nodes.iter().enumerate() {
            for needed in needed_nodes(node) {
                if let Some(needed) = nodes.get_mut(needed) {
                    needed.needed_by.push(number);
                }
                if let Some(node) = nodes.get_mut(number) {
                    node.missing += 1;
                }
            }
        }
        let room = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut execution = Self { plan, ready: VecDeque::new(), nodes, limit, room };
        (0..plan.nodes.len()).for_each(|number| execution.make_ready(number));
        execution
    }

    /// Queues a node if it waits for no result.
    fn make_ready(&mut self, number: usize) {
        if let Some(node) = self.plan.nodes.get(number)
            && self.nodes.get(number).is_some_and(|state| state.missing == 0)
        {
            self.ready.push_back(NumberedNode { number, node });
        }
    }

    fn free(&mut self, bytes: usize) {
        self.room = self.room.saturating_add(bytes);
    }

    /// The arguments of a node that is ready. Results that no other node needs are released.
    fn arguments(&mut self, of: NumberedNode<'a>) -> Result<Box<RawValue>, Failure> {
        let NumberedNode { number, node } = of;
        let mut writer = ArgumentWriter::new(self.room);
        let written = writer
            .object(&node.arguments, |writer, argument| self.write(writer, argument))
            .and_then(|()| writer.finish());
        let written = match written {
            Ok(text) => RawValue::from_string(text).map_err(|error| error.to_string()),
            Err(UnwritableArguments::NoMemory) => return Err(self.no_memory()),
            Err(error) => Err(error.to_string()),
        };
        let written =
            written.map_err(|error| failed(number, "PlanError", format!("ValueError: {error}")))?;
        self.room = self.room.saturating_sub(written.get().len());
        for needed in needed_nodes(node) {
            self.release(needed, number);
        }
        Ok(written)
    }

    fn write(
        &self,
        writer: &mut ArgumentWriter,
        argument: &Argument,
    ) -> Result<(), UnwritableArguments> {
        match argument {
            Argument::Literal(value) => writer.data(&PlainData::from(value)),
            Argument::List(items) => writer.list(items, |writer, item| self.write(writer, item)),
            Argument::Object(entries) => {
                writer.object(entries, |writer, value| self.write(writer, value))
            }
            Argument::Result(result) => {
                let result = self.nodes.get(result.node).and_then(|node| node.result.as_ref());
                // A node is ready only when all its results have arrived.
                result.map_or(Ok(()), |(data, _)| writer.data(data))
            }
        }
    }

    /// Drops the result of node `needed` unless nodes other than `number` need it.
    fn release(&mut self, needed: usize, number: usize) {
        let Some(node) = self.nodes.get_mut(needed) else { return };
        node.needed_by.retain(|other| *other != number);
        if node.needed_by.is_empty()
            && let Some((_, bytes)) = node.result.take()
        {
            self.free(bytes);
        }
    }

    /// Stores the answer of a node, and queues the nodes that become ready.
    fn store_answer(
        &mut self,
        of: NumberedNode<'a>,
        answer: Result<ToolValue, ToolError>,
    ) -> Result<(), Failure> {
        let NumberedNode { number, node } = of;
        let tool_error = |message| failed(number, "ToolError", message);
        let value = answer.map_err(|error| tool_error(error.to_string()))?;
        let (data, bytes) = PlainData::read(value, self.room).map_err(|error| match error {
            UnreadableAnswer::NoMemory => self.no_memory(),
            UnreadableAnswer::TooLong(_) => tool_error(error.to_string()),
            UnreadableAnswer::Invalid(_) | UnreadableAnswer::TooDeep => {
                tool_error(format!("'{}' failed: {error}", node.spec.callable))
            }
        })?;
        self.room = self.room.saturating_sub(bytes);
        let Some(state) = self.nodes.get_mut(number) else { return Ok(()) };
        state.result = Some((data, bytes));
        for waiting in state.needed_by.clone() {
            if let Some(state) = self.nodes.get_mut(waiting) {
                state.missing = state.missing.saturating_sub(1);
            }
            self.make_ready(waiting);
        }
        Ok(())
    }

    fn no_memory(&self) -> Failure {
        let megabytes = self.limit / (1024 * 1024);
        let message =
            format!("the results and arguments of the plan need more than its {megabytes} MB");
        let error = ErrorSummary {
            kind: "MemoryError".to_owned(),
            message: message.clone(),
            ..ErrorSummary::default()
        };
        Failure::Raised { traceback: format!("MemoryError: {message}"), error }
    }
}

/// The nodes whose results a node needs, without duplicates.
fn needed_nodes(node: &Node) -> Vec<usize> {
    let mut needed: Vec<usize> = node.results().iter().map(|result| result.node).collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// The failure of a node, as a worker would report it.
fn failed(node: usize, kind: &str, message: String) -> Failure {
    let error = ErrorSummary {
        kind: kind.to_owned(),
        message: message.clone(),
        plan_part: Some(PlanPart::Node(node)),
        ..ErrorSummary::default()
    };
    Failure::Raised { traceback: message, error }
}
