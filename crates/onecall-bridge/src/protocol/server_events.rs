//! Notifications of servers about their resources and prompts, passed on to those who serve clients.

use onecall_core::{ServerName, UserName};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

/// How many events are kept for a receiver that is slow.
const MAX_WAITING: usize = 256;

/// The longest URI of a changed resource that is passed on, in bytes.
const MAX_URI_BYTES: usize = 16 * 1024;

/// The events of all servers of a gateway. Clones share one channel.
#[derive(Clone)]
pub struct ServerEvents(broadcast::Sender<ServerEvent>);

/// A change that a server announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// The server.
    pub server: ServerName,
    /// The user that the server belongs to; `None` for a server that all users share.
    pub user: Option<UserName>,
    /// What has changed.
    pub kind: ServerEventKind,
}

/// The kinds of changes that a server announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEventKind {
    /// The list of resources or resource templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The content of a resource.
    Resource {
        /// The URI of the resource.
        uri: String,
    },
}

impl Default for ServerEvents {
    fn default() -> Self {
        Self(broadcast::Sender::new(MAX_WAITING))
    }
}

impl ServerEvents {
    /// Receives the events from now on. A receiver that is too slow misses the oldest ones and
    /// learns that it did.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<ServerEvent> {
        self.0.subscribe()
    }

    pub(crate) fn send(&self, event: ServerEvent) {
        // It is no error if there are no receivers.
        let _ = self.0.send(event);
    }
}

/// The kind of change that a notification announces; `None` for any other notification.
pub(crate) fn event_kind(method: &str, params: Option<&RawValue>) -> Option<ServerEventKind> {
    #[derive(Deserialize)]
    struct Updated {
        uri: String,
    }
    match (method, params) {
        ("notifications/resources/list_changed", _) => Some(ServerEventKind::Resources),
        ("notifications/prompts/list_changed", _) => Some(ServerEventKind::Prompts),
        ("notifications/resources/updated", Some(params)) => {
            let json = Some(params.get()).filter(|json| json.len() <= MAX_URI_BYTES)?;
            let Updated { uri } = serde_json::from_str(json).ok()?;
            Some(ServerEventKind::Resource { uri })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_announcements_are_events() {
        let kind = |method: &str, params: &str| {
            let params = RawValue::from_string(params.to_owned()).ok();
            event_kind(method, params.as_deref())
        };
        let updated = "notifications/resources/updated";
        let uri = || "a://b".to_owned();
        assert_eq!(
            kind(updated, r#"{"uri":"a://b"}"#),
            Some(ServerEventKind::Resource { uri: uri() })
        );
        let prompts = kind("notifications/prompts/list_changed", "{}");
        assert_eq!(prompts, Some(ServerEventKind::Prompts));
        let long = format!(r#"{{"uri":"{}"}}"#, "x".repeat(MAX_URI_BYTES));
        for params in ["{}", r#"{"uri":1}"#, "[]", &long] {
            assert_eq!(kind(updated, params), None, "{params:.20}");
        }
        assert_eq!(kind("notifications/tools/list_changed", "{}"), None);
    }
}
