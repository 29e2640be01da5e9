//! Reads a local tool that starts a command.

use std::path::PathBuf;
use std::time::Duration;

use onecall_core::nearest::nearest;
use serde_json::Value;

use super::model::{CommandInput, CommandOutput, CommandTool};
use super::schema::{no_arguments, read_schema};
use super::template::Template;
use crate::document::{Node, Value as NodeValue};
use crate::entry::EntryReader;
use crate::error::{Problem, Report};
use crate::expand::Environment;
use crate::parse::MEBIBYTE;
use crate::path::PathReader;
use crate::reader::{self, Entry};

pub(super) const KEYS: [&str; 9] = [
    "command",
    "input_schema",
    "inputSchema",
    "stdin",
    "output",
    "timeout_seconds",
    "cwd",
    "env",
    "max_output_bytes",
];

const DEFAULT_SECONDS: u64 = 30;
const DEFAULT_OUTPUT: u64 = 4 * MEBIBYTE;
/// The largest output limit, chosen so that an answer always fits even after its encoding.
const LARGEST_OUTPUT: u64 = 32 * MEBIBYTE;

const LIST_HELP: &str = "write the program and each of its arguments as an item: \
                         [git, log, \"--max-count={count}\"]; no shell is involved";

pub(super) struct CommandReader<'r, 'n> {
    pub(super) entry: &'r EntryReader<'n>,
    pub(super) paths: &'r PathReader<'r>,
}

impl CommandReader<'_, '_> {
    pub(super) fn read(&self, command: &Node, report: &mut Report) -> Option<CommandTool> {
        let schema = self.schema(report);
        let argv = self.argv(command, schema.as_ref(), report);
        let stdin = self.stdin(schema.as_ref(), report);
        let output = self.get("output").and_then(|node| {
            let what = self.entry.what("output");
            reader::choice(node, &what, "an output", &CommandOutput::NAMES, report)
        });
        let timeout = self.entry.seconds("timeout_seconds", DEFAULT_SECONDS, report);
        let cwd = self
            .get("cwd")
            .and_then(|node| self.paths.absolute(node, &self.entry.what("cwd"), report));
        let env = self.entry.env(report);
        let max_output_bytes = self.get("max_output_bytes").and_then(|node| {
            let what = self.entry.what("max_output_bytes");
            reader::whole_number(node, &what, 1..=LARGEST_OUTPUT, report)
        });
        let (program, arguments) = argv?;
        let stdin = stdin?;
        let mut input_schema = schema?;
        if let (Value::Object(schema), false) = (&mut input_schema, stdin == CommandInput::Json) {
            // Arguments without a placeholder would otherwise be dropped silently.
            schema.entry("additionalProperties").or_insert(false.into());
        }
        Some(CommandTool {
            program,
            arguments,
            input_schema,
            stdin,
            output: output.unwrap_or_default(),
            timeout: timeout.max(Duration::from_millis(1)),
            cwd,
            env,
            max_output_bytes: usize::try_from(max_output_bytes.unwrap_or(DEFAULT_OUTPUT))
                .unwrap_or(usize::MAX),
        })
    }

    fn get(&self, key: &str) -> Option<&Node> {
        self.entry.section.get(key)
    }

