//! Functions by which programs use the resources and prompts of servers. Clients to which resources
//! or prompts are exposed use the same functions, and a few more.
//!
//! Policy knows them as `mcp__<server>__resources` and `mcp__<server>__prompts`, so a list of
//! allowed tools does not permit them by accident.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use onecall_catalog::{Strictness, check_arguments, name_prefix, signature};
use onecall_core::{
    Answer, BoxFuture, CallHandler, CallResult, CallableName, Completion, CompletionSubject,
    ListKind, ResolvedCall, ResourceError, ResourceHost, ServerName, ToolAnnotations, ToolError,
    ToolName, ToolSpec, ToolValue,
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::arguments::mismatch_message;
use super::uri_template;
use crate::ToolPermission;

/// How long a cached list may be used to find the server that has a resource.
const MAX_LIST_AGE: Duration = Duration::from_secs(10);

/// A function that programs or clients have beside the tools of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResourceFunction {
    List(ListKind),
    ReadResource,
    GetPrompt,
    SubscribeResource,
    CompleteResource,
    CompletePrompt,
}

/// Those who can call functions for resources and prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionUser {
    Program,
    /// A client to which resources or prompts are exposed.
    Client,
}

impl ResourceFunction {
    fn is_for(self, user: FunctionUser) -> bool {
        match self {
            Self::List(_) | Self::ReadResource | Self::GetPrompt => true,
            Self::SubscribeResource | Self::CompleteResource | Self::CompletePrompt => {
                user == FunctionUser::Client
            }
        }
    }
}

/// Executes calls of these functions; every other call goes to the tools.
pub(crate) struct ResourceFunctions {
    inner: Arc<dyn CallHandler>,
    resources: Arc<dyn ResourceHost>,
    permission: ToolPermission,
    /// The lists that servers sent last, by kind and server.
    lists: Mutex<HashMap<(ListKind, ServerName), CachedList>>,
}

#[derive(Clone)]
struct CachedList {
    listed_at: Instant,
    entries: Arc<Vec<Map<String, Value>>>,
}

#[derive(Deserialize)]
struct Arguments {
    server: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
    argument: Option<Box<RawValue>>,
    context: Option<Box<RawValue>>,
}

static FUNCTIONS: LazyLock<[(ResourceFunction, Arc<ToolSpec>); 8]> = LazyLock::new(|| {
    let server = json!({ "type": "string", "description": "Only this server" });
    let list = json!({ "type": "object", "properties": { "server": server }, "additionalProperties": false });
    let text = json!({ "type": "string" });
    let read = json!({
        "type": "object",
        "properties": { "uri": text, "server": server },
        "required": ["uri"],
        "additionalProperties": false,
    });
    let prompt = json!({
        "type": "object",
        "properties": {
            "server": text,
            "name": text,
            "arguments": { "type": "object", "additionalProperties": { "type": "string" } },
        },
        "required": ["server", "name"],
        "additionalProperties": false,
    });
    let subscribe = json!({
        "type": "object",
        "properties": { "server": text, "uri": text },
        "required": ["server", "uri"],
        "additionalProperties": false,
    });
    let complete = |subject: &str| {
        json!({
            "type": "object",
            "properties": {
                "server": text,
                subject: text,
                "argument": { "type": "object" },
                "context": { "type": "object" },
            },
            "required": ["server", subject, "argument"],
            "additionalProperties": false,
        })
    };
    let spec = |name: &str, description: &str, input_schema: &Value| {
        Arc::new(ToolSpec {
            callable: CallableName::new(name),
            server: ServerName::new("onecall"),
            tool: ToolName::new(name),
            description: Some(description.into()),
            input_schema: input_schema.clone().into(),
            output_schema: None,
            // A subscription changes nothing but what the server sends.
            annotations: ToolAnnotations {
                read_only_hint: Some(true),
                open_world_hint: Some(false),
                ..ToolAnnotations::default()
            },
        })
    };
    [
        (
            ResourceFunction::List(ListKind::Resources),
            spec(
                "list_resources",
                "The resources of all servers or one: dicts with server, uri, name.",
                &list,
            ),
        ),
        (
            ResourceFunction::List(ListKind::ResourceTemplates),
            spec(
                "list_resource_templates",
                "Patterns of further resources: dicts with server, uriTemplate, name.",
                &list,
            ),
        ),
        (
            ResourceFunction::ReadResource,
            spec(
                "read_resource",
                "A resource: its text, or a dict with mimeType and base64 blob.",
                &read,
            ),
        ),
        (
            ResourceFunction::List(ListKind::Prompts),
            spec(
                "list_prompts",
                "The prompts of all servers or one: dicts with server, name, arguments.",
                &list,
            ),
        ),
        (
            ResourceFunction::GetPrompt,
            spec("get_prompt", "A prompt: a dict with its messages.", &prompt),
        ),
        (
            ResourceFunction::SubscribeResource,
            spec("subscribe_resource", "Subscribes to the changes of a resource.", &subscribe),
        ),
        (
            ResourceFunction::CompleteResource,
            spec(
                "complete_resource",
                "Completes an argument of a resource template.",
                &complete("uri"),
            ),
        ),
        (
            ResourceFunction::CompletePrompt,
            spec("complete_prompt", "Completes an argument of a prompt.", &complete("name")),
        ),
    ]
});

