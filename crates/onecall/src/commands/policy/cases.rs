//! Calls that policies decide about without making them: of the command line, and of test files.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use onecall_catalog::{Catalog, ToolDefinition};
use onecall_config::document::{self, Node, Scalar, ScalarKind, Value as Yaml};
use onecall_core::nearest::nearest;
use onecall_core::{
    Principal, RunContext, RunKind, ServerName, ToolAnnotations, ToolName, ToolSpec, UserName,
};
use onecall_gateway::explained_run;
use onecall_policy::function_definition;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// A test file.
#[derive(Debug)]
pub(super) struct TestFile {
    /// The policies, relative to the file; without them, those of the configuration are tested.
    pub(super) policy: Option<String>,
    /// The tools that the file defines, by their servers.
    pub(super) tools: BTreeMap<String, Vec<ToolDefinition>>,
    pub(super) cases: Vec<Case>,
}

/// A call, and the decision that is expected.
#[derive(Debug)]
pub(super) struct Case {
    /// The line at which the case begins.
    pub(super) line: usize,
    pub(super) fields: CaseFields,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseFields {
    pub(super) name: Option<String>,
    pub(super) user: String,
    #[serde(default)]
    pub(super) groups: Vec<String>,
    pub(super) tool: String,
    /// An object, or its JSON text.
    #[serde(default)]
    pub(super) arguments: Option<Value>,
    #[serde(default)]
    pub(super) client: String,
    pub(super) kind: Option<String>,
    pub(super) expect: Expected,
    pub(super) rule: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Expected {
    Allow,
    Deny,
    Ask,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolFields {
    server: String,
    name: String,
    #[serde(default)]
    input_schema: Value,
    #[serde(default)]
    annotations: ToolAnnotations,
}

impl TestFile {
    /// Reads a test file.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let document = document::read_expanded(text, false)
            .map_err(|problem| anyhow::anyhow!("line {}: {}", problem.line, problem.message))?;
        let Yaml::Mapping(entries) = document.value else {
            bail!("it must be a mapping with the key 'cases'");
        };
        let mut file = Self { policy: None, tools: BTreeMap::new(), cases: Vec::new() };
        for (key, node) in entries {
            match (text_of(&key), node.value) {
                (Some("policy"), Yaml::Scalar(path)) => file.policy = Some(path.text),
                (Some("tools"), Yaml::List(tools)) => {
                    for tool in tools {
                        file.add_tool(&tool)?;
                    }
                }
                (Some("cases"), Yaml::List(cases)) => {
                    for case in cases {
                        let line = case.at.line;
                        let fields = fields(&case)?;
                        file.cases.push(Case { line, fields });
                    }
                }
                (Some(name @ ("policy" | "tools" | "cases")), _) => {
                    bail!(
                        "line {}: '{name}' has the wrong form; see `onecall policy test --help`",
                        key.at.line
                    )
                }
                (name, _) => bail!(
                    "line {}: there is no key '{}'; there are policy, tools and cases",
                    key.at.line,
                    name.unwrap_or_default()
                ),
            }
        }
        ensure!(!file.cases.is_empty(), "it has no cases; see `onecall policy test --help`");
        Ok(file)
    }

    fn add_tool(&mut self, node: &Node) -> anyhow::Result<()> {
        let tool: ToolFields = fields(node)?;
        let schema = match tool.input_schema {
            Value::Null => json!({ "type": "object" }),
            schema => schema,
        };
        self.tools.entry(tool.server).or_default().push(ToolDefinition {
            tool: ToolName::new(tool.name),
            description: None,
            input_schema: schema.into(),
            output_schema: None,
            annotations: tool.annotations,
        });
        Ok(())
    }

    /// The tools that the file defines, with their callable names.
    pub(super) fn defined_tools(&mut self) -> Vec<Arc<ToolSpec>> {
        let lists = std::mem::take(&mut self.tools).into_iter();
        let lists = lists.map(|(server, tools)| (ServerName::new(server), Arc::new(tools)));
        Catalog::default().with_tool_lists(lists).tools().cloned().collect()
    }
}

impl CaseFields {
    /// The arguments as the call would send them.
    pub(super) fn raw_arguments(&self) -> anyhow::Result<Box<RawValue>> {
        match &self.arguments {
            None | Some(Value::Null) => Ok(RawValue::from_string("{}".to_owned())?),
            Some(Value::String(text)) => {
                serde_json::from_str(text).context("the text of 'arguments' is not JSON")
            }
            Some(arguments) => Ok(serde_json::value::to_raw_value(arguments)?),
        }
    }
}

/// The fields of an entry, with its line in errors.
fn fields<T: for<'a> Deserialize<'a>>(node: &Node) -> anyhow::Result<T> {
    serde_json::from_value(json_of(node)).with_context(|| format!("line {}", node.at.line))
}

fn text_of(node: &Node) -> Option<&str> {
    match &node.value {
        Yaml::Scalar(Scalar { text, .. }) => Some(text),
        _ => None,
    }
}

fn json_of(node: &Node) -> Value {
    match &node.value {
        Yaml::Scalar(Scalar { text, kind }) => match kind {
            ScalarKind::Null => Value::Null,
            ScalarKind::Boolean(truth) => json!(truth),
            ScalarKind::Integer(number) => json!(number),
            ScalarKind::Float(number) => json!(number),
            ScalarKind::Text => json!(text),
        },
        Yaml::List(items) => items.iter().map(json_of).collect(),
        Yaml::Mapping(entries) => {
            let entry = |(key, value): &(Node, Node)| {
                (text_of(key).unwrap_or_default().to_owned(), json_of(value))
            };
            Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
        }
    }
}

/// A user with groups; `local` is the local user.
pub(super) fn principal(user: &str, groups: &[String]) -> anyhow::Result<Principal> {
    let local = UserName::local();
    let user = match user == local.as_str() {
        true => local,
        false => UserName::parse(user).with_context(|| format!("'{user}' cannot be a user"))?,
    };
    Ok(Principal { user, groups: groups.iter().cloned().collect() })
}

/// A run of the kind with this name, or of a program, that makes the call.
pub(super) fn run(
    principal: Principal,
    client: &str,
    kind: Option<&str>,
) -> anyhow::Result<RunContext> {
    let kinds =
        [RunKind::Program, RunKind::Plan, RunKind::ExposedTool, RunKind::DirectCall, RunKind::Exec];
    let name = kind.unwrap_or(RunKind::Program.name());
    let found = kinds.into_iter().find(|kind| kind.name() == name);
    let kind = found.with_context(|| {
        let names = kinds.map(RunKind::name).join(", ");
        format!("there is no kind of run '{name}'; there are {names}")
    })?;
    Ok(explained_run(principal, client, kind))
}

/// The tool or function that a name refers to, or what may have been meant.
pub(super) fn find_tool(name: &str, tools: &[Arc<ToolSpec>]) -> Result<Arc<ToolSpec>, String> {
    if let Some(spec) = tools.iter().find(|spec| spec.callable.as_str() == name) {
        return Ok(Arc::clone(spec));
    }
    if let Some(function) = function_definition(name) {
        return Ok(Arc::new(function));
    }
    let is_meant = |spec: &&Arc<ToolSpec>| match name.split_once('.') {
        Some((server, tool)) => spec.server.as_str() == server && spec.tool.as_str() == tool,
        None => spec.tool.as_str() == name,
    };
    let mut meant = tools.iter().filter(is_meant);
    match (meant.next(), meant.next()) {
        (Some(spec), None) => Ok(Arc::clone(spec)),
        (Some(one), Some(other)) => Err(format!(
            "several tools are called '{name}', such as '{}' and '{}'; write the whole name",
            one.callable, other.callable
        )),
        (None, _) => {
            let nearest = nearest(name, tools.iter().map(|spec| spec.callable.as_str()));
            let hint = match nearest {
                Some(nearest) => format!("did you mean '{nearest}'?"),
                None => "`onecall tools` lists the tools".to_owned(),
            };
            Err(format!("no server has listed a tool '{name}'; {hint}"))
        }
    }
}
