//! Exposed resources: clients list and read them, subscribe to their changes and complete the
//! arguments of their templates, as if they were connected to the server.

use std::sync::Arc;

use futures_util::future::join_all;
use onecall_bridge::{Bridge, ServerEvent};
use onecall_catalog::name_prefix;
use onecall_core::{CallableName, ListKind, LogLevel, ServerName, ToolError, ToolValue};
use onecall_runtime::{Observer, uri_matches_template};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio::time::timeout;

use super::MAX_WAIT;
use super::function_call::ClientFunction;
use super::lists::{ListedEntry, ServerAnswer};
use crate::Gateway;

/// The lists of exposed resources, and the field that identifies an entry.
const RESOURCE_LISTS: [(ListKind, &str); 2] =
    [(ListKind::Resources, "uri"), (ListKind::ResourceTemplates, "uriTemplate")];

/// A list of exposed resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExposedList {
    /// Resources.
    Resources,
    /// Resource templates.
    ResourceTemplates,
}

/// The subscription of a client to the changes of a resource, until this is dropped.
pub struct ResourceSubscription {
    bridge: Arc<Bridge>,
    /// The server that has the resource.
    pub server: ServerName,
    /// The URI of the resource.
    pub uri: String,
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        let (bridge, server) = (Arc::clone(&self.bridge), self.server.clone());
        let uri = std::mem::take(&mut self.uri);
        runtime.spawn(async move { bridge.unsubscribe(&server, &uri).await });
    }
}

impl Gateway {
    /// Whether clients may use resources of servers directly.
    #[must_use]
    pub fn exposes_resources(&self) -> bool {
        self.exposure.has_resources()
    }

    /// Whether clients may use anything of servers directly.
    #[must_use]
    pub fn exposes_anything(&self) -> bool {
        self.exposure.has_tools() || self.exposes_resources() || self.exposes_prompts()
    }

    /// The exposed resources or resource templates of all servers, as the servers describe them.
    /// Waits a short time for servers that are still connecting.
    pub async fn exposed_resources(
        &self,
        list: ExposedList,
        observer: &dyn Observer,
    ) -> Vec<Map<String, Value>> {
        let kind = match list {
            ExposedList::Resources => ListKind::Resources,
            ExposedList::ResourceTemplates => ListKind::ResourceTemplates,
        };
        let entries = self.list_exposed(kind, observer).await;
        entries.iter().filter(|it| it.is_current).map(|it| it.fields.clone()).collect()
    }

    /// Reads an exposed resource; the answer is that of its server. `None` if no server has it.
    ///
    /// # Errors
    /// If the resource may not be read, or the server does not answer.
    pub async fn read_exposed(
        &self,
        uri: &str,
        observer: &dyn Observer,
    ) -> Result<Option<Box<RawValue>>, ToolError> {
        let Some(server) = self.server_of_resource(uri, observer).await? else { return Ok(None) };
        let arguments = json!({ "server": server.as_str(), "uri": uri });
        let read = self.call_function(ClientFunction::ReadResource, arguments, observer).await?;
        json_answer(read, "read_resource").map(Some)
    }

    /// Subscribes a client to the changes of an exposed resource. `None` if no server has it.
    ///
    /// # Errors
    /// If the resource may not be read, or its server refuses the subscription.
    pub async fn subscribe_exposed(
        &self,
        uri: &str,
        observer: &dyn Observer,
    ) -> Result<Option<ResourceSubscription>, ToolError> {
        let Some(server) = self.server_of_resource(uri, observer).await? else { return Ok(None) };
        let arguments = json!({ "server": server.as_str(), "uri": uri });
        self.call_function(ClientFunction::SubscribeResource, arguments, observer).await?;
        let (bridge, uri) = (Arc::clone(&self.bridge), uri.to_owned());
        Ok(Some(ResourceSubscription { bridge, server, uri }))
    }

    /// Completes an argument of an exposed resource template; `None` if no server has the template.
    ///
    /// # Errors
    /// If the template may not be used, or its server does not answer.
    pub async fn complete_exposed_resource(
        &self,
        template: &str,
        argument: Value,
        context: Option<Value>,
        observer: &dyn Observer,
    ) -> Result<Option<Box<RawValue>>, ToolError> {
        let entries = self.known_or_listed(ListKind::ResourceTemplates, observer).await;
        let Some(entry) = entries.iter().find(|it| it.text("uriTemplate") == template) else {
            return Ok(None);
        };
        let mut arguments =
            json!({ "server": entry.server.as_str(), "uri": template, "argument": argument });
        if let Some(context) = context {
            arguments["context"] = context;
        }
        let function = ClientFunction::CompleteResource;
        let completed = self.call_function(function, arguments, observer).await?;
        json_answer(completed, "complete_resource").map(Some)
    }

