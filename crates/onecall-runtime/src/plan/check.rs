//! Checks a plan before it runs: every name, reference and argument that can be known to be wrong.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use onecall_catalog::{PartialValue, mismatches, python_signature};
use onecall_core::{CallableName, ToolSpec};

use super::read::{DraftArgument, DraftCall, PlanRequest};
use super::{Argument, Node, Plan, PlanProblem, PlanProblems, ResultUse, Transform};

/// The result of looking up a tool name in a plan.
pub enum PlanLookup {
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
    lookup: &dyn Fn(&str) -> PlanLookup,
) -> Result<Plan, PlanProblems> {
    let PlanRequest { drafts, definitions, mut problems, .. } = request;
    let specs: Vec<Option<Arc<ToolSpec>>> =
        drafts.iter().map(|draft| resolve_tool(draft, lookup, &mut problems)).collect();
    let identifiers = collect_identifiers(&drafts, &mut problems);
    for (draft, spec) in drafts.iter().zip(&specs) {
        check_references(&draft.arguments, &identifiers, &mut problems);
        if let Some(spec) = spec {
            check_arguments(draft, spec, &mut problems);
        }
    }
    let order = sort_by_dependency(&drafts, &identifiers, &mut problems);
    if !problems.is_empty() {
        return Err(problems.into());
    }
    let position: HashMap<usize, usize> =
        order.iter().enumerate().map(|(position, draft)| (*draft, position)).collect();
    let resolver = ReferenceResolver {
        identifiers: &identifiers,
        position: &position,
        transforms: Cell::new(0),
    };
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

fn resolve_tool(
    draft: &DraftCall,
    lookup: &dyn Fn(&str) -> PlanLookup,
    problems: &mut Vec<PlanProblem>,
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
        PlanLookup::Tool(spec) => return Some(spec),
        PlanLookup::Unavailable(why) => why,
        PlanLookup::Ambiguous(names) => {
            format!("several tools are named '{name}'; write one of {}", list(&names))
        }
        PlanLookup::Unknown { nearest } if nearest.is_empty() => {
            format!("there is no tool '{name}'")
        }
        PlanLookup::Unknown { nearest } => {
            format!("there is no tool '{name}'; did you mean {}?", list(&nearest))
        }
    };
    problems.push(PlanProblem::new(&draft.path, message));
    None
}

/// The index of each draft by its identifier.
type Identifiers<'a> = HashMap<&'a str, usize>;

fn collect_identifiers<'a>(
    drafts: &'a [DraftCall],
    problems: &mut Vec<PlanProblem>,
) -> Identifiers<'a> {
    let mut identifiers = Identifiers::new();
    for (index, draft) in drafts.iter().enumerate() {
        let Some(identifier) = draft.identifier.as_deref() else { continue };
        if let Some(first) = identifiers.get(identifier).and_then(|first| drafts.get(*first)) {
            let message = format!("'{identifier}' is the identifier of {} already", first.path);
            problems.push(PlanProblem::new(format!("{}.identifier", draft.path), message));
        } else {
            identifiers.insert(identifier, index);
        }
    }
    identifiers
}

/// Reports references to identifiers that do not exist.
fn check_references(
    arguments: &[(String, DraftArgument)],
    identifiers: &Identifiers<'_>,
    problems: &mut Vec<PlanProblem>,
) {
    for_each_argument(arguments, &mut |argument| {
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
            problems.push(PlanProblem::new(path, message));
        }
    });
}

fn check_arguments(draft: &DraftCall, spec: &ToolSpec, problems: &mut Vec<PlanProblem>) {
    let arguments = PartialValue::Entries(known_entries(&draft.arguments));
    let mismatches = mismatches(&spec.input_schema.value(), &arguments);
    if mismatches.is_empty() {
        return;
    }
    let signature = python_signature(spec);
    for mismatch in mismatches {
        let path = format!("{}{}", draft.arguments_path, mismatch.path);
        problems.push(PlanProblem::new(path, format!("{}; {signature}", mismatch.message)));
    }
}

