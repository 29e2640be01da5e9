//! Reads the JSON of a plan into drafts of calls, whose tool names are not resolved yet.

use serde_json::{Map, Value};

use super::PlanProblem;

const TOOL: &str = "__tool__";
const ARGS: &str = "args";
const IDENTIFIER: &str = "identifier";
const REFERENCE: &str = "__ref__";
const TRANSFORM: &str = "__transform__";

/// The arguments of the `proxy` tool.
const REQUEST_KEYS: [&str; 4] = ["target_tool", "tool_args", "server_config", "definitions"];

/// The key that may wrap the servers in `server_config`, as in the configurations of MCP clients.
const WRAPPER: &str = "mcpServers";

/// A plan as it was requested, before its names are resolved.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The calls in reading order: a call comes after those nested in it, the target is last.
    pub(super) drafts: Vec<DraftCall>,
    pub(super) definitions: Option<String>,
    /// The value of `server_config`, if the request has one.
    pub servers: Option<Map<String, Value>>,
    /// Problems that reading the request has found.
    pub problems: Vec<PlanProblem>,
}

/// A call whose tool name is not resolved yet.
#[derive(Clone, Debug)]
pub(super) struct DraftCall {
    pub(super) path: String,
    /// The path of its arguments in the request.
    pub(super) arguments_path: String,
    pub(super) tool: String,
    pub(super) identifier: Option<String>,
    pub(super) arguments: Vec<(String, DraftArgument)>,
}

/// An argument whose references are not resolved yet.
#[derive(Clone, Debug)]
pub(super) enum DraftArgument {
    Literal(Value),
    List(Vec<DraftArgument>),
    Object(Vec<(String, DraftArgument)>),
    /// A nested call, by its index among the drafts.
    Call {
        draft: usize,
        path: String,
        transform: Option<String>,
    },
    /// A reference to a call elsewhere in the plan, by its identifier.
    Reference {
        identifier: String,
        path: String,
        transform: Option<String>,
    },
    /// An invalid argument, which has been reported.
    Invalid,
}

impl PlanRequest {
    /// The tool names in the request, as they are written.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.drafts.iter().map(|draft| draft.tool.as_str()).filter(|name| !name.is_empty())
    }

    /// Reads the arguments of `proxy`. Problems are collected and reported when the plan is
    /// checked.
    #[must_use]
    pub fn read(request: &Map<String, Value>) -> Self {
        let mut reader = PlanReader::default();
        for key in request.keys().filter(|key| !REQUEST_KEYS.contains(&key.as_str())) {
            let keys = REQUEST_KEYS.join(", ");
            reader.problem(key, format!("is not a part of a plan; the parts are {keys}"));
        }
        let tool = match request.get("target_tool") {
            Some(Value::String(tool)) => tool.clone(),
            Some(_) => reader.invalid_text("target_tool", "must be the name of a tool"),
            None => reader.invalid_text("target_tool", "is missing"),
        };
        let no_arguments = Map::new();
        let arguments = match request.get("tool_args") {
            Some(Value::Object(arguments)) => arguments,
            Some(Value::Null) | None => &no_arguments,
            Some(_) => {
                reader.problem("tool_args", "must be an object");
                &no_arguments
            }
        };
        let arguments = reader.entries(arguments, "tool_args");
        reader.drafts.push(DraftCall {
            path: "target_tool".to_owned(),
            arguments_path: "tool_args".to_owned(),
            tool,
            identifier: None,
            arguments,
        });
        let definitions = match request.get("definitions") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Null) | None => None,
            Some(_) => {
                reader.problem("definitions", "must be Python source");
                None
            }
        };
        let servers = reader.servers(request.get("server_config"));
        Self { drafts: reader.drafts, definitions, servers, problems: reader.problems }
    }
}

#[derive(Default)]
struct PlanReader {
    drafts: Vec<DraftCall>,
    problems: Vec<PlanProblem>,
}

impl PlanReader {
    fn problem(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(PlanProblem::new(path, message));
    }

    /// Reports a problem, and returns an empty text in place of the missing one.
    fn invalid_text(&mut self, path: &str, message: &str) -> String {
        self.problem(path, message);
        String::new()
    }