/// The description of the function that `user` has under this name, in the form of a tool. A call is a
/// call of the function if its name was resolved to this same `Arc`.
pub(crate) fn resource_function(name: &str, user: FunctionUser) -> Option<&'static Arc<ToolSpec>> {
    // Names with this prefix belong to tools of servers.
    if name.starts_with("mcp__") {
        return None;
    }
    resource_functions(user).find(|spec| spec.callable.as_str() == name)
}

/// The descriptions of all functions that `user` has.
pub(crate) fn resource_functions(
    user: FunctionUser,
) -> impl Iterator<Item = &'static Arc<ToolSpec>> {
    FUNCTIONS.iter().filter(move |(function, _)| function.is_for(user)).map(|(_, spec)| spec)
}

/// Whether a description is that of a function, and not of a tool of a server.
pub(crate) fn is_resource_function(spec: &ToolSpec) -> bool {
    FUNCTIONS.iter().any(|(_, function)| std::ptr::eq(Arc::as_ptr(function), spec))
}

/// The function that a call was resolved to; `None` if it was resolved to a tool.
fn called_function(call: &ResolvedCall) -> Option<&'static (ResourceFunction, Arc<ToolSpec>)> {
    let tool = call.tool.as_ref().ok()?;
    FUNCTIONS.iter().find(|(_, spec)| Arc::ptr_eq(spec, tool))
}

impl ResourceFunctions {
    /// Creates the layer: functions use `resources` as `permission` allows, other calls go to `inner`.
    pub(crate) fn new(
        inner: Arc<dyn CallHandler>,
        resources: Arc<dyn ResourceHost>,
        permission: ToolPermission,
    ) -> Self {
        Self { inner, resources, permission, lists: Mutex::default() }
    }

