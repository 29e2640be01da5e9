//! Remembers for a short time what servers listed, so that a client that reads one resource after the
//! other does not make every server list its resources each time. The last list of a server that does
//! not answer is kept, so that the names of entries do not depend on which servers are running.

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
    /// Whether the server listed it when it was asked last; false if the server did not answer then.
    pub(super) is_current: bool,
}

impl ListedEntry {
    /// The text of a field; empty if there is none.
    pub(super) fn text(&self, key: &str) -> &str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

/// What a server listed; `None` if it did not answer.
pub(super) struct ServerAnswer {
    pub(super) server: ServerName,
    pub(super) entries: Option<Vec<Map<String, Value>>>,
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

    /// Keeps what each server listed, or for a server that did not answer what it listed before.
    pub(super) fn set(&self, kind: ListKind, answers: Vec<ServerAnswer>) -> Arc<Vec<ListedEntry>> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lists.get(&kind).map(|(_, entries)| Arc::clone(entries)).unwrap_or_default();
        let entries_of = |ServerAnswer { server, entries }| match entries {
            Some(entries) => entries
                .into_iter()
                .map(|fields| ListedEntry { server: server.clone(), fields, is_current: true })
                .collect(),
            None => {
                let earlier = known.iter().filter(|it| it.server == server).cloned();
                earlier.map(|it| ListedEntry { is_current: false, ..it }).collect::<Vec<_>>()
            }
        };
        let entries = Arc::new(answers.into_iter().flat_map(entries_of).collect::<Vec<_>>());
        lists.insert(kind, (Instant::now(), Arc::clone(&entries)));
        entries
    }
}
