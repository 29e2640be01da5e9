//! Formats a plan for a person who reviews it before it runs.

use std::fmt::{self, Write};

use super::{Argument, Node, Plan, ResultUse};

impl fmt::Display for Plan {
    /// A tree: the target, and below each call the calls that its arguments come from. The numbers
    /// are the order of execution; calls with the same number run at the same time.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.steps();
        let Some(target) = self.nodes.len().checked_sub(1) else { return Ok(()) };
        let mut drawn = vec![false; self.nodes.len()];
        let mut tree = String::new();
        self.draw_node(target, "", "", None, &steps, &mut drawn, &mut tree);
        formatter.write_str(tree.trim_end())
    }
}

impl Plan {
    /// The earliest step in which each node can run.
    fn steps(&self) -> Vec<usize> {
        let mut steps: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let needed = node.results().into_iter();
            let last = needed.filter_map(|result| steps.get(result.node)).max();
            steps.push(last.copied().unwrap_or_default() + 1);
        }
        steps
    }

    #[expect(clippy::too_many_arguments, reason = "a tree is drawn by handing its lines down")]
    fn draw_node(
        &self,
        number: usize,
        label: &str,
        indent: &str,
        transform: Option<&str>,
        steps: &[usize],
        drawn: &mut Vec<bool>,
        tree: &mut String,
    ) {
        let Some(node) = self.nodes.get(number) else { return };
        let step = steps.get(number).copied().unwrap_or_default();
        _ = write!(tree, "{label}{step}. {}", node.spec.callable);
        if let Some(identifier) = &node.identifier {
            _ = write!(tree, " as {identifier}");
        }
        let again = drawn.get_mut(number).is_some_and(|drawn| std::mem::replace(drawn, true));
        if again {
            tree.push_str(" (the same call)");
        }
        if let Some(transform) = transform {
            _ = write!(tree, ", then {}", transform.trim());
        }
        tree.push('\n');
        if again {
            return;
        }
        let results = labelled_results(node);
        for (index, (argument, result)) in results.iter().enumerate() {
            let is_last = index + 1 == results.len();
            let (branch, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let label = format!("{indent}{branch}{argument}: ");
            let indent = format!("{indent}{below}");
            let transform = result.transform.as_ref().map(|it| it.source.as_str());
            self.draw_node(result.node, &label, &indent, transform, steps, drawn, tree);
        }
    }
}

/// The results that a node needs, each with its path among the arguments.
fn labelled_results(node: &Node) -> Vec<(String, &ResultUse)> {
    let mut found = Vec::new();
    for (key, argument) in &node.arguments {
        collect_results(argument, key.clone(), &mut found);
    }
    found
}

fn collect_results<'a>(
    argument: &'a Argument,
    path: String,
    found: &mut Vec<(String, &'a ResultUse)>,
) {
    match argument {
        Argument::Literal(_) => {}
        Argument::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_results(item, format!("{path}[{index}]"), found);
            }
        }
        Argument::Object(entries) => {
            for (key, value) in entries {
                collect_results(value, format!("{path}.{key}"), found);
            }
        }
        Argument::Result(result) => found.push((path, result)),
    }
}