    async fn answer(
        &self,
        function: ResourceFunction,
        spec: &ToolSpec,
        call: &ResolvedCall,
    ) -> Result<ToolValue, ToolError> {
        let failed = |message: String| ToolError::failed(&call.name, message);
        let refused = |ResourceError { message, refusal }| ToolError::Failed {
            name: call.name.clone(),
            message,
            refusal,
        };
        let checked =
            check_arguments(&spec.input_schema.value(), &call.arguments, Strictness::Strict)
                .map_err(|mismatches| {
                    failed(mismatch_message(spec, &mismatches, call.run.language))
                })?;
        let arguments = checked.arguments.as_ref().unwrap_or(&call.arguments);
        let arguments: Arguments = serde_json::from_str(arguments.get()).map_err(|error| {
            failed(format!("{error}\n  {}", signature(spec, call.run.language)))
        })?;
        let Arguments { server, uri, name, arguments, argument, context } = arguments;
        let server = match &server {
            Some(server) => Some(self.server(server, function, call)?),
            None => None,
        };
        match function {
            ResourceFunction::List(kind) => {
                let entries = self.entries(kind, server, call).await.map_err(refused)?;
                let entries = to_raw_value(&entries).map_err(|error| failed(error.to_string()))?;
                Ok(ToolValue::Json(entries))
            }
            ResourceFunction::ReadResource => {
                let uri = uri.unwrap_or_default();
                let server = match server {
                    Some(server) => server,
                    None => self.server_of(&uri, call).await.map_err(refused)?,
                };
                self.resources.read_resource(&server, &uri, call).await.map_err(refused)
            }
            ResourceFunction::GetPrompt => {
                // The schema, which was checked before, requires both.
                let (Some(server), Some(name)) = (server, name) else {
                    return Err(failed("'server' and 'name' are missing".to_owned()));
                };
                let arguments = arguments.as_deref();
                self.resources.get_prompt(&server, &name, arguments, call).await.map_err(refused)
            }
            ResourceFunction::SubscribeResource => {
                let (Some(server), Some(uri)) = (server, uri) else {
                    return Err(failed("'server' and 'uri' are missing".to_owned()));
                };
                self.resources.subscribe(&server, &uri, call).await.map_err(refused)?;
                Ok(ToolValue::Nothing)
            }
            ResourceFunction::CompleteResource | ResourceFunction::CompletePrompt => {
                let subject = match function {
                    ResourceFunction::CompletePrompt => {
                        name.as_deref().map(CompletionSubject::Prompt)
                    }
                    _ => uri.as_deref().map(CompletionSubject::ResourceTemplate),
                };
                let (Some(server), Some(subject), Some(argument)) = (server, subject, &argument)
                else {
                    return Err(failed("an argument is missing".to_owned()));
                };
                let completion = Completion { subject, argument, context: context.as_deref() };
                self.resources.complete(&server, &completion, call).await.map_err(refused)
            }
        }
    }

    /// The server that a program names, if policy permits the function for it.
    fn server(
        &self,
        name: &str,
        function: ResourceFunction,
        call: &ResolvedCall,
    ) -> Result<ServerName, ToolError> {
        let Some(server) = self.resources.server_named(name) else {
            let known: Vec<String> =
                self.servers(function).iter().map(|server| format!("'{server}'")).collect();
            let message = format!("there is no server '{name}'; there are {}", known.join(", "));
            return Err(ToolError::failed(&call.name, message));
        };
        let name = policy_name(&server, function);
        if self.permission.permits_name(name.as_str()) {
            return Ok(server);
        }
        Err(ToolError::NotAvailable { name })
    }

    /// Every server for which policy permits the function.
    fn servers(&self, function: ResourceFunction) -> Vec<ServerName> {
        let names = self.resources.servers().into_iter();
        names
            .filter(|it| self.permission.permits_name(policy_name(it, function).as_str()))
            .collect()
    }

    /// The entries that one server lists, or all servers; each entry names its server. If all are
    /// asked, a server that does not answer is left out.
    async fn entries(
        &self,
        kind: ListKind,
        server: Option<ServerName>,
        call: &ResolvedCall,
    ) -> Result<Vec<Value>, ResourceError> {
        let lists = match server {
            Some(server) => vec![(server.clone(), self.list(kind, &server, call).await?)],
            None => self.all_lists(kind, call, Duration::ZERO).await,
        };
        let entries = lists.into_iter().flat_map(|(server, entries)| {
            let named = move |entry: &Map<String, Value>| {
                let mut entry = entry.clone();
                entry.insert("server".to_owned(), server.as_str().into());
                Value::Object(entry)
            };
            entries.iter().map(named).collect::<Vec<_>>()
        });
        Ok(entries.collect())
    }

