//! Compiles a plan into one Python program.
//!
//! A call is placed after the calls whose results it needs. Calls that depend on each other become
//! consecutive lines. Calls that can run concurrently are gathered; each is an async function of
//! its own if it needs other calls first. A call whose result is used several times becomes a task,
//! which runs once.

use std::collections::BTreeMap;
use std::fmt::Write;

use onecall_catalog::is_keyword_argument;
use serde_json::Value;

use super::{Argument, Node, Plan, ResultUse, Transform};

/// What the program imports from the bootstrap.
const PRELUDE: &str =
    "import asyncio\nfrom _onecall_plan import call, copied, define, shared, transform\n";

impl Plan {
    /// The program that executes the plan. The answer of the target is not part of its output: it
    /// stays in the [`PlanHost`](super::PlanHost).
    pub(crate) fn program(&self) -> String {
        let mut uses = BTreeMap::new();
        for result in self.nodes.iter().flat_map(Node::results) {
            *uses.entry(result.node).or_default() += 1;
        }
        let mut writer =
            ProgramWriter { plan: self, uses, transforms: String::new(), functions: String::new() };
        let target = self.nodes.len().saturating_sub(1);
        let main = writer.steps(target, "");
        let mut code = PRELUDE.to_owned();
        if let Some(definitions) = &self.definitions {
            _ = writeln!(code, "define({})", text(definitions));
        }
        // Transforms are compiled before the first call, so that a broken one fails early.
        code.push_str(&writer.transforms);
        code.push_str(&writer.functions);
        code.push_str(&main);
        code
    }
}

struct ProgramWriter<'a> {
    plan: &'a Plan,
    /// How often the result of each node is used.
    uses: BTreeMap<usize, usize>,
    transforms: String,
    /// The functions of nodes that run concurrently with others.
    functions: String,
}

impl ProgramWriter<'_> {
    fn is_shared(&self, node: usize) -> bool {
        self.uses.get(&node).is_some_and(|uses| *uses > 1)
    }

    /// The lines that compute `result_N`, the result of node N.
    fn steps(&mut self, number: usize, indent: &str) -> String {
        let Some(node) = self.plan.nodes.get(number) else { return String::new() };
        let mut needed: Vec<usize> = node.results().iter().map(|result| result.node).collect();
        needed.sort_unstable();
        needed.dedup();
        let mut lines = match needed.as_slice() {
            [] => String::new(),
            [one] if self.is_shared(*one) => {
                format!("{indent}result_{one} = await {}\n", self.run(*one))
            }
            [one] => self.steps(*one, indent),
            several => {
                let names: Vec<_> = several.iter().map(|node| format!("result_{node}")).collect();
                let runs: Vec<_> = several.iter().map(|node| self.run(*node)).collect();
                let (names, runs) = (names.join(", "), runs.join(", "));
                format!("{indent}{names} = await asyncio.gather({runs})\n")
            }
        };
        _ = writeln!(lines, "{indent}result_{number} = await {}", self.call(number, node));
        lines
    }

    /// An expression for an awaitable that runs a node and the nodes it needs.
    fn run(&mut self, number: usize) -> String {
        let Some(node) = self.plan.nodes.get(number) else { return String::new() };
        let shared = self.is_shared(number);
        if node.results().is_empty() && !shared {
            return self.call(number, node);
        }
        let name = format!("node_{number}");
        let definition = format!("async def {name}():\n");
        // The function of a shared node is written once.
        if !shared || !self.functions.contains(&definition) {
            let steps = self.steps(number, "    ");
            _ = writeln!(self.functions, "{definition}{steps}    return result_{number}");
        }
        if shared { format!("shared({name})") } else { format!("{name}()") }
    }

    fn call(&mut self, number: usize, node: &Node) -> String {
        let mut written = format!("call({number}, {}", text(node.spec.callable.as_str()));
        if node.arguments.iter().all(|(name, _)| is_keyword_argument(name)) {
            for (name, value) in &node.arguments {
                _ = write!(written, ", {name}={}", self.argument(value));
            }
        } else {
            _ = write!(written, ", **{}", self.entries(&node.arguments));
        }
        written + ")"
    }

    fn entries(&mut self, entries: &[(String, Argument)]) -> String {
        let mut written = "{".to_owned();
        for (key, value) in entries {
            _ = write!(written, "{}: {}, ", text(key), self.argument(value));
        }
        written + "}"
    }

    fn argument(&mut self, argument: &Argument) -> String {
        match argument {
            Argument::Literal(value) => literal(value),
            Argument::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.argument(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Argument::Object(entries) => self.entries(entries),
            Argument::Result(result) => self.result(result),
        }
    }

    fn result(&mut self, result: &ResultUse) -> String {
        let value = format!("result_{}", result.node);
        let Some(Transform { number, source }) = &result.transform else { return value };
        let function = format!("transform_{number}");
        _ = writeln!(self.transforms, "{function} = transform({number}, {})", text(source));
        let value = if self.is_shared(result.node) { format!("copied({value})") } else { value };
        format!("{function}({value})")
    }
}

/// A JSON value as a Python expression.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(string) => text(string),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", text(key), literal(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A Python string literal. JSON escapes have the same meaning in Python.
fn text(string: &str) -> String {
    Value::from(string).to_string()
}
