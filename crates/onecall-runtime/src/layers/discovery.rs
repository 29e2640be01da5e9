//! Answers a program's questions about tools: attributes of `tools`, `tools.search`, and the tools
//! of a server. None of them counts as a tool call.

use std::collections::{BTreeMap, BTreeSet};

use onecall_catalog::{
    ServerMatch, match_server, python_signature_with, shown_description, typescript_signature_with,
};
use onecall_core::{CallableName, Language, ToolResolver, ToolSpec, ToolValue};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::directory::{AttributeLookup, Directory, NameLookup};
use crate::layers::{FunctionUser, resource_function};

/// The most tools that one search returns.
const MAX_RESULTS: usize = 100;

/// Answers questions about tools from a resolver and a directory.
pub(crate) struct Discovery<'a> {
    names: &'a dyn ToolResolver,
    directory: &'a dyn Directory,
    /// The language of the program that asks.
    language: Language,
}

/// The input schema of a tool, by which a worker decides how to encode arguments. For a tool that
/// is not known, the empty schema: it accepts every value.
pub(crate) fn input_schema(spec: Option<&ToolSpec>) -> ToolValue {
    let text = spec.map_or("{}", |spec| spec.input_schema.text()).to_owned();
    RawValue::from_string(text).map_or(ToolValue::Nothing, ToolValue::Json)
}

impl<'a> Discovery<'a> {
    /// Creates the answers: callable names are resolved by `names`, everything else by `directory`.
    pub(crate) fn new(
        names: &'a dyn ToolResolver,
        directory: &'a dyn Directory,
        language: Language,
    ) -> Self {
        Self { names, directory, language }
    }

    /// The input schema of the tool of this callable name.
    pub(crate) async fn schema(&self, name: String) -> ToolValue {
        let name = CallableName::new(name);
        let spec = self.names.resolve(&name).await.target(&name);
        input_schema(spec.ok().as_deref())
    }

    /// The tool that an attribute of `tools` refers to, or why it refers to none.
    pub(crate) async fn find(&self, name: &str) -> Value {
        let list = |names: &[CallableName]| {
            names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" or ")
        };
        let AttributeLookup { found, is_coroutine } = match name.len() {
            0..=CallableName::MAX_BYTES => AttributeLookup::find(name, self.directory).await,
            _ => AttributeLookup { found: NameLookup::Unknown(Vec::new()), is_coroutine: false },
        };
        let problem = match found {
            NameLookup::Tool(spec) => {
                let mut described = self.describe(&spec);
                if is_coroutine {
                    described["awaited"] = Value::Bool(true);
                }
                return described;
            }
            NameLookup::Blocked => format!("'{name}' is not available in execute_program"),
            NameLookup::Quarantined(why) => format!("'{name}' is quarantined: {why}"),
            NameLookup::Ambiguous(names) => {
                format!("several tools are named '{name}'; write {}", list(&names))
            }
            NameLookup::Unknown(nearest) => match resource_function(name, FunctionUser::Program) {
                Some(spec) => return self.describe(spec),
                None if nearest.is_empty() => format!("there is no tool '{name}'"),
                None => format!("there is no tool '{name}'. Did you mean: {}?", list(&nearest)),
            },
        };
        json!({ "problem": problem })
    }

    /// Every callable name, and the tools' own names where those are unambiguous identifiers.
    pub(crate) async fn list(&self) -> Value {
        let tools = self.directory.tools().await;
        let mut own = BTreeMap::<&str, usize>::new();
        for spec in &tools {
            *own.entry(spec.tool.as_str()).or_default() += 1;
        }
        let is_identifier = |name: &str| {
            !name.starts_with(|it: char| it.is_ascii_digit())
                && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
        };
        let own = own.into_iter().filter(|(name, count)| *count == 1 && is_identifier(name));
        let own = own.map(|(name, _)| name);
        tools.iter().map(|spec| spec.callable.as_str()).chain(own).collect()
    }

    /// The tools of one server, which is given by its name in the configuration or by an identifier
    /// made from that.
    pub(crate) async fn server(&self, name: &str) -> Value {
        let tools = self.directory.tools_of(name).await;
        let servers: BTreeSet<&str> = tools.iter().map(|spec| spec.server.as_str()).collect();
        let server = match match_server(name, servers.iter().copied()) {
            ServerMatch::One(server) => server,
            ServerMatch::None(_) => return json!({ "problem": no_server(name, &servers) }),
            ServerMatch::Several(several) => {
                let problem =
                    format!("several servers are named like '{name}': {}", several.join(", "));
                return json!({ "problem": problem });
            }
        };
        let tools = tools.iter().filter(|spec| spec.server.as_str() == server);
        let shown = tools.map(|spec| {
            json!({
                "tool": spec.tool.as_str(),
                "name": spec.callable.as_str(),
                "parameters": spec.parameters(),
                "category": self.directory.category(spec).name(),
            })
        });
        json!({ "tools": shown.collect::<Vec<_>>() })
    }

    /// The tools that match a query best.
    pub(crate) async fn search(&self, query: &str, limit: usize, language: Language) -> Value {
        let found = self.directory.search(query, limit.min(MAX_RESULTS)).await;
        let signature = match language {
            Language::TypeScript => typescript_signature_with,
            Language::Python => python_signature_with,
        };
        let shown = |spec: &ToolSpec| {
            json!({
                "name": spec.callable.as_str(),
                "description": spec.description.as_deref().map(shown_description),
                "signature": signature(spec, self.directory.observed(spec).as_ref()),
            })
        };
        found.iter().map(|spec| shown(spec)).collect()
    }

    fn describe(&self, spec: &ToolSpec) -> Value {
        let description = shown_description(spec.description.as_deref().unwrap_or_default());
        let observed = self.directory.observed(spec);
        let documentation = match self.language {
            Language::Python => {
                format!("{}\n\n{description}", python_signature_with(spec, observed.as_ref()))
            }
            Language::TypeScript => {
                format!("{}\n{description}", typescript_signature_with(spec, observed.as_ref()))
            }
        };
        json!({
            "name": spec.callable.as_str(),
            "parameters": spec.parameters(),
            "documentation": documentation,
        })
    }
}

fn no_server(name: &str, servers: &BTreeSet<&str>) -> String {
    if servers.is_empty() {
        return format!("there is no server '{name}': no server has tools");
    }
    let servers: Vec<_> = servers.iter().copied().collect();
    format!("there is no server '{name}' with tools; there are: {}", servers.join(", "))
}