    fn schema(&self, report: &mut Report) -> Option<Value> {
        let (one, other): (Option<&Entry<'_>>, _) =
            (self.entry.section.entry("input_schema"), self.entry.section.entry("inputSchema"));
        if let (Some(one), Some(other)) = (one, other) {
            let message = format!("{} has two schemas", self.entry.label);
            let help = "'input_schema' and 'inputSchema' mean the same; keep one";
            report.add(Problem::new(one.at.max(other.at), message).with_help(help));
            return None;
        }
        match one.or(other) {
            Some(given) => read_schema(given.value, &self.entry.what(given.key), report),
            None => Some(no_arguments()),
        }
    }

    fn argv(
        &self,
        command: &Node,
        schema: Option<&Value>,
        report: &mut Report,
    ) -> Option<(PathBuf, Vec<Template>)> {
        let what = self.entry.what("command");
        let NodeValue::List(items) = &command.value else {
            let message = format!("{what} must be a list, not {}", command.describe());
            report.add(Problem::new(command.at, message).with_help(LIST_HELP));
            return None;
        };
        let Some((program, arguments)) = items.split_first() else {
            let message = format!("{what} must not be empty");
            report.add(Problem::new(command.at, message).with_help(LIST_HELP));
            return None;
        };
        let program = self.program(program, report);
        let arguments: Vec<Option<Template>> =
            arguments.iter().map(|item| self.template(item, &what, schema, report)).collect();
        Some((program?, arguments.into_iter().collect::<Option<_>>()?))
    }

    /// Reads the program. Only the configuration chooses it, never an argument.
    fn program(&self, node: &Node, report: &mut Report) -> Option<PathBuf> {
        let what = format!("the program in {}", self.entry.what("command"));
        if has_placeholder(node) {
            let message = format!("{what} must not hold a placeholder");
            report.add(Problem::new(node.at, message).with_help("name the program itself"));
            return None;
        }
        self.paths.program(node, &what, report)
    }

    fn template(
        &self,
        node: &Node,
        what: &str,
        schema: Option<&Value>,
        report: &mut Report,
    ) -> Option<Template> {
        if matches!(node.value, NodeValue::Mapping(_)) {
            let message = format!("each of {what} must be text, not a mapping");
            let help = "put a placeholder in quotes: \"{name}\"";
            report.add(Problem::new(node.at, message).with_help(help));
            return None;
        }
        let text = reader::scalar_text(node, &format!("each of {what}"), report)?;
        let template = match Template::parse(text, self.paths.environment) {
            Ok(template) => template,
            Err(error) => {
                let message = format!("{error} (in {what})");
                report.add(Problem::new(node.at, message).with_help(error.help()));
                return None;
            }
        };
        if template.holds_nul() {
            report.add(Problem::new(node.at, format!("{what} holds a NUL character")));
            return None;
        }
        let properties = schema?.get("properties").and_then(Value::as_object);
        let names: Vec<&str> =
            properties.into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
        let mut is_known = true;
        for argument in template.arguments().filter(|argument| !names.contains(argument)) {
            is_known = false;
            let message = format!("'{{{argument}}}' in {what} is no argument of the tool");
            let help = match (nearest(argument, names.iter().copied()), names.is_empty()) {
                (Some(nearest), _) => format!("did you mean '{{{nearest}}}'?"),
                (None, true) => "add it under 'properties' of 'input_schema'".to_owned(),
                (None, false) => format!("its arguments are {}", names.join(", ")),
            };
            report.add(Problem::new(node.at, message).with_help(help));
        }
        is_known.then_some(template)
    }

    fn stdin(&self, schema: Option<&Value>, report: &mut Report) -> Option<CommandInput> {
        let Some(node) = self.get("stdin") else { return Some(CommandInput::None) };
        let what = self.entry.what("stdin");
        match &node.value {
            NodeValue::Scalar(scalar) if scalar.text == "none" => return Some(CommandInput::None),
            NodeValue::Scalar(scalar) if scalar.text == "json" => return Some(CommandInput::Json),
            _ => {}
        }
        let template = self.template(node, &what, schema, report)?;
        if template.literal().is_some() {
            let message = format!("{what} must be none, json, or a text with an argument in it");
            let help = "write for example \"{body}\" to pass the argument 'body'";
            report.add(Problem::new(node.at, message).with_help(help));
            return None;
        }
        Some(CommandInput::Text(template))
    }
}

/// Whether the text contains a placeholder. A text that cannot be parsed is reported later, when it
/// is read as a path.
fn has_placeholder(node: &Node) -> bool {
    let NodeValue::Scalar(scalar) = &node.value else { return false };
    let anything = |_: &str| Some("x".to_owned());
    Template::parse(&scalar.text, &Environment::new(&anything))
        .is_ok_and(|template| template.literal().is_none())
}
