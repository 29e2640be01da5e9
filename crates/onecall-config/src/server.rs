//! Reads what stands under `servers` or `mcpServers`.

use std::collections::HashMap;

use onecall_core::ServerName;

use crate::document::{Node, Position, Scalar, Value};
use crate::entry::EntryReader;
use crate::error::{Problem, Report};
use crate::expand::Environment;
use crate::model::ServerConfig;
use crate::reader::{self, Entry, Section};
use crate::schema::SERVER;

/// What the servers may be written as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Entries with names, or names with entries.
    ListOrMapping,
    /// Names with entries, as MCP clients write them.
    Mapping,
}

pub(crate) struct ServerReader<'r> {
    environment: &'r Environment<'r>,
    report: &'r mut Report,
    /// Where each name was first given.
    lines: HashMap<String, usize>,
}

impl<'r> ServerReader<'r> {
    pub(crate) fn new(environment: &'r Environment<'r>, report: &'r mut Report) -> Self {
        Self { environment, report, lines: HashMap::new() }
    }

    /// The servers that are not disabled, in the order of the file.
    pub(crate) fn servers(&mut self, given: &Entry<'_>, shape: Shape) -> Vec<ServerConfig> {
        if let (Value::List(items), Shape::ListOrMapping) = (&given.value.value, shape) {
            return items.iter().filter_map(|item| self.server(item, None)).collect();
        }
        let what = format!("'{}'", given.key);
        let entries = reader::entries(given.value, &what, self.report).unwrap_or_default();
        entries.iter().filter_map(|entry| self.server(entry.value, Some(entry))).collect()
    }

    /// One entry; `key` is what it stands under, if that is its name.
    fn server(&mut self, node: &Node, key: Option<&Entry<'_>>) -> Option<ServerConfig> {
        let label = match key.map(|entry| entry.key).or_else(|| written_name(node)) {
            Some(name) => format!("server '{name}'"),
            None => "this server".to_owned(),
        };
        let section = Section::open(node, &label, SERVER, self.report)?;
        let at = key.map_or(node.at, |entry| entry.at);
        let entry = EntryReader { label, at, section, environment: self.environment };
        let name = entry.name(key, self.report);
        // A disabled entry may lack a variable or share its name: that is often why.
        if entry.is_disabled(self.report) {
            return None;
        }
        if let Some((name, at)) = name {
            self.check_unique(name, at);
        }
        let transport = entry.transport(self.report);
        let lazy = entry.is_lazy(self.report);
        let connect_timeout = entry.seconds("connect_timeout_seconds", 10, self.report);
        let call_timeout = entry.seconds("call_timeout_seconds", 60, self.report);
        let (name, transport) = (ServerName::new(name?.0), transport?);
        let pins = entry.pins(&name, &transport, self.report);
        Some(ServerConfig { name, transport, connect_timeout, call_timeout, lazy, pins })
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

/// The name in an entry, for messages about the entry; it may yet turn out invalid.
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
