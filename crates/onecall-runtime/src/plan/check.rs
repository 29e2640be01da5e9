//! Checks a plan before it runs: every name, reference and argument that can be known to be wrong.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use onecall_catalog::{Known, misfits, python_signature};
use onecall_core::{CallableName, ToolSpec};

use super::read::{Draft, DraftArgument, PlanRequest};
use super::{Argument, Node, Plan, PlanProblems, Problem, ResultOf, Transform};

/// The result of looking up a tool name in a plan.
pub enum Lookup {
    /// The name refers to this tool.
    Tool(Arc<ToolSpec>),
    /// The name refers to a tool that cannot be called; the text says why.
    Unavailable(String),
    /// Several servers have a tool of this name; these are their callable names.
    Ambiguous(Vec<CallableName>),
    /// No tool has this name.
    Unknown {
        /// Similar names.
        nearest: Vec<CallableName>,
    },
}

/// Resolves every name and reports everything that cannot work.
pub fn check_plan(
    request: PlanRequest,
    lookup: &dyn Fn(&str) -> Lookup,
) -> Result<Plan, PlanProblems> {
    let PlanRequest { drafts, definitions, mut problems, .. } = request;
    let specs: Vec<Option<Arc<ToolSpec>>> =
        drafts.iter().map(|draft| find(draft, lookup, &mut problems)).collect();
    let identifiers = identifiers(&drafts, &mut problems);
    for (draft, spec) in drafts.iter().zip(&specs) {
        references(&draft.arguments, &identifiers, &mut problems);
        if let Some(spec) = spec {
            fit(draft, spec, &mut problems);
        }
    }
    let order = order(&drafts, &identifiers, &mut problems);
    if !problems.is_empty() {
        return Err(problems.into());
    }
    let position: HashMap<usize, usize> =
        order.iter().enumerate().map(|(position, draft)| (*draft, position)).collect();
    let resolver =
        Resolver { identifiers: &identifiers, position: &position, transforms: Cell::new(0) };
    let mut nodes = Vec::with_capacity(order.len());
    for index in &order {
        // Without reported problems every draft has its tool, so both exist.
        let (Some(draft), Some(Some(spec))) = (drafts.get(*index), specs.get(*index)) else {
            continue;
        };
        nodes.push(Node {
            path: draft.path.clone(),
            spec: Arc::clone(spec),
            identifier: draft.identifier.clone(),
            arguments: resolver.entries(&draft.arguments),
        });
    }
    Ok(Plan { nodes, definitions })
}

fn find(
    draft: &Draft,
    lookup: &dyn Fn(&str) -> Lookup,
    problems: &mut Vec<Problem>,
) -> Option<Arc<ToolSpec>> {
    if draft.tool.is_empty() {
        // The name is missing or not a text, which has been reported.
        return None;
    }
    let name = &draft.tool;
    let list = |names: &[CallableName]| {
        names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
    };
    let message = match lookup(name) {
        Lookup::Tool(spec) => return Some(spec),
        Lookup::Unavailable(why) => why,
        Lookup::Ambiguous(names) => {
            format!("several tools are named '{name}'; write one of {}", list(&names))
        }
        Lookup::Unknown { nearest } if nearest.is_empty() => format!("there is no tool '{name}'"),
        Lookup::Unknown { nearest } => {
            format!("there is no tool '{name}'; did you mean {}?", list(&nearest))
        }
    };
    problems.push(Problem::new(&draft.path, message));
    None
}

/// The index of each draft by its identifier.
type Identifiers<'a> = HashMap<&'a str, usize>;

fn identifiers<'a>(drafts: &'a [Draft], problems: &mut Vec<Problem>) -> Identifiers<'a> {
    let mut identifiers = Identifiers::new();
    for (index, draft) in drafts.iter().enumerate() {
        let Some(identifier) = draft.identifier.as_deref() else { continue };
        if let Some(first) = identifiers.get(identifier).and_then(|first| drafts.get(*first)) {
            let message = format!("'{identifier}' is the identifier of {} already", first.path);
            problems.push(Problem::new(format!("{}.identifier", draft.path), message));
        } else {
            identifiers.insert(identifier, index);
        }
    }
    identifiers
}

/// Reports references to identifiers that do not exist.
fn references(
    arguments: &[(String, DraftArgument)],
    identifiers: &Identifiers<'_>,
    problems: &mut Vec<Problem>,
) {
    each(arguments, &mut |argument| {
        if let DraftArgument::Reference { identifier, path, .. } = argument
            && !identifiers.contains_key(identifier.as_str())
        {
            let mut known: Vec<&str> = identifiers.keys().copied().collect();
            known.sort_unstable();
            let known = match known.as_slice() {
                [] => "the plan has none".to_owned(),
                known => format!("the plan has {}", known.join(", ")),
            };
            let message = format!("there is no identifier '{identifier}'; {known}");
            problems.push(Problem::new(path, message));
        }
    });
}

fn fit(draft: &Draft, spec: &ToolSpec, problems: &mut Vec<Problem>) {
    let arguments = Known::Entries(known_entries(&draft.arguments));
    let misfits = misfits(&spec.input_schema.value(), &arguments);
    if misfits.is_empty() {
        return;
    }
    let signature = python_signature(spec);
    for misfit in misfits {
        let path = format!("{}{}", draft.arguments_path, misfit.path);
        problems.push(Problem::new(path, format!("{}; {signature}", misfit.message)));
    }
}