    fn servers(&mut self, servers: Option<&Value>) -> Option<Map<String, Value>> {
        let servers = match servers {
            Some(Value::Object(wrapper)) => match wrapper.get(WRAPPER) {
                None => servers,
                Some(_) if wrapper.len() > 1 => {
                    let message = format!("has servers in '{WRAPPER}' and beside it; keep one");
                    self.problem("server_config", message);
                    return None;
                }
                inside => inside,
            },
            other => other,
        };
        match servers {
            Some(Value::Object(servers)) => Some(servers.clone()),
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                let names = names.iter().filter_map(Value::as_str);
                Some(names.map(|name| (name.to_owned(), Value::Null)).collect())
            }
            Some(Value::Null) | None => None,
            Some(_) => {
                self.problem("server_config", "must be an object with servers by name");
                None
            }
        }
    }

    fn entries(
        &mut self,
        entries: &Map<String, Value>,
        path: &str,
    ) -> Vec<(String, DraftArgument)> {
        let mut read = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            read.push((key.clone(), self.argument(value, &format!("{path}.{key}"))));
        }
        read
    }

    fn argument(&mut self, value: &Value, path: &str) -> DraftArgument {
        match value {
            Value::Array(items) => {
                let mut read = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    read.push(self.argument(item, &format!("{path}[{index}]")));
                }
                plain_list(read)
            }
            Value::Object(node) => match (node.contains_key(TOOL), node.contains_key(REFERENCE)) {
                (true, true) => self.invalid(path, "has both '__tool__' and '__ref__'"),
                (true, false) => self.call(node, path),
                (false, true) => self.reference(node, path),
                (false, false) if node.contains_key(TRANSFORM) => {
                    self.invalid(path, "has '__transform__', but neither '__tool__' nor '__ref__'")
                }
                (false, false) => plain_object(self.entries(node, path)),
            },
            literal => DraftArgument::Literal(literal.clone()),
        }
    }

    fn invalid(&mut self, path: &str, message: &str) -> DraftArgument {
        self.problem(path, message);
        DraftArgument::Invalid
    }

    fn call(&mut self, node: &Map<String, Value>, path: &str) -> DraftArgument {
        self.refuse_other_keys(node, path, &[TOOL, ARGS, IDENTIFIER, TRANSFORM]);
        let tool = self.text(node, path, TOOL).unwrap_or_default();
        let identifier = self.text(node, path, IDENTIFIER);
        let transform = self.text(node, path, TRANSFORM);
        let arguments_path = format!("{path}.{ARGS}");
        let arguments = match node.get(ARGS) {
            Some(Value::Object(arguments)) => self.entries(arguments, &arguments_path),
            Some(Value::Null) | None => Vec::new(),
            Some(_) => {
                self.problem(&arguments_path, "must be an object");
                Vec::new()
            }
        };
        let path = path.to_owned();
        let draft = DraftCall { path: path.clone(), arguments_path, tool, identifier, arguments };
        self.drafts.push(draft);
        DraftArgument::Call { draft: self.drafts.len() - 1, path, transform }
    }

    fn reference(&mut self, node: &Map<String, Value>, path: &str) -> DraftArgument {
        self.refuse_other_keys(node, path, &[REFERENCE, TRANSFORM]);
        let transform = self.text(node, path, TRANSFORM);
        match self.text(node, path, REFERENCE) {
            Some(identifier) => {
                DraftArgument::Reference { identifier, path: path.to_owned(), transform }
            }
            None => DraftArgument::Invalid,
        }
    }

    fn refuse_other_keys(&mut self, node: &Map<String, Value>, path: &str, known: &[&str]) {
        for key in node.keys().filter(|key| !known.contains(&key.as_str())) {
            let known = known.join(", ");
            self.problem(
                &format!("{path}.{key}"),
                format!("is not a key here; the keys are {known}"),
            );
        }
    }

    /// The text under `key`, which must not be empty. A wrong value is always reported, a missing
    /// one only if the key is required.
    fn text(&mut self, node: &Map<String, Value>, path: &str, key: &str) -> Option<String> {
        match node.get(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
            Some(Value::Null) | None if key != TOOL && key != REFERENCE => None,
            _ => {
                self.problem(&format!("{path}.{key}"), "must be a text that is not empty");
                None
            }
        }
    }
}

/// A list that contains neither a call nor a reference becomes a literal.
fn plain_list(items: Vec<DraftArgument>) -> DraftArgument {
    let literals: Option<Vec<Value>> = items.iter().map(literal).collect();
    literals.map_or(DraftArgument::List(items), |items| DraftArgument::Literal(items.into()))
}

fn plain_object(entries: Vec<(String, DraftArgument)>) -> DraftArgument {
    let literals: Option<Map<String, Value>> =
        entries.iter().map(|(key, value)| Some((key.clone(), literal(value)?))).collect();
    literals
        .map_or(DraftArgument::Object(entries), |entries| DraftArgument::Literal(entries.into()))
}

fn literal(argument: &DraftArgument) -> Option<Value> {
    match argument {
        DraftArgument::Literal(value) => Some(value.clone()),
        _ => None,
    }
}
