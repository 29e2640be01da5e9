//! Compares policies with the servers and tools that there are.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use onecall_catalog::{name_prefix, natural_name};
use onecall_core::nearest::nearest;
use onecall_core::{ServerName, ToolSpec};

use crate::entity::{ACTION, SERVER, id, is_type};
use crate::function::Function;
use crate::problem::{PolicyProblem, PolicyWarning, WarningKind, sort};
use crate::profile::ToolProfile;
use crate::reads::{INPUT, InputReads};
use crate::scope::{ActionGroup, ActionScope, ServerScope};
use crate::source::{PolicyEffect, SourcePolicy};
use crate::validate::{Findings, Target, validate};

/// The servers and tools that there are at the moment.
pub(crate) struct KnownTools<'s, 'a> {
    servers: &'s [ServerName],
    tools: HashMap<&'a str, &'a Arc<ToolSpec>>,
    /// The names that several tools would have if they were alone.
    shared_names: HashSet<String>,
    /// The servers that have listed tools.
    listed: HashSet<&'a ServerName>,
}

/// What the name of an action means.
enum ActionName<'a> {
    /// A group, a function, or a tool that is known.
    Known,
    /// A tool of a server that has not listed its tools.
    NotListed(&'a ServerName),
    /// A name that several tools share, so that none of them has it.
    Shared,
    /// Nothing; the text says what may have been meant.
    Unknown(String),
}

/// All that is noticed about policies.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Policies that name what does not exist.
    pub(crate) errors: Vec<PolicyProblem>,
    pub(crate) warnings: Vec<PolicyWarning>,
}

impl Report {
    fn warn(&mut self, kind: WarningKind, problem: PolicyProblem) {
        let warning = PolicyWarning { kind, problem };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

impl<'s, 'a> KnownTools<'s, 'a> {
    pub(crate) fn new(
        servers: &'s [ServerName],
        tools: impl IntoIterator<Item = &'a Arc<ToolSpec>>,
    ) -> Self {
        let tools: HashMap<&str, &Arc<ToolSpec>> =
            tools.into_iter().map(|spec| (spec.callable.as_str(), spec)).collect();
        let natural = tools.values().map(|spec| natural_name(&spec.server, &spec.tool));
        let shared_names = natural.filter(|name| !tools.contains_key(name.as_str())).collect();
        let listed = tools.values().map(|spec| &spec.server).collect();
        Self { servers, tools, shared_names, listed }
    }

    fn tool(&self, name: &str) -> Option<&'a Arc<ToolSpec>> {
        self.tools.get(name).copied()
    }

    fn action(&self, name: &str) -> ActionName<'s> {
        if ActionGroup::named(name).is_some()
            || Function::named(name).is_some()
            || self.tools.contains_key(name)
        {
            return ActionName::Known;
        }
        if self.shared_names.contains(name) {
            return ActionName::Shared;
        }
        let prefixed = self.servers.iter().filter(|server| name.starts_with(&name_prefix(server)));
        let server = prefixed.max_by_key(|server| name_prefix(server).len());
        let Some(server) = server else {
            let functions = Function::all().iter().map(|function| function.name);
            let groups = ActionGroup::ALL.map(ActionGroup::name);
            let tools = self.tools.keys().copied();
            let meant = nearest(name, groups.into_iter().chain(functions).chain(tools));
            let meant = meant.map(did_you_mean).unwrap_or_default();
            return ActionName::Unknown(format!(
                "there is no tool '{name}', and no server that it could belong to{meant}"
            ));
        };
        if !self.listed.contains(server) {
            return ActionName::NotListed(server);
        }
        let own = self.tools.values().filter(|spec| spec.server == *server);
        let meant = nearest(name, own.map(|spec| spec.callable.as_str())).map(did_you_mean);
        let hint = meant.unwrap_or_else(|| "; `onecall tools` lists the tools".to_owned());
        ActionName::Unknown(format!("the server '{server}' has no tool '{name}'{hint}"))
    }

    fn unknown_server(&self, name: &str) -> Option<String> {
        if self.servers.iter().any(|server| server.as_str() == name) {
            return None;
        }
        let known = || self.servers.iter().map(ServerName::as_str);
        let hint = match nearest(name, known()) {
            Some(meant) => did_you_mean(meant),
            None if self.servers.is_empty() => "; the configuration has no servers".to_owned(),
            None => format!("; there are {}", known().take(10).collect::<Vec<_>>().join(", ")),
        };
        Some(format!("there is no server '{name}'{hint}"))
    }
}

fn did_you_mean(name: &str) -> String {
    format!("; did you mean '{name}'?")
}

/// How much of the policies is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    All,
    /// What depends on the tools that there are.
    Tools,
}

/// Checks all policies. `profile` returns what is known about a tool. Recurses as deep as policies
/// are nested.
pub(crate) fn check_policies(
    policies: &[Arc<SourcePolicy>],
    known: &KnownTools<'_, '_>,
    profile: &dyn Fn(&ToolSpec) -> Arc<ToolProfile>,
    extent: Extent,
) -> Report {
    let mut report = Report::default();
    for policy in policies {
        let before = report.errors.len();
        check_names(policy, known, &mut report);
        check_scope(policy, known, &mut report);
        // What a policy with a wrong name means is not known, so nothing else is said about it.
        if report.errors.len() > before {
            continue;
        }
        let findings = match policy.reads.input {
            InputReads::Nothing if extent == Extent::Tools => continue,
            InputReads::Nothing => check_without_arguments(policy),
            _ => check_arguments(policy, known, profile),
        };
        add_findings(findings, &mut report);
    }
    sort(&mut report.errors);
    report
}