fn known_entries(entries: &[(String, DraftArgument)]) -> Vec<(String, Known)> {
    entries.iter().map(|(key, value)| (key.clone(), known(value))).collect()
}

fn known(argument: &DraftArgument) -> Known {
    match argument {
        DraftArgument::Literal(value) => Known::Value(value.clone()),
        DraftArgument::List(items) => Known::Items(items.iter().map(known).collect()),
        DraftArgument::Object(entries) => Known::Entries(known_entries(entries)),
        DraftArgument::Call { .. } | DraftArgument::Reference { .. } | DraftArgument::Broken => {
            Known::Unknown
        }
    }
}

/// Sorts the drafts so that each comes after those it needs. Circular dependencies are reported.
fn order(
    drafts: &[Draft],
    identifiers: &Identifiers<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<usize> {
    let needs: Vec<Vec<usize>> = drafts
        .iter()
        .map(|draft| {
            let mut needs = Vec::new();
            each(&draft.arguments, &mut |argument| match argument {
                DraftArgument::Call { draft, .. } => needs.push(*draft),
                DraftArgument::Reference { identifier, .. } => {
                    needs.extend(identifiers.get(identifier.as_str()));
                }
                _ => {}
            });
            needs
        })
        .collect();
    let mut walk =
        Walk { drafts, needs: &needs, done: vec![false; drafts.len()], order: Vec::new() };
    for draft in 0..drafts.len() {
        walk.visit(draft, &mut Vec::new(), problems);
    }
    walk.order
}

struct Walk<'a> {
    drafts: &'a [Draft],
    needs: &'a [Vec<usize>],
    done: Vec<bool>,
    order: Vec<usize>,
}

impl Walk<'_> {
    /// Visits a draft after those it needs; `way` is the path of drafts that led here. The
    /// recursion is bounded: its depth is at most that of the JSON plus one reference for each
    /// node.
    fn visit(&mut self, draft: usize, way: &mut Vec<usize>, problems: &mut Vec<Problem>) {
        if self.done.get(draft).copied().unwrap_or(true) {
            return;
        }
        let path = |draft: &usize| self.drafts.get(*draft).map_or("", |draft| &draft.path);
        if let Some(start) = way.iter().position(|waiting| *waiting == draft) {
            let circle: Vec<&str> = way.iter().skip(start).chain([&draft]).map(path).collect();
            let message = format!("waits for itself: {}", circle.join(" needs "));
            problems.push(Problem::new(path(&draft), message));
            return;
        }
        way.push(draft);
        for need in self.needs.get(draft).into_iter().flatten() {
            self.visit(*need, way, problems);
        }
        way.pop();
        if let Some(done) = self.done.get_mut(draft).filter(|done| !**done) {
            *done = true;
            self.order.push(draft);
        }
    }
}

/// Calls `visit` with every argument, including nested ones.
fn each<'a>(entries: &'a [(String, DraftArgument)], visit: &mut dyn FnMut(&'a DraftArgument)) {
    let mut rest: Vec<&DraftArgument> = entries.iter().map(|(_, value)| value).rev().collect();
    while let Some(argument) = rest.pop() {
        visit(argument);
        match argument {
            DraftArgument::List(items) => rest.extend(items.iter().rev()),
            DraftArgument::Object(entries) => {
                rest.extend(entries.iter().map(|(_, value)| value).rev());
            }
            _ => {}
        }
    }
}

struct Resolver<'a> {
    identifiers: &'a Identifiers<'a>,
    /// The position of each draft in the order of execution.
    position: &'a HashMap<usize, usize>,
    /// How many transforms have been numbered.
    transforms: Cell<usize>,
}

impl Resolver<'_> {
    fn entries(&self, entries: &[(String, DraftArgument)]) -> Vec<(String, Argument)> {
        entries.iter().map(|(key, value)| (key.clone(), self.argument(value))).collect()
    }

    fn argument(&self, argument: &DraftArgument) -> Argument {
        let result = |draft: Option<&usize>, path: &str, transform: &Option<String>| {
            let node =
                draft.and_then(|draft| self.position.get(draft)).copied().unwrap_or_default();
            let transform = transform.clone().map(|source| {
                let number = self.transforms.replace(self.transforms.get() + 1);
                Transform { number, source }
            });
            Argument::Result(ResultOf { node, path: path.to_owned(), transform })
        };
        match argument {
            DraftArgument::Literal(value) => Argument::Literal(value.clone()),
            DraftArgument::List(items) => {
                Argument::List(items.iter().map(|item| self.argument(item)).collect())
            }
            DraftArgument::Object(entries) => Argument::Object(self.entries(entries)),
            DraftArgument::Call { draft, path, transform } => result(Some(draft), path, transform),
            DraftArgument::Reference { identifier, path, transform } => {
                result(self.identifiers.get(identifier.as_str()), path, transform)
            }
            // A plan with a broken argument has been refused before.
            DraftArgument::Broken => Argument::Literal(serde_json::Value::Null),
        }
    }
}