fn known_entries(entries: &[(String, DraftArgument)]) -> Vec<(String, PartialValue)> {
    entries.iter().map(|(key, value)| (key.clone(), known(value))).collect()
}

fn known(argument: &DraftArgument) -> PartialValue {
    match argument {
        DraftArgument::Literal(value) => PartialValue::Value(value.clone()),
        DraftArgument::List(items) => PartialValue::Items(items.iter().map(known).collect()),
        DraftArgument::Object(entries) => PartialValue::Entries(known_entries(entries)),
        DraftArgument::Call { .. } | DraftArgument::Reference { .. } | DraftArgument::Invalid => {
            PartialValue::Unknown
        }
    }
}

/// Sorts the drafts so that each comes after those it needs. Circular dependencies are reported.
fn sort_by_dependency(
    drafts: &[DraftCall],
    identifiers: &Identifiers<'_>,
    problems: &mut Vec<PlanProblem>,
) -> Vec<usize> {
    let needs: Vec<Vec<usize>> = drafts
        .iter()
        .map(|draft| {
            let mut needs = Vec::new();
            for_each_argument(&draft.arguments, &mut |argument| match argument {
                DraftArgument::Call { draft, .. } => needs.push(*draft),
                DraftArgument::Reference { identifier, .. } => {
                    needs.extend(identifiers.get(identifier.as_str()));
                }
                _ => {}
            });
            needs
        })
        .collect();
    let mut sort = DependencySort {
        drafts,
        needs: &needs,
        done: vec![false; drafts.len()],
        order: Vec::new(),
    };
    for draft in 0..drafts.len() {
        sort.visit(draft, &mut Vec::new(), problems);
    }
    sort.order
}

struct DependencySort<'a> {
    drafts: &'a [DraftCall],
    needs: &'a [Vec<usize>],
    done: Vec<bool>,
    order: Vec<usize>,
}

impl DependencySort<'_> {
    /// Visits a draft after those it needs; `ancestors` is the path of drafts that led here. The
    /// recursion is bounded: its depth is at most that of the JSON plus one reference for each
    /// node.
    fn visit(&mut self, draft: usize, ancestors: &mut Vec<usize>, problems: &mut Vec<PlanProblem>) {
        if self.done.get(draft).copied().unwrap_or(true) {
            return;
        }
        let path = |draft: &usize| self.drafts.get(*draft).map_or("", |draft| &draft.path);
        if let Some(start) = ancestors.iter().position(|waiting| *waiting == draft) {
            let circle: Vec<&str> =
                ancestors.iter().skip(start).chain([&draft]).map(path).collect();
            let message = format!("waits for itself: {}", circle.join(" needs "));
            problems.push(PlanProblem::new(path(&draft), message));
            return;
        }
        ancestors.push(draft);
        for need in self.needs.get(draft).into_iter().flatten() {
            self.visit(*need, ancestors, problems);
        }
        ancestors.pop();
        if let Some(done) = self.done.get_mut(draft).filter(|done| !**done) {
            *done = true;
            self.order.push(draft);
        }
    }
}

/// Calls `visit` with every argument, including nested ones.
fn for_each_argument<'a>(
    entries: &'a [(String, DraftArgument)],
    visit: &mut dyn FnMut(&'a DraftArgument),
) {
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

struct ReferenceResolver<'a> {
    identifiers: &'a Identifiers<'a>,
    /// The position of each draft in the order of execution.
    position: &'a HashMap<usize, usize>,
    /// How many transforms have been numbered.
    transforms: Cell<usize>,
}

impl ReferenceResolver<'_> {
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
            Argument::Result(ResultUse { node, path: path.to_owned(), transform })
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
            // A plan with an invalid argument has been refused before.
            DraftArgument::Invalid => Argument::Literal(serde_json::Value::Null),
        }
    }
}
