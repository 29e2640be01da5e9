//! Reads the section `local_tools`: tools that need no MCP server.

mod command;
mod model;
mod schema;
mod template;

use std::collections::HashMap;

use onecall_core::{ToolAnnotations, ToolName};

use self::command::CommandReader;
pub use self::model::{
    CommandInput, CommandOutput, CommandTool, FileAction, FilesTool, LocalTool, LocalToolKind,
};
pub use self::template::{Template, TemplatePart};
use crate::document::{Node, Value};
use crate::entry::{EntryReader, UserReferences};
use crate::error::{Problem, Report};
use crate::expand::expand;
use crate::path::{PathReader, is_root};
use crate::reader::{self, Entry, Section};
use crate::schema::LOCAL_TOOL;
use crate::server::written_name;

const FILES_KEYS: [&str; 2] = ["builtin", "root"];

/// Reads the tools in the order of the file.
pub(crate) fn read_local_tools(
    given: &Entry<'_>,
    paths: &PathReader<'_>,
    inherited: &[String],
    report: &mut Report,
) -> Vec<LocalTool> {
    let mut reader = LocalToolReader { paths, inherited, report, lines: HashMap::new() };
    match &given.value.value {
        Value::List(items) => items.iter().filter_map(|item| reader.tool(item, None)).collect(),
        _ => {
            let entries = reader::entries(given.value, "'local_tools'", reader.report);
            let entries = entries.unwrap_or_default();
            entries.iter().filter_map(|entry| reader.tool(entry.value, Some(entry))).collect()
        }
    }
}

struct LocalToolReader<'r> {
    paths: &'r PathReader<'r>,
    /// The gateway's environment variables that every local tool with a command gets.
    inherited: &'r [String],
    report: &'r mut Report,
    /// The line on which each name was first given.
    lines: HashMap<String, usize>,
}

impl LocalToolReader<'_> {
    /// Reads one entry; `key` is its key if the section is a mapping.
    fn tool(&mut self, node: &Node, key: Option<&Entry<'_>>) -> Option<LocalTool> {
        let label = match key.map(|entry| entry.key).or_else(|| written_name(node)) {
            Some(name) => format!("local tool '{name}'"),
            None => "this local tool".to_owned(),
        };
        let section = Section::open(node, &label, LOCAL_TOOL, self.report)?;
        let at = key.map_or(node.at, |entry| entry.at);
        let (environment, inherited) = (self.paths.environment, self.inherited);
        let entry = EntryReader {
            label,
            at,
            section,
            environment,
            expand,
            inherited,
            user_references: UserReferences::None,
        };
        let name = self.name(&entry, key);
        let description = entry
            .section
            .get("description")
            .and_then(|node| reader::text(node, &entry.what("description"), self.report));
        let annotations = self.annotations(&entry);
        let kind = self.kind(&entry);
        Some(LocalTool {
            name: name?,
            description: description.map(str::to_owned),
            annotations,
            kind: kind?,
        })
    }

    fn name(&mut self, entry: &EntryReader<'_>, key: Option<&Entry<'_>>) -> Option<ToolName> {
        let inside = entry.section.get("name");
        let (name, at) = match (key, inside) {
            (Some(key), None) => (key.key, key.at),
            (Some(key), Some(node)) => {
                if reader::text(node, &entry.what("name"), self.report)? != key.key {
                    let message = format!("{} has another name inside its entry", entry.label);
                    let help = "the key is the name; remove 'name'";
                    self.report.add(Problem::new(node.at, message).with_help(help));
                }
                (key.key, key.at)
            }
            (None, Some(node)) => (reader::text(node, &entry.what("name"), self.report)?, node.at),
            (None, None) => {
                let problem = Problem::new(entry.at, "this local tool has no name");
                self.report.add(problem.with_help("give it a 'name'"));
                return None;
            }
        };
        if name.trim().is_empty() {
            self.report.add(Problem::new(at, "a local tool's name must not be empty"));
            return None;
        }
        if let Some(first) = self.lines.get(name) {
            let message = format!(
                "local tool '{name}' is given twice, on line {first} and on line {}",
                at.line
            );
            self.report.add(Problem::new(at, message).with_help("rename one of them"));
            return None;
        }
        self.lines.insert(name.to_owned(), at.line);
        Some(ToolName::new(name))
    }

    fn annotations(&mut self, entry: &EntryReader<'_>) -> ToolAnnotations {
        let mut hint = |key: &str| {
            let node = entry.section.get(key)?;
            reader::boolean(node, &entry.what(key), self.report)
        };
        ToolAnnotations {
            read_only_hint: hint("read_only"),
            destructive_hint: hint("destructive"),
            idempotent_hint: hint("idempotent"),
            ..ToolAnnotations::default()
        }
    }

    fn kind(&mut self, entry: &EntryReader<'_>) -> Option<LocalToolKind> {
        let (command, builtin) = (entry.section.entry("command"), entry.section.entry("builtin"));
        let (foreign, home): (&[&str], _) = match (command, builtin) {
            (Some(command), Some(builtin)) => {
                let message = format!("{} has both a 'command' and a 'builtin'", entry.label);
                let problem = Problem::new(command.at.max(builtin.at), message);
                self.report.add(problem.with_help("keep one of them"));
                return None;
            }
            (None, None) => {
                let message = format!("{} has neither a 'command' nor a 'builtin'", entry.label);
                self.report.add(Problem::new(entry.at, message));
                return None;
            }
            (Some(_), None) => (&FILES_KEYS, "built-in tools"),
            (None, Some(_)) => (&command::KEYS, "tools with a 'command'"),
        };
        for entry in foreign.iter().filter_map(|key| entry.section.entry(key)) {
            let message = format!("'{}' is for {home}", entry.key);
            self.report.add(Problem::new(entry.at, message).with_help("remove it"));
        }
        match (command, builtin) {
            (Some(command), _) => {
                let reader = CommandReader { entry, paths: self.paths };
                reader.read(command.value, self.report).map(LocalToolKind::Command)
            }
            (None, builtin) => self.files(entry, builtin?.value).map(LocalToolKind::Files),
        }
    }

    fn files(&mut self, entry: &EntryReader<'_>, builtin: &Node) -> Option<FilesTool> {
        let what = entry.what("builtin");
        let action =
            reader::choice(builtin, &what, "a built-in tool", &FileAction::NAMES, self.report);
        let what = entry.what("root");
        let Some(node) = entry.section.get("root") else {
            let message = format!("{} needs a 'root'", entry.label);
            let problem = Problem::new(entry.at, message);
            self.report.add(problem.with_help("name the folder that it may use"));
            return None;
        };
        let root = self.paths.absolute(node, &what, self.report)?;
        if is_root(&root) {
            let message = format!("{what} must not be '/', the whole disk");
            let help = "give it a folder of its own";
            self.report.add(Problem::new(node.at, message).with_help(help));
            return None;
        }
        Some(FilesTool { action: action?, root })
    }
}
