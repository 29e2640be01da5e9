//! What is logged about the servers of users: whose server it is, and neither credentials nor links.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use onecall_bridge::{AccessHint, UserCredentials, UserServer};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing::{Dispatch, Event, Metadata, Subscriber};

use crate::fake::{
    call, call_with, eventually, own_server, places, server_with, start, user_bridge, with_token,
};

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

impl Events {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn have(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }
}

#[tokio::test]
async fn log_lines_name_the_user_and_no_secret() {
    let events = Events::default();
    let _collecting = set_default(events.clone());
    // If there is only one subscriber, a line is enabled or not by that of the thread which reaches it
    // first, and the threads of other tests have none.
    let _second = Dispatch::new(Events::default());
    let parent = start(vec![]).await;
    let processes = places(4);
    let speaks = "case $line in *initialized*) echo 'said on stderr' >&2;; esac";
    let mortal = r#"case $line in *'"die"'*) exit 3;; *) text hi;; esac"#;
    let own = with_token(server_with("own", mortal, speaks), "alices-token");
    let alice = user_bridge(&parent, "alice", vec![own.clone()], &processes);
    assert_eq!(call(&alice, "mcp__own__tool").await, "hi");
    eventually("stderr is logged", || events.have("said on stderr")).await;
    let failed = call_with(&alice, "mcp__own__tool", r#"{"how":"die"}"#).await;
    assert_eq!(failed, "'mcp__own__tool' failed: server 'own' has exited (exit status: 3)");
    let hint = AccessHint::new(|| "needs login; open https://secret-link and try again".to_owned());
    let credentials = UserCredentials::Missing;
    let missing = UserServer { credentials, hint, ..own_server(own) };
    alice.reconfigure_own(vec![missing]);
    assert!(call(&alice, "mcp__own__tool").await.contains("secret-link"));
    parent.shutdown().await;

    let lines = events.lines();
    for text in ["started as process", "connected to fake 1.0", "not available: has exited"] {
        assert!(events.have(text), "{text} in {lines:#?}");
    }
    let about_server: Vec<_> = lines.iter().filter(|it| it.contains("server=own")).collect();
    let unnamed: Vec<_> =
        about_server.iter().filter(|line| !line.contains("user=\"alice\"")).collect();
    assert!(unnamed.is_empty(), "{unnamed:#?}");
    assert!(!events.have("alices-token") && !events.have("secret-link"), "{lines:#?}");
}
