//! Answers what a program asks about tools, before anything is counted as a call.

use std::collections::{BTreeMap, BTreeSet};

use onecall_catalog::{
    ServerMatch, match_server, python_signature_with, typescript_signature_with,
};
use onecall_core::{
    BoxFuture, CallableName, Language, Resolving, ToolCall, ToolError, ToolHost, ToolSpec,
    ToolValue,
};
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::directory::{Directory, Found};
use crate::layers::function;

/// What the `tools` of a program asks, as calls that no server has.
const FIND: &str = "onecall__find";
const LIST: &str = "onecall__list";
const SEARCH: &str = "onecall__search";
const SERVER: &str = "onecall__server";

/// More would be no answer to a question.
const MOST_FOUND: usize = 100;

/// Knows which tools there are.
pub struct Discovery<'a> {
    inner: &'a dyn ToolHost,
    directory: &'a dyn Directory,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
struct Query {
    query: String,
    limit: usize,
    #[serde(default)]
    language: Option<String>,
}

impl<'a> Discovery<'a> {
    /// Answers from `directory`; everything else goes to `inner`.
    pub(crate) fn new(inner: &'a dyn ToolHost, directory: &'a dyn Directory) -> Self {
        Self { inner, directory }
    }

    async fn find(&self, name: &str) -> Value {
        let list = |names: &[CallableName]| {
            names.iter().map(CallableName::as_str).collect::<Vec<_>>().join(" or ")
        };
        let problem = match self.directory.find(name).await {
            Found::Tool(spec) => return self.describe(&spec),
            Found::Blocked => format!("'{name}' is not available in execute_program"),
            Found::Quarantined(why) => format!("'{name}' is quarantined: {why}"),
            Found::Ambiguous(names) => {
                format!("several tools are named '{name}'; write {}", list(&names))
            }
            Found::Unknown(nearest) => match function(name) {
                Some(spec) => return self.describe(spec),
                None if nearest.is_empty() => format!("there is no tool '{name}'"),
                None => format!("there is no tool '{name}'. Did you mean: {}?", list(&nearest)),
            },
        };
        json!({ "problem": problem })
    }

    /// Every callable name, and the tools' own where they are unambiguous identifiers.
    async fn list(&self) -> Value {
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

    /// The tools of one server, which may be named as its configuration entry does or as
    /// an identifier made of that.
    async fn server(&self, name: &str) -> Value {
        let tools = self.directory.tools().await;
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
            })
        });
        json!({ "tools": shown.collect::<Vec<_>>() })
    }

    async fn search(&self, Query { query, limit, language }: Query) -> Value {
        let found = self.directory.search(&query, limit.min(MOST_FOUND)).await;
        let signature = match language.as_deref().and_then(Language::named) {
            Some(Language::TypeScript) => typescript_signature_with,
            _ => python_signature_with,
        };
        let shown = |spec: &ToolSpec| {
            json!({
                "name": spec.callable.as_str(),
                "description": spec.description,
                "signature": signature(spec, self.directory.observed(spec).as_ref()),
            })
        };
        found.iter().map(|spec| shown(spec)).collect()
    }

    fn describe(&self, spec: &ToolSpec) -> Value {
        let description = spec.description.as_deref().unwrap_or_default();
        let signature = python_signature_with(spec, self.directory.observed(spec).as_ref());
        json!({
            "name": spec.callable.as_str(),
            "parameters": spec.parameters(),
            "documentation": format!("{signature}\n\n{description}"),
        })
    }
}

fn no_server(name: &str, servers: &BTreeSet<&str>) -> String {
    if servers.is_empty() {
        return format!("there is no server '{name}', nor any other with tools");
    }
    let servers: Vec<_> = servers.iter().copied().collect();
    format!("there is no server '{name}' with tools; there are: {}", servers.join(", "))
}

impl ToolHost for Discovery<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.inner.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        if ![FIND, LIST, SEARCH, SERVER].contains(&call.name.as_str()) {
            return self.inner.call(call);
        }
        Box::pin(async move {
            let failed =
                |error: serde_json::Error| ToolError::failed(&call.name, error.to_string());
            let arguments = call.arguments.get();
            let answer = match call.name.as_str() {
                FIND => {
                    let Name { name } = serde_json::from_str(arguments).map_err(failed)?;
                    self.find(&name).await
                }
                SEARCH => self.search(serde_json::from_str(arguments).map_err(failed)?).await,
                SERVER => {
                    let Name { name } = serde_json::from_str(arguments).map_err(failed)?;
                    self.server(&name).await
                }
                _ => self.list().await,
            };
            Ok(ToolValue::Json(to_raw_value(&answer).map_err(failed)?))
        })
    }
}
