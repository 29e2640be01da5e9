//! What is logged about the servers of users: whose server it is, and neither credentials nor links.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use onecall_bridge::{AccessHint, UserCredentials, UserServer};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing::{Event, Metadata, Subscriber};

use crate::fake::{call, own_server, places, server_with, start, user_bridge, with_token};

/// Collects the fields of all events of a thread.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{} ", event.metadata().target()));
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn log_lines_name_the_user_and_no_secret() {
    let events = Events::default();
    let _collecting = set_default(events.clone());
    let parent = start(vec![]).await;
    let processes = places(4);
    let speaks = "case $line in *initialized*) echo 'said on stderr' >&2;; esac";
    let own = with_token(server_with("own", "text hi; exit 3", speaks), "alices-token");
    let alice = user_bridge(&parent, "alice", vec![own.clone()], &processes);
    assert_eq!(call(&alice, "mcp__own__tool").await, "hi");
    let failed = call(&alice, "mcp__own__tool").await;
    assert!(failed.contains("has exited") || failed.contains("is not running"), "{failed}");
    let hint = AccessHint::new(|| "needs login; open https://secret-link and try again".to_owned());
    let credentials = UserCredentials::Missing;
    let missing = UserServer { credentials, hint, ..own_server(own) };
    alice.reconfigure_own(vec![missing]);
    assert!(call(&alice, "mcp__own__tool").await.contains("secret-link"));
    parent.shutdown().await;

    let lines = events.0.lock().unwrap().clone();
    let about_server = |line: &&String| line.contains("server=own");
    let unnamed: Vec<_> = lines.iter().filter(about_server).collect();
    assert!(unnamed.iter().all(|line| line.contains("user=\"alice\"")), "{unnamed:#?}");
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(
        has("said on stderr") && has("started as process") && has("not available"),
        "{lines:#?}"
    );
    assert!(!has("alices-token") && !has("secret-link"), "{lines:#?}");
}
