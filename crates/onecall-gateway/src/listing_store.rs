//! Stores the tool listings of servers, so that a later process knows the tools before it has
//! started a server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_bridge::{Bridge, ServerIdentity};
use onecall_catalog::ToolDefinition;
use onecall_config::ServerConfig;
use onecall_core::storage::{ListingKey, MAX_LISTING_BYTES, StoreError, StoredListing};
use onecall_core::{ServerName, Timestamp, ToolAnnotations, ToolName};
use onecall_runtime::{Redactor, StoreWriter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

type Definitions = Arc<Vec<ToolDefinition>>;

/// The listings of servers, from this process and from earlier ones.
pub struct ListingStore {
    writer: Arc<StoreWriter>,
    /// The listing of each server that was last queued for writing.
    queued: Mutex<HashMap<ServerName, Definitions>>,
    /// Listings that were read from the store, so that each is read once.
    loaded: Mutex<HashMap<ListingKey, Option<EarlierListing>>>,
}

/// The tools that a server listed, and when.
#[derive(Clone, Debug)]
pub(crate) struct EarlierListing {
    pub(crate) listed: Definitions,
    pub(crate) listed_at: Timestamp,
}

impl EarlierListing {
    /// Reads a stored listing; `None` if it cannot be parsed.
    pub(crate) fn read(stored: StoredListing) -> Option<Self> {
        let tools: Vec<StoredTool> = serde_json::from_str(&stored.tools).ok()?;
        let listed = Arc::new(tools.into_iter().map(ToolDefinition::from).collect());
        Some(Self { listed, listed_at: stored.seen })
    }
}

impl ListingStore {
    /// Creates listings that are written by `writer`.
    #[must_use]
    pub fn new(writer: Arc<StoreWriter>) -> Self {
        Self { writer, queued: Mutex::default(), loaded: Mutex::default() }
    }

    /// Queues listings that have changed since the last call for writing. A listing that contains a
    /// secret or is too large is not stored, and the earlier listing of its server is removed.
    pub fn save(&self, bridge: &Bridge, secrets: impl Fn() -> Redactor) {
        let mut queued = lock(&self.queued);
        let mut redactor = None;
        bridge.for_each_listing(|server, listed| {
            if queued.get(&server.name).is_some_and(|known| Arc::ptr_eq(known, listed)) {
                return;
            }
            queued.insert(server.name.clone(), Arc::clone(listed));
            let redactor = Arc::clone(redactor.get_or_insert_with(|| Arc::new(secrets())));
            let (key, name) = (ServerIdentity::of_entry(server), server.name.clone());
            let (listed, seen) = (Arc::clone(listed), Timestamp::now());
            self.writer.submit(size(&listed), move |store| {
                let tools = tools_json(&listed);
                if tools.len() > MAX_LISTING_BYTES || redactor.finds_secret_in(&tools) {
                    tracing::debug!(server = %name, "onecall does not store the server's list of tools, because it is too large or contains a secret");
                    return store.forget_listing(&key);
                }
                store.put_listing(&key, name.as_str(), &StoredListing { tools, seen })
            });
        });
    }

    /// Removes the stored listings of servers with these names.
    pub fn remove<'a>(&self, servers: impl IntoIterator<Item = &'a ServerName>) {
        for server in servers {
            lock(&self.queued).remove(server);
            let name = server.clone();
            self.writer.submit(name.as_str().len(), move |store| -> Result<(), StoreError> {
                store.forget_listings_of(name.as_str())
            });
        }
    }

    /// The listing of this server that an earlier process has stored. Waits for the disk the first
    /// time.
    pub(crate) fn load_earlier(&self, server: &ServerConfig) -> Option<EarlierListing> {
        let key = ServerIdentity::of_entry(server);
        let load = || {
            let stored = self.writer.store().listing(&key, Timestamp::now());
            stored.ok().flatten().and_then(EarlierListing::read)
        };
        lock(&self.loaded).entry(key).or_insert_with(load).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Roughly how many bytes a listing takes while it waits to be written.
fn size(listed: &[ToolDefinition]) -> usize {
    let size = |tool: &ToolDefinition| {
        let output = tool.output_schema.as_ref().map_or(0, |schema| schema.text().len());
        let description = tool.description.as_deref().map_or(0, str::len);
        tool.tool.as_str().len() + description + tool.input_schema.text().len() + output
    };
    listed.iter().map(size).sum()
}

/// A tool definition in the stored form.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredTool {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    input_schema: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Box<RawValue>>,
    #[serde(default)]
    annotations: ToolAnnotations,
}

fn tools_json(listed: &[ToolDefinition]) -> String {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap_or_default();
    let tool = |tool: &ToolDefinition| StoredTool {
        name: tool.tool.as_str().to_owned(),
        description: tool.description.as_deref().map(str::to_owned),
        input_schema: raw(tool.input_schema.text()),
        output_schema: tool.output_schema.as_ref().map(|schema| raw(schema.text())),
        annotations: tool.annotations.clone(),
    };
    let tools: Vec<StoredTool> = listed.iter().map(tool).collect();
    serde_json::to_string(&tools).unwrap_or_default()
}

impl From<StoredTool> for ToolDefinition {
    fn from(tool: StoredTool) -> Self {
        let schema = |raw: Box<RawValue>| -> Value {
            // An unreadable schema is replaced by the default one, which accepts anything.
            serde_json::from_str(raw.get()).unwrap_or_default()
        };
        Self {
            tool: ToolName::new(tool.name.as_str()),
            description: tool.description.map(Into::into),
            input_schema: schema(tool.input_schema).into(),
            output_schema: tool.output_schema.map(|raw| schema(raw).into()),
            annotations: tool.annotations,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_comes_back_as_it_was() {
        let plain = ToolDefinition {
            tool: ToolName::new("plain"),
            description: None,
            input_schema: json!({ "type": "object" }).into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        };
        let properties = json!({ "z": { "type": "string" }, "a": { "enum": ["ä", "\"", 1.50] } });
        let whole = ToolDefinition {
            tool: ToolName::new("whöle tool"),
            description: Some("first\nsecond".into()),
            input_schema: json!({ "type": "object", "properties": properties }).into(),
            output_schema: Some(json!({ "type": "object" }).into()),
            annotations: ToolAnnotations {
                read_only_hint: Some(true),
                title: Some("Whole".to_owned()),
                ..ToolAnnotations::default()
            },
        };
        let listed = vec![plain, whole];
        let stored = StoredListing { tools: tools_json(&listed), seen: Timestamp(5) };
        let seen = EarlierListing::read(stored).unwrap();
        assert_eq!((*seen.listed).clone(), listed);
        assert_eq!(seen.listed_at, Timestamp(5));
    }

    #[test]
    fn what_is_no_listing_is_not_read() {
        for tools in ["", "{}", "[1]", r#"[{"name": "x"}]"#, "[{\"name\": 1, \"inputSchema\": {}}]"]
        {
            let stored = StoredListing { tools: tools.to_owned(), seen: Timestamp(0) };
            assert!(EarlierListing::read(stored).is_none(), "{tools}");
        }
    }
}
