//! Remembers for a short time what servers listed, so that a client that reads one resource after the
//! other does not make every server list its resources each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use onecall_core::{ListKind, ServerName};
use serde_json::{Map, Value};

/// How long a list is used to find the server of a resource or a prompt.
const MAX_AGE: Duration = Duration::from_secs(10);

/// An entry of a list, and the server that listed it.
#[derive(Clone, Debug)]
pub(super) struct ListedEntry {
    pub(super) server: ServerName,
    pub(super) fields: Map<String, Value>,
}

impl ListedEntry {
    /// The text of a field; empty if there is none.
    pub(super) fn text(&self, key: &str) -> &str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

/// The lists of exposed resources and prompts that one user got last.
#[derive(Default)]
pub(crate) struct ListCache(Mutex<HashMap<ListKind, TimedList>>);

/// A list, and when the servers were asked for it.
type TimedList = (Instant, Arc<Vec<ListedEntry>>);

impl ListCache {
    pub(super) fn get(&self, kind: ListKind) -> Option<Arc<Vec<ListedEntry>>> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (listed, entries) = lists.get(&kind)?;
        (listed.elapsed() < MAX_AGE).then(|| Arc::clone(entries))
    }

    pub(super) fn set(&self, kind: ListKind, entries: Vec<ListedEntry>) -> Arc<Vec<ListedEntry>> {
        let entries = Arc::new(entries);
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.insert(kind, (Instant::now(), Arc::clone(&entries)));
        entries
    }
}