    async fn all_lists(
        &self,
        kind: ListKind,
        call: &ResolvedCall,
        max_age: Duration,
    ) -> Vec<(ServerName, Arc<Vec<Map<String, Value>>>)> {
        let servers = self.servers(ResourceFunction::List(kind));
        let lists = servers.into_iter().map(|server| async move {
            if let Some(entries) = self.cached_list(kind, &server, max_age) {
                return Some((server, entries));
            }
            match self.list(kind, &server, call).await {
                Ok(entries) => Some((server, entries)),
                Err(error) => {
                    tracing::warn!(%server, "{kind:?} could not be listed: {error}");
                    None
                }
            }
        });
        join_all(lists).await.into_iter().flatten().collect()
    }

    async fn list(
        &self,
        kind: ListKind,
        server: &ServerName,
        call: &ResolvedCall,
    ) -> Result<Arc<Vec<Map<String, Value>>>, ResourceError> {
        let entries = Arc::new(self.resources.list(server, kind, call).await?);
        let cached = CachedList { listed_at: Instant::now(), entries: Arc::clone(&entries) };
        let mut all = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((kind, server.clone()), cached);
        Ok(entries)
    }

    fn cached_list(
        &self,
        kind: ListKind,
        server: &ServerName,
        max_age: Duration,
    ) -> Option<Arc<Vec<Map<String, Value>>>> {
        let all = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = all.get(&(kind, server.clone()))?;
        (cached.listed_at.elapsed() < max_age).then(|| Arc::clone(&cached.entries))
    }

    /// The server that has a resource: found by its lists, or else by its resource templates.
    async fn server_of(&self, uri: &str, call: &ResolvedCall) -> Result<ServerName, ResourceError> {
        for (kind, key) in
            [(ListKind::Resources, "uri"), (ListKind::ResourceTemplates, "uriTemplate")]
        {
            let lists = self.all_lists(kind, call, MAX_LIST_AGE).await;
            let has = |entry: &Map<String, Value>| match entry.get(key).and_then(Value::as_str) {
                Some(own) if kind == ListKind::Resources => own == uri,
                Some(pattern) => uri_template::matches(pattern, uri),
                None => false,
            };
            let mut offering: Vec<ServerName> = lists
                .into_iter()
                .filter(|(_, all)| all.iter().any(has))
                .map(|(it, _)| it)
                .collect();
            if offering.len() > 1 {
                let names: Vec<String> = offering.iter().map(|it| format!("'{it}'")).collect();
                let message = "several servers have it; say which as 'server', one of";
                return Err(ResourceError::new(format!("{message} {}", names.join(", "))));
            }
            if let Some(only) = offering.pop() {
                return Ok(only);
            }
        }
        let servers = self.servers(ResourceFunction::ReadResource);
        match servers.as_slice() {
            [only] => Ok(only.clone()),
            _ => {
                let message = "no server lists it; say which one has it as 'server'";
                Err(ResourceError::new(message))
            }
        }
    }
}

/// The name by which policy knows the resources or the prompts of a server.
fn policy_name(server: &ServerName, function: ResourceFunction) -> CallableName {
    let kind = match function {
        ResourceFunction::List(ListKind::Prompts)
        | ResourceFunction::GetPrompt
        | ResourceFunction::CompletePrompt => "prompts",
        ResourceFunction::List(_)
        | ResourceFunction::ReadResource
        | ResourceFunction::SubscribeResource
        | ResourceFunction::CompleteResource => "resources",
    };
    CallableName::new(format!("{}{kind}", name_prefix(server)))
}

impl CallHandler for ResourceFunctions {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match called_function(&call) {
            Some((function, spec)) => {
                Box::pin(async move { self.answer(*function, spec, &call).await.map(Answer::live) })
            }
            None => self.inner.call(call),
        }
    }
}