/// Checks the names of servers and tools, wherever they are in the policy.
fn check_names(policy: &SourcePolicy, known: &KnownTools<'_, '_>, report: &mut Report) {
    for entity in &policy.entities {
        let name = id(entity);
        let quoted = format!("\"{}\"", entity.id().escaped());
        if is_type(entity.type_name(), SERVER) {
            let message = known.unknown_server(&name);
            report.errors.extend(message.map(|message| policy.problem_at(&quoted, message)));
        }
        if !is_type(entity.type_name(), ACTION) {
            continue;
        }
        match known.action(&name) {
            ActionName::Known => {}
            ActionName::NotListed(server) => {
                let message = format!(
                    "the server '{server}' has not listed its tools yet, so this policy does nothing for '{name}' until then"
                );
                let kind = WarningKind::NotListedYet(server.clone());
                report.warn(kind, policy.problem_at(&quoted, message));
            }
            ActionName::Shared if policy.effect == PolicyEffect::Permit => {
                let message = format!(
                    "several tools would have the name '{name}', so none has it and this permits nothing; `onecall tools` shows their names"
                );
                report.warn(WarningKind::Suspicious, policy.problem_at(&quoted, message));
            }
            ActionName::Shared => {}
            ActionName::Unknown(message) => {
                report.errors.push(policy.problem_at(&quoted, message));
            }
        }
    }
}

/// Checks that the parts of the scope go together.
fn check_scope(policy: &SourcePolicy, known: &KnownTools<'_, '_>, report: &mut Report) {
    let ActionScope::Only { names, .. } = &policy.scope.action else {
        return check_group(policy, report);
    };
    for group in names.iter().filter_map(|name| ActionGroup::named(name)) {
        let name = group.name();
        let message = format!(
            "no tool is \"{name}\"; for all of its members, write: action in Action::\"{name}\""
        );
        report.errors.push(policy.problem_at(&format!("\"{name}\""), message));
    }
    check_group(policy, report);
    let ServerScope::Server(server) = &policy.scope.server else { return };
    let elsewhere = |name: &String| known.tool(name).filter(|spec| spec.server.as_str() != server);
    let Some(names) = policy.scope.named_actions().filter(|names| !names.is_empty()) else {
        return;
    };
    if names.iter().all(|name| elsewhere(name).is_some())
        && let Some(spec) = names.first().and_then(elsewhere)
    {
        let message = format!(
            "this policy never applies: '{}' is a tool of the server '{}', not of '{server}'",
            spec.callable, spec.server
        );
        report.errors.push(policy.problem_at(&format!("\"{server}\""), message));
    }
}

/// A policy for several actions does not know which arguments there are.
fn check_group(policy: &SourcePolicy, report: &mut Report) {
    if policy.scope.named_actions().is_none() && policy.reads.input != InputReads::Nothing {
        let message = format!(
            "a policy reads context.{INPUT} only if it names its tools, as in: action == Action::\"mcp__server__tool\""
        );
        report.errors.push(policy.problem_at(INPUT, message));
    }
}

/// Checks a policy that reads no arguments, for one tool that it names or for all kinds of actions.
fn check_without_arguments(policy: &SourcePolicy) -> Vec<Arc<Findings>> {
    let check =
        |action: Option<&str>| Arc::new(validate(policy, Target { action, arguments: None }));
    if let Some(names) = policy.scope.named_actions() {
        return names.first().map(|name| check(Some(name))).into_iter().collect();
    }
    let mentioned = policy.entities.iter().filter(|it| is_type(it.type_name(), ACTION)).map(id);
    let mentioned = mentioned.filter(|name| ActionGroup::named(name).is_none());
    [check(None)].into_iter().chain(mentioned.map(|name| check(Some(&name)))).collect()
}

/// Checks a policy that reads arguments, for each tool that it names and that is known.
fn check_arguments(
    policy: &SourcePolicy,
    known: &KnownTools<'_, '_>,
    profile: &dyn Fn(&ToolSpec) -> Arc<ToolProfile>,
) -> Vec<Arc<Findings>> {
    let check = |name: &String| {
        if let Some(function) = Function::named(name) {
            let arguments = Some(Ok(&function.arguments));
            return Some(Arc::new(validate(policy, Target { action: Some(name), arguments })));
        }
        known.tool(name).map(|spec| profile(spec).findings(policy, name))
    };
    policy.scope.named_actions().into_iter().flatten().filter_map(check).collect()
}

fn add_findings(all: Vec<Arc<Findings>>, report: &mut Report) {
    // Only what is suspicious for every tool is worth a warning.
    let mut counts: BTreeMap<String, (usize, &PolicyProblem)> = BTreeMap::new();
    for warning in all.iter().flat_map(|findings| &findings.warnings) {
        counts.entry(warning.to_string()).or_insert((0, warning)).0 += 1;
    }
    for (count, problem) in counts.into_values() {
        if count == all.len() {
            report.warn(WarningKind::Suspicious, problem.clone());
        }
    }
    report.errors.extend(all.iter().flat_map(|findings| findings.errors.iter().cloned()));
}