    /// Receives what servers announce about their resources and prompts.
    #[must_use]
    pub fn server_events(&self) -> broadcast::Receiver<ServerEvent> {
        self.bridge.options().events.subscribe()
    }

    /// Whether an event is one that clients of this user may learn of.
    #[must_use]
    pub fn is_visible_event(&self, event: &ServerEvent) -> bool {
        event.user.as_ref().is_none_or(|user| user == self.user())
    }

    /// Makes the servers that clients use directly send log messages of this level.
    pub async fn want_log_messages(&self, level: LogLevel) {
        self.bridge.want_log_messages(level, |server| self.exposure.has_any_of(server)).await;
    }

    /// Asks every exposed server for a list. A server that the user may not use is left out. The last
    /// known list stands for one that does not answer in time.
    pub(super) async fn list_exposed(
        &self,
        kind: ListKind,
        observer: &dyn Observer,
    ) -> Arc<Vec<ListedEntry>> {
        let is_exposed = |server: &ServerName| match kind {
            ListKind::Prompts => self.exposure.has_prompts_of(server),
            ListKind::Resources | ListKind::ResourceTemplates => {
                self.exposure.has_resources_of(server)
            }
        };
        let noun = if kind == ListKind::Prompts { "prompts" } else { "resources" };
        let permission = self.rules().permission.clone();
        let is_permitted = |server: &ServerName| {
            permission.permits_name(&format!("{}{noun}", name_prefix(server)))
        };
        let servers = self.bridge.status().into_iter().map(|status| status.name);
        let servers = servers.filter(|it| is_exposed(it) && is_permitted(it));
        let lists = servers.map(|server| async move {
            let arguments = json!({ "server": server.as_str() });
            let listing = self.call_function(ClientFunction::List(kind), arguments, observer);
            let entries = match timeout(MAX_WAIT, listing).await {
                Ok(Ok(ToolValue::Json(list))) => Some(entries_of(&list)),
                Ok(Ok(_)) => Some(Vec::new()),
                Ok(Err(error)) => {
                    tracing::debug!(%server, "{noun} are not listed for a client: {error}");
                    None
                }
                Err(_) => {
                    tracing::debug!(%server, "the server did not list its {noun} in time");
                    None
                }
            };
            ServerAnswer { server, entries }
        });
        self.lists.set(kind, join_all(lists).await)
    }

    /// A list that was requested a short time ago, or else a new one.
    pub(super) async fn known_or_listed(
        &self,
        kind: ListKind,
        observer: &dyn Observer,
    ) -> Arc<Vec<ListedEntry>> {
        match self.lists.get(kind) {
            Some(known) => known,
            None => self.list_exposed(kind, observer).await,
        }
    }

    /// The server that has an exposed resource: found by its lists, or else by its resource templates.
    /// If only one server is exposed, it is that one, so that the client gets its answer.
    async fn server_of_resource(
        &self,
        uri: &str,
        observer: &dyn Observer,
    ) -> Result<Option<ServerName>, ToolError> {
        for (kind, key) in RESOURCE_LISTS {
            let has = |entry: &&ListedEntry| match kind {
                ListKind::ResourceTemplates => uri_matches_template(entry.text(key), uri),
                _ => entry.text(key) == uri,
            };
            let mut entries = self.known_or_listed(kind, observer).await;
            if !entries.iter().any(|entry| has(&entry)) {
                entries = self.list_exposed(kind, observer).await;
            }
            let mut servers: Vec<&ServerName> =
                entries.iter().filter(has).map(|entry| &entry.server).collect();
            servers.dedup();
            match servers.as_slice() {
                [] => {}
                [only] => return Ok(Some((*only).clone())),
                several => {
                    let names: Vec<String> = several.iter().map(|it| format!("'{it}'")).collect();
                    let message = format!(
                        "several servers have it: {}; `expose_resources` of the configuration should name one of them",
                        names.join(", ")
                    );
                    return Err(ToolError::failed(&CallableName::new("read_resource"), message));
                }
            }
        }
        let names = self.bridge.status().into_iter().map(|status| status.name);
        let mut exposed = names.filter(|server| self.exposure.has_resources_of(server));
        Ok(exposed.next().filter(|_| exposed.next().is_none()))
    }
}

/// The entries of a list, without the name of the server that programs find in each entry.
fn entries_of(list: &RawValue) -> Vec<Map<String, Value>> {
    let mut entries: Vec<Map<String, Value>> = serde_json::from_str(list.get()).unwrap_or_default();
    for entry in &mut entries {
        entry.remove("server");
    }
    entries
}

/// The answer of a server as JSON.
pub(super) fn json_answer(value: ToolValue, function: &str) -> Result<Box<RawValue>, ToolError> {
    match value {
        ToolValue::Json(answer) => Ok(answer),
        _ => {
            let message = "the answer of the server is not a result";
            Err(ToolError::failed(&CallableName::new(function), message))
        }
    }
}
