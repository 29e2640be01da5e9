//! Reads the servers of a ptc-mcp configuration. An invalid entry only leaves out its server.

use std::collections::HashSet;

use onecall_core::ServerName;

use super::mapping::{KnownKeys, entries};
use crate::document::{Node, Scalar, ScalarKind, Value};
use crate::error::{Problem, Report};
use crate::expand::{Environment, expand_known, unset_variables};
use crate::model::ServerConfig;
use crate::server::{ServerReader, written_name};

/// The keys of an entry. Keys that only onecall has are not included: a file with one of them is
/// not a ptc-mcp configuration.
const KEYS: [&str; 10] =
    ["name", "transport", "type", "command", "args", "env", "cwd", "url", "headers", "disabled"];

/// Keys that a server that is started as a process does not use.
const REMOTE_KEYS: [&str; 2] = ["url", "headers"];

/// Keys that a remote server does not use.
const PROCESS_KEYS: [&str; 4] = ["command", "args", "env", "cwd"];

/// The valid servers, and the first problem of each invalid one.
pub(super) fn read(
    items: Vec<Node>,
    environment: &Environment<'_>,
    warnings: &mut Report,
) -> (Vec<ServerConfig>, Vec<Problem>) {
    let (mut servers, mut skipped) = (Vec::new(), Vec::new());
    let mut names: HashSet<ServerName> = HashSet::new();
    for item in items {
        let at = item.at;
        let name = written_name(&item).unwrap_or("(no name)").to_owned();
        let mut problems = Report::default();
        let label = format!("server '{name}'");
        let entry = normalize_entry(item, &label, environment, warnings, &mut problems);
        let server = entry.and_then(|entry| {
            let mut reader = ServerReader::new(environment, &mut problems).expanding(expand_known);
            reader.server(&entry, None)
        });
        if server.as_ref().is_some_and(|server| !names.insert(server.name.clone())) {
            problems.add(
                Problem::new(at, "another server has its name").with_help("rename one of them"),
            );
        }
        let shown = |problem: Problem| {
            let message = format!("server '{name}' is skipped: {}", problem.message);
            Problem { message, ..problem }
        };
        let problems: Vec<Problem> = problems.into_problems().into_iter().map(shown).collect();
        match problems.first() {
            Some(first) => skipped.push(first.clone()),
            None => servers.extend(server),
        }
        problems.into_iter().for_each(|problem| warnings.add(problem));
    }
    (servers, skipped)
}

/// The entry with only the keys that are known, set and used; `None` if it is not a mapping.
fn normalize_entry(
    item: Node,
    label: &str,
    environment: &Environment<'_>,
    warnings: &mut Report,
    problems: &mut Report,
) -> Option<Node> {
    let at = item.at;
    if !matches!(item.value, Value::Mapping(_)) {
        let message = format!("its entry is {}, not a mapping", item.describe());
        problems.add(Problem::new(at, message));
        return None;
    }
    let known = KnownKeys { what: label, keys: &KEYS, consequence: "" };
    let mut pairs = entries(item, &known, warnings, problems);
    pairs.retain(|(key, value)| {
        !matches!(key.as_written(), Some("command" | "url")) || !is_empty(value)
    });
    let unused = unused_keys(&pairs);
    pairs.retain(|(key, value)| {
        let name = key.as_written().unwrap_or_default();
        let is_unused = unused.contains(&name);
        if is_unused && !is_empty(value) {
            let message = format!("'{name}' of {label} is ignored: its transport does not use it");
            warnings.add(Problem::new(key.at, message));
        }
        !is_unused
    });
    for (key, value) in &mut pairs {
        if let (Some("env" | "headers"), Value::Mapping(values)) =
            (key.as_written(), &mut value.value)
        {
            drop_null_values(values, key.as_written().unwrap_or_default(), label, warnings);
        }
        warn_about_unset(value, label, environment, warnings);
    }
    Some(Node { at, value: Value::Mapping(pairs) })
}

/// The keys that the transport of an entry does not use. As for ptc-mcp, an entry without a
/// transport is a process if it has a command.
fn unused_keys(pairs: &[(Node, Node)]) -> &'static [&'static str] {
    let get = |wanted: &str| {
        pairs.iter().find(|(key, _)| key.as_written() == Some(wanted)).map(|(_, value)| value)
    };
    let transport = get("transport").or_else(|| get("type")).and_then(Node::as_written);
    match transport {
        Some("stdio") => &REMOTE_KEYS,
        Some(_) => &PROCESS_KEYS,
        None if get("command").is_some() => &REMOTE_KEYS,
        None => &PROCESS_KEYS,
    }
}

/// Removes entries without a value. Their names are not shown: a user who writes `TOKEN=abc` as a
/// name has put the secret there.
fn drop_null_values(values: &mut Vec<(Node, Node)>, key: &str, label: &str, warnings: &mut Report) {
    values.retain(|(name, value)| {
        if value.is_null() {
            let message = format!("an entry in '{key}' of {label} has no value and is left out");
            warnings.add(Problem::new(name.at, message).with_help("write \"\" for an empty value"));
        }
        !value.is_null()
    });
}

/// Warns about unset variables, whose references stay unexpanded.
fn warn_about_unset(
    node: &Node,
    label: &str,
    environment: &Environment<'_>,
    warnings: &mut Report,
) {
    match &node.value {
        Value::Scalar(Scalar { text, kind: ScalarKind::Text }) => {
            for name in unset_variables(text, environment) {
                let message = format!(
                    "environment variable '{name}' is not set, and its reference stays as it is \
                     written (in {label})"
                );
                warnings.add(Problem::new(node.at, message));
            }
        }
        Value::Scalar(_) => {}
        Value::List(items) => {
            items.iter().for_each(|item| warn_about_unset(item, label, environment, warnings));
        }
        Value::Mapping(pairs) => {
            pairs
                .iter()
                .for_each(|(_, value)| warn_about_unset(value, label, environment, warnings));
        }
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(scalar) => scalar.text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Mapping(pairs) => pairs.is_empty(),
    }
}
