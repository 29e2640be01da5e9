//! Compiles a plan into one program.
//!
//! Each node becomes an async function that first waits for the results it needs, all
//! at once, and then calls its tool. A node that one other needs is awaited right
//! there; one that several need runs once, as a task.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::{Argument, Node, Plan};

const PRELUDE: &str = include_str!("prelude.py");

/// What the tools of a plan are called in its program, each with the number of its node.
pub(super) const TOOL_PREFIX: &str = "plan_node_";

impl Plan {
    /// The program that carries the plan out. The answer of the target is not in its
    /// output: it stays with the [`PlanHost`](super::PlanHost).
    pub(crate) fn program(&self) -> String {
        let mut code = PRELUDE.to_owned();
        if let Some(definitions) = &self.definitions {
            _ = writeln!(code, "define({})", text(definitions));
        }
        let mut uses = BTreeMap::<usize, usize>::new();
        for result in self.nodes.iter().flat_map(Node::results) {
            *uses.entry(result.node).or_default() += 1;
        }
        let uses = |node: usize| uses.get(&node).copied().unwrap_or_default();
        // All transforms are looked at before the first call is made.
        let mut transforms = 0;
        let mut functions = String::new();
        for (number, node) in self.nodes.iter().enumerate() {
            function(number, node, &uses, &mut transforms, &mut code, &mut functions);
        }
        code.push_str(&functions);
        _ = writeln!(code, "await node_{}()", self.nodes.len().saturating_sub(1));
        code
    }
}

/// Writes the transforms of a node to `code`, and the node itself to `functions`.
fn function(
    number: usize,
    node: &Node,
    uses: &dyn Fn(usize) -> usize,
    transforms: &mut usize,
    code: &mut String,
    functions: &mut String,
) {
    let mut needed: Vec<usize> = node.results().iter().map(|result| result.node).collect();
    needed.sort_unstable();
    needed.dedup();
    _ = writeln!(functions, "async def node_{number}():");
    let run = |node: &usize| match uses(*node) {
        1 => format!("node_{node}()"),
        _ => format!("shared(node_{node})"),
    };
    match needed.as_slice() {
        [] => {}
        [one] => _ = writeln!(functions, "    result_{one} = await {}", run(one)),
        several => {
            let names: Vec<String> = several.iter().map(|node| format!("result_{node}")).collect();
            let runs: Vec<String> = several.iter().map(run).collect();
            _ = writeln!(
                functions,
                "    {} = await asyncio.gather({})",
                names.join(", "),
                runs.join(", ")
            );
        }
    }
    let mut arguments = String::new();
    let mut write_result = |result: &super::ResultOf, out: &mut String| {
        let value = format!("result_{}", result.node);
        match &result.transform {
            None => out.push_str(&value),
            Some(source) => {
                let path = text(&result.path);
                _ = writeln!(code, "transform_{transforms} = transform({path}, {})", text(source));
                let value = if uses(result.node) > 1 { format!("copied({value})") } else { value };
                _ = write!(out, "transform_{transforms}({value})");
                *transforms += 1;
            }
        }
    };
    entries(&node.arguments, &mut arguments, &mut write_result);
    let path = text(&node.path);
    _ = writeln!(functions, "    return await call({TOOL_PREFIX}{number}, {path}, {arguments})");
}

type WriteResult<'a> = &'a mut dyn FnMut(&super::ResultOf, &mut String);

fn entries(entries: &[(String, Argument)], out: &mut String, write_result: WriteResult<'_>) {
    out.push('{');
    for (key, value) in entries {
        _ = write!(out, "{}: ", text(key));
        argument(value, out, write_result);
        out.push_str(", ");
    }
    out.push('}');
}

fn argument(argument_: &Argument, out: &mut String, write_result: WriteResult<'_>) {
    match argument_ {
        Argument::Literal(value) => literal(value, out),
        Argument::List(items) => {
            out.push('[');
            for item in items {
                argument(item, out, write_result);
                out.push_str(", ");
            }
            out.push(']');
        }
        Argument::Object(inner) => entries(inner, out, write_result),
        Argument::Result(result) => write_result(result, out),
    }
}

/// A JSON value as Python writes it.
fn literal(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(string) => out.push_str(&text(string)),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                literal(item, out);
                out.push_str(", ");
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (key, value) in entries {
                _ = write!(out, "{}: ", text(key));
                literal(value, out);
                out.push_str(", ");
            }
            out.push('}');
        }
    }
}

/// A string literal. What JSON escapes, Python reads the same way.
fn text(string: &str) -> String {
    Value::from(string).to_string()
}
