//! Reads the section `servers` or `mcpServers`.

use std::collections::HashMap;

use onecall_core::ServerName;

use crate::document::{Node, Position, Scalar, Value};
use crate::entry::{EntryReader, UserReferences};
use crate::error::{Problem, Report};
use crate::expand::{Environment, ExpandError, ExpandFn, expand, unset_variables};
use crate::model::{ServerConfig, Transport, UnresolvedTransport};
use crate::reader::{self, Entry, Section};
use crate::schema::SERVER;
use crate::user_template::{PerUserSettings, expand_value};

/// The forms in which servers can be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServersForm {
    /// A list of entries with names, or a mapping of names to entries.
    ListOrMapping,
    /// A mapping of names to entries, as MCP clients write it.
    Mapping,
}

pub(crate) struct ServerReader<'r> {
    environment: &'r Environment<'r>,
    expand: ExpandFn,
    /// The gateway's environment variables that every server with a command gets.
    inherited: &'r [String],
    user_references: UserReferences,
    report: &'r mut Report,
    /// The line on which each name was first given.
    lines: HashMap<String, usize>,
}

impl<'r> ServerReader<'r> {
    pub(crate) fn new(environment: &'r Environment<'r>, report: &'r mut Report) -> Self {
        let user_references = UserReferences::Secrets;
        Self { environment, expand, inherited: &[], user_references, report, lines: HashMap::new() }
    }

    /// Uses another function than [`expand`] to replace variables. References to secrets of users are
    /// then plain text.
    pub(crate) fn expanding(mut self, expand: ExpandFn) -> Self {
        self.expand = expand;
        self.user_references = UserReferences::None;
        self
    }

    /// Passes these environment variables of the gateway to every server with a command.
    pub(crate) fn inheriting(mut self, inherited: &'r [String]) -> Self {
        self.inherited = inherited;
        self
    }

    /// Reads the servers that are not disabled, in the order of the file.
    pub(crate) fn servers(&mut self, given: &Entry<'_>, form: ServersForm) -> Vec<ServerConfig> {
        if let (Value::List(items), ServersForm::ListOrMapping) = (&given.value.value, form) {
            return items.iter().filter_map(|item| self.server(item, None)).collect();
        }
        let what = format!("'{}'", given.key);
        let entries = reader::entries(given.value, &what, self.report).unwrap_or_default();
        entries.iter().filter_map(|entry| self.server(entry.value, Some(entry))).collect()
    }

    /// Reads one entry; `key` is its key if the section is a mapping.
    pub(crate) fn server(&mut self, node: &Node, key: Option<&Entry<'_>>) -> Option<ServerConfig> {
        let label = match key.map(|entry| entry.key).or_else(|| written_name(node)) {
            Some(name) => format!("server '{name}'"),
            None => "this server".to_owned(),
        };
        let section = Section::open(node, &label, SERVER, self.report)?;
        let at = key.map_or(node.at, |entry| entry.at);
        let (environment, expand, inherited) = (self.environment, self.expand, self.inherited);
        let user_references = self.user_references;
        let entry =
            EntryReader { label, at, section, environment, expand, inherited, user_references };
        let name = entry.name(key, self.report);
        // A disabled entry may refer to an unset variable or share its name, which is often why it
        // is disabled.
        if entry.is_disabled(self.report) {
            return None;
        }
        if let Some((name, at)) = name {
            self.check_unique(name, at);
        }
        let transport = self.transport(&entry, node);
        let lazy = entry.is_lazy(self.report);
        let connect_timeout = entry.optional_seconds("connect_timeout_seconds", self.report);
        let call_timeout = entry.optional_seconds("call_timeout_seconds", self.report);
        let (name, (transport, per_user)) = (ServerName::new(name?.0), transport?);
        let pins = entry.pins(&name, &transport, self.report);
        Some(ServerConfig { name, transport, connect_timeout, call_timeout, lazy, pins, per_user })
    }

    /// The transport of an entry. If unset variables are the only problem of the entry, the
    /// configuration stays valid and only this server is unavailable.
    fn transport(
        &mut self,
        entry: &EntryReader<'_>,
        node: &Node,
    ) -> Option<(Transport, PerUserSettings)> {
        let mut problems = Report::default();
        let transport = entry.transport(&mut problems);
        let mut places = Vec::new();
        let mut variables: Vec<String> = Vec::new();
        find_unset(node, self.environment, &mut |at, name| {
            places.push((at.line, at.column));
            if !variables.iter().any(|known| known == name) {
                variables.push(name.to_owned());
            }
        });
        let (unset, others): (Vec<Problem>, Vec<Problem>) = problems
            .into_problems()
            .into_iter()
            .partition(|problem| places.contains(&(problem.line, problem.column)));
        if unset.is_empty() || !others.is_empty() {
            unset.into_iter().chain(others).for_each(|problem| self.report.add(problem));
            return transport;
        }
        let kind = if entry.section.get("command").is_some() { "stdio" } else { "http" };
        let unresolved = Transport::Unresolved(UnresolvedTransport {
            kind,
            variables,
            credentials_problem: None,
        });
        Some((unresolved, PerUserSettings::default()))
    }

    fn check_unique(&mut self, name: &str, at: Position) {
        match self.lines.get(name) {
            Some(first) => {
                let message = format!(
                    "server '{name}' is given twice, on line {first} and on line {}",
                    at.line
                );
                self.report.add(Problem::new(at, message).with_help("rename one of them"));
            }
            None => {
                self.lines.insert(name.to_owned(), at.line);
            }
        }
    }
}

/// Calls `found` with the position and the name of each unset variable in an entry.
fn find_unset(node: &Node, environment: &Environment<'_>, found: &mut impl FnMut(Position, &str)) {
    match &node.value {
        Value::Scalar(Scalar { text, .. }) => {
            // Any other problem of the text is an error of the configuration.
            if let Err(ExpandError::Missing(_)) = expand_value(text, environment, expand) {
                unset_variables(text, environment)
                    .into_iter()
                    .for_each(|name| found(node.at, name));
            }
        }
        Value::List(items) => items.iter().for_each(|item| find_unset(item, environment, found)),
        Value::Mapping(pairs) => {
            pairs.iter().for_each(|(_, value)| find_unset(value, environment, found));
        }
    }
}

/// The name in an entry, for messages about the entry; it has not been validated.
pub(crate) fn written_name(node: &Node) -> Option<&str> {
    let Value::Mapping(pairs) = &node.value else { return None };
    pairs.iter().find_map(|(key, value)| match (&key.value, &value.value) {
        (Value::Scalar(key), Value::Scalar(Scalar { text, .. }))
            if key.text == "name" && !text.is_empty() =>
        {
            Some(text.as_str())
        }
        _ => None,
    })
}
