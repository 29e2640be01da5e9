//! Servers over HTTP: every transport, and what happens when one goes wrong.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_bridge::{Bridge, ServerState};
use onecall_config::{PerUserSettings, RemoteTransport, Secret, ServerConfig, Transport};
use onecall_core::ServerName;
use serde_json::Value;
use tempfile::TempDir;
use testkit::remote::HttpFixture;
use tokio::time::timeout;

use crate::fake::{TEST_TIMEOUT, call, call_with, reason, start};

/// How a server is to be reached.
type MakeTransport = fn(RemoteTransport) -> Transport;

/// A fixture server and what it has been sent.
struct RecordingFixture {
    fixture: HttpFixture,
    folder: TempDir,
}

impl RecordingFixture {
    fn new(flags: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log").display().to_string();
        let flags: Vec<&str> = flags.split_whitespace().chain(["--log", &log]).collect();
        Self { fixture: HttpFixture::start(&flags), folder }
    }

    fn config(&self, transport: MakeTransport) -> ServerConfig {
        let path =
            if transport(remote("")) == Transport::Sse(remote("")) { "/sse" } else { "/mcp" };
        config(transport(remote(&self.fixture.url(path))))
    }

    async fn http(&self) -> Arc<Bridge> {
        start(vec![self.config(Transport::Http)]).await
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Everything it was sent, heads and bodies.
    fn received(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn count(&self, is_wanted: impl Fn(&Value) -> bool) -> usize {
        self.received().iter().filter(|message| is_wanted(message)).count()
    }

    async fn wait_for(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(found) = self.received().into_iter().find(|message| is_wanted(message)) {
                return found;
            }
            assert!(Instant::now() < deadline, "it was never sent: {:#?}", self.received());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn remote(url: &str) -> RemoteTransport {
    let secret = Secret::new("Bearer open-sesame");
    let headers = BTreeMap::from([("Authorization".to_owned(), secret)]);
    RemoteTransport { url: url.to_owned(), headers, oauth: None }
}

fn config(transport: Transport) -> ServerConfig {
    ServerConfig {
        name: ServerName::new("x"),
        transport,
        connect_timeout: Some(TEST_TIMEOUT),
        call_timeout: Some(TEST_TIMEOUT),
        lazy: false,
        pins: None,
        per_user: PerUserSettings::default(),
    }
}

async fn add(bridge: &Bridge) -> String {
    call_with(bridge, "mcp__x__add", r#"{"a":1,"b":2}"#).await
}

async fn counter(bridge: &Bridge) -> String {
    call(bridge, "mcp__x__counter").await
}

/// What becomes of a call of `counter`, without its beginning; everything else
/// still works.
async fn misbehaving(flags: &str) -> String {
    let site = RecordingFixture::new(flags);
    let bridge = site.http().await;
    let outcome = counter(&bridge).await;
    assert_eq!(add(&bridge).await, "3");
    bridge.shutdown().await;
    outcome.strip_prefix("'mcp__x__counter' failed: ").map(str::to_owned).unwrap_or(outcome)
}

async fn fails_to_start(transport: Transport) -> String {
    let bridge = start(vec![config(transport)]).await;
    let reason = reason(&bridge);
    bridge.shutdown().await;
    reason
}

#[tokio::test]
async fn every_kind_of_server_is_called() {
    let rows: [(&str, MakeTransport, &str, &str); 8] = [
        ("--face json", Transport::Http, "http", "2025-11-25"),
        ("--face events", Transport::Http, "http", "2025-11-25"),
        ("--face json --sessions", Transport::Http, "http", "2025-11-25"),
        ("--face events --sessions --protocol 2025-03-26", Transport::Http, "http", "2025-03-26"),
        ("--face stateless", Transport::Http, "http", "2026-07-28"),
        ("--face stateless", Transport::Auto, "http", "2026-07-28"),
        ("--face json", Transport::Auto, "http", "2025-11-25"),
        ("--face legacy --protocol 2024-11-05", Transport::Sse, "sse", "2024-11-05"),
    ];
    for (flags, transport, label, revision) in rows {
        let site = RecordingFixture::new(flags);
        let bridge = start(vec![site.config(transport)]).await;
        let status = bridge.status().pop().unwrap();
        let ServerState::Ready { protocol, tools: 35, .. } = &status.state else {
            panic!("{flags}: {status:?}")
        };
        assert_eq!((status.transport, &**protocol), (label, revision), "{flags}");
        assert_eq!(add(&bridge).await, "3", "{flags}");
        let slow = call_with(&bridge, "mcp__x__sleep", r#"{"ms":50}"#);
        let (slow, counted) = tokio::join!(slow, counter(&bridge));
        assert_eq!((&*slow, &*counted), ("slept", "1"), "{flags}");
        bridge.shutdown().await;
        let without = |head: &Value| {
            head["http"].is_string() && head["headers"]["authorization"] != "Bearer open-sesame"
        };
        assert_eq!(site.count(without), 0, "{flags}");
    }
}

#[tokio::test]
async fn a_server_with_the_older_transport_is_recognised() {
    let site = RecordingFixture::new("--face legacy");
    let auto = config(Transport::Auto(remote(&site.fixture.url("/sse"))));
    let bridge = start(vec![auto]).await;
    assert_eq!(bridge.status().pop().unwrap().transport, "sse");
    assert_eq!(add(&bridge).await, "3");
    bridge.shutdown().await;

    let http = Transport::Http(remote(&site.fixture.url("/sse")));
    assert_eq!(
        fails_to_start(http).await,
        "'initialize' failed: the server answered 405 Method Not Allowed; check 'url'"
    );
    let neither = Transport::Auto(remote(&site.fixture.url("/nothing")));
    assert_eq!(
        fails_to_start(neither).await,
        "'initialize' failed: the server answered 405 Method Not Allowed; check 'url'; \
         tried as an older HTTP+SSE server: 'initialize' failed: the server answered \
         404 Not Found; check 'url'"
    );
}

#[tokio::test]
async fn a_session_goes_with_every_message_and_is_ended() {
    let site = RecordingFixture::new("--face events --sessions");
    let bridge = site.http().await;
    assert_eq!(add(&bridge).await, "3");
    // The server's own stream is open: it asks, and is answered.
    site.wait_for(|message| message["id"] == "from the server" && message["result"].is_object())
        .await;
    bridge.shutdown().await;
    let ended = site.wait_for(|head| head["http"] == "DELETE").await;
    assert_eq!(ended["headers"]["mcp-session-id"], "session-1");
    let is_head = |head: &Value| head["http"].is_string();
    let heads: Vec<Value> = site.received().into_iter().filter(is_head).collect();
    let [discovery, handshake, rest @ ..] = &*heads else { panic!("nothing was sent") };
    for head in [discovery, handshake] {
        assert_eq!(head["headers"].get("mcp-session-id"), None, "{head}");
    }
    for head in rest {
        assert_eq!(head["headers"]["mcp-session-id"], "session-1", "{head}");
        assert_eq!(head["headers"]["mcp-protocol-version"], "2025-11-25", "{head}");
    }
}

#[tokio::test]
async fn a_lost_session_is_renewed_and_the_call_sent_again() {
    for face in ["json", "events"] {
        let site =
            RecordingFixture::new(&format!("--face {face} --sessions --misbehave lose-session"));
        let bridge = site.http().await;
        assert_eq!(tokio::join!(counter(&bridge), add(&bridge)).0, "1");
        assert_eq!(counter(&bridge).await, "2");
        bridge.shutdown().await;
        assert_eq!(site.count(|message| message["method"] == "initialize"), 2);
        assert_eq!(site.count(|message| message["method"] == "server/discover"), 1);
    }
}

#[tokio::test]
async fn discovery_comes_first_where_it_harms_nobody() {
    for (face, discoveries, handshakes) in
        [("stateless", 1, 0), ("events --sessions", 1, 1), ("legacy", 0, 1)]
    {
        let site = RecordingFixture::new(&format!("--face {face}"));
        let transport = if face == "legacy" { Transport::Sse } else { Transport::Http };
        let bridge = start(vec![site.config(transport)]).await;
        assert_eq!(add(&bridge).await, "3");
        bridge.shutdown().await;
        assert_eq!(site.count(|it| it["method"] == "server/discover"), discoveries, "{face}");
        assert_eq!(site.count(|it| it["method"] == "initialize"), handshakes, "{face}");
    }
}

#[tokio::test]
async fn a_session_that_is_lost_again_and_again_fails_the_call() {
    let outcome = misbehaving("--sessions --misbehave lose-sessions").await;
    assert_eq!(outcome, "the server ended the session");
}

#[tokio::test]
async fn a_server_that_restarts_is_found_again() {
    let site = RecordingFixture::new("--sessions");
    let bridge = site.http().await;
    assert_eq!(counter(&bridge).await, "1");
    let address = site.fixture.address().to_owned();
    drop(site);
    let gone = format!(
        "'mcp__x__add' failed: could not reach http://{address}: Connection refused (os error 111)"
    );
    let refused = async { while add(&bridge).await != gone {} };
    // The first call may meet a connection that is just being closed.
    timeout(TEST_TIMEOUT, refused).await.unwrap();
    let _back = HttpFixture::start_at(&address, &["--sessions"]);
    assert_eq!(counter(&bridge).await, "1");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_broken_stream_is_resumed_without_repeating_the_call() {
    let site = RecordingFixture::new("--face events --sessions --misbehave drop");
    let bridge = site.http().await;
    assert_eq!(counter(&bridge).await, "1");
    assert_eq!(counter(&bridge).await, "2");
    bridge.shutdown().await;
    let resumed = |head: &Value| head["headers"]["last-event-id"].is_string();
    assert_eq!(site.count(resumed), 2);
}

#[tokio::test]
async fn what_may_have_been_executed_is_not_repeated() {
    for (how, face) in [("drop-for-good", "events"), ("close", "json")] {
        let site = RecordingFixture::new(&format!("--face {face} --misbehave {how}"));
        let bridge = site.http().await;
        let outcome = counter(&bridge).await;
        assert!(outcome.contains("may have executed the request"), "{outcome}");
        bridge.shutdown().await;
        let calls = |message: &Value| message["params"]["name"] == "counter";
        assert_eq!(site.count(calls), 1);
    }
}

#[tokio::test]
async fn wrong_answers_fail_only_their_call() {
    let rows = [
        ("status=500", "the server answered 500 Internal Server Error: you are [secret]"),
        (
            "status=401",
            "the server answered 401 Unauthorized; check the token in 'headers': \
             you are [secret]",
        ),
        (
            "html",
            "the server answered with text/html, not with JSON or an event stream; check 'url': \
             <html><h1>Sign in</h1>",
        ),
        ("accepted", "the server accepted the request without answering it"),
        ("garbage", "the server answered with something that is not MCP: {\"jsonrpc\": oops"),
        (
            "wrong-id",
            r#"the server answered with something that is not MCP: {"jsonrpc":"2.0","id":987654321,"result":{}}"#,
        ),
        ("moved", "1"),
        ("drip", "slow"),
        ("oversized", "the answer is larger than 64 MiB"),
        ("oversized-event", "the answer is larger than 64 MiB"),
    ];
    for (how, expected) in rows {
        assert_eq!(misbehaving(&format!("--misbehave {how}")).await, expected, "{how}");
    }
}

#[tokio::test]
async fn headers_go_to_no_other_origin() {
    let other = RecordingFixture::new("");
    let target = other.fixture.url("/mcp");
    let outcome = misbehaving(&format!("--misbehave redirect={target}")).await;
    assert_eq!(
        outcome,
        format!(
            "the server redirects to http://{}, which is not followed; if that is the right \
             address, change 'url'",
            other.fixture.address()
        )
    );
    let legacy = RecordingFixture::new(&format!("--face legacy --misbehave endpoint={target}"));
    let reason = fails_to_start(Transport::Sse(remote(&legacy.fixture.url("/sse")))).await;
    assert_eq!(
        reason,
        format!(
            "'initialize' failed: the server named an address for messages that is not its own: \
             http://{}",
            other.fixture.address()
        )
    );
    assert_eq!(other.received(), [] as [Value; 0]);
}

#[tokio::test]
async fn a_deadline_holds_whatever_the_server_does() {
    for how in ["silent", "pings"] {
        let site = RecordingFixture::new(&format!("--face events --misbehave {how}"));
        let mut config = site.config(Transport::Http);
        config.call_timeout = Some(Duration::from_millis(400));
        let bridge = start(vec![config]).await;
        let outcome = counter(&bridge).await;
        assert_eq!(outcome, "'mcp__x__counter' failed: no answer within 0.4s");
        let call = site.wait_for(|message| message["params"]["name"] == "counter").await;
        site.wait_for(|message| {
            message["method"] == "notifications/cancelled"
                && message["params"]["requestId"] == call["id"]
        })
        .await;
        timeout(TEST_TIMEOUT, bridge.shutdown()).await.unwrap();
    }
}

#[tokio::test]
async fn a_dropped_call_closes_its_request() {
    let site = RecordingFixture::new("--face stateless --misbehave silent");
    let bridge = site.http().await;
    assert!(timeout(Duration::from_millis(200), counter(&bridge)).await.is_err());
    // A call to a stateless server is cancelled by closing the connection, without a notification.
    assert_eq!(add(&bridge).await, "3");
    assert_eq!(site.count(|message| message["method"] == "notifications/cancelled"), 0);
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_password_in_the_address_is_used_and_not_shown() {
    let site = RecordingFixture::new("--misbehave status=500");
    let url = site.fixture.url("/mcp").replace("//", "//me:my-password@");
    let transport = RemoteTransport { url, headers: BTreeMap::new(), oauth: None };
    let bridge = start(vec![config(Transport::Http(transport))]).await;
    assert_eq!(add(&bridge).await, "3");
    let outcome = counter(&bridge).await;
    assert!(outcome.contains("500 Internal") && !outcome.contains("bWU6"), "{outcome}");
    let basic = |head: &Value| head["headers"]["authorization"] == "Basic bWU6bXktcGFzc3dvcmQ=";
    site.wait_for(basic).await;
    bridge.shutdown().await;
}

#[tokio::test]
async fn many_calls_at_once_survive_a_lost_session() {
    let site = RecordingFixture::new("--sessions --misbehave lose-session");
    let bridge = site.http().await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..300 {
        let bridge = Arc::clone(&bridge);
        calls.spawn(async move {
            let name = if number == 0 { "mcp__x__counter" } else { "mcp__x__nothing" };
            call(&bridge, name).await
        });
    }
    let mut outcomes = calls.join_all().await;
    outcomes.sort();
    outcomes.dedup();
    assert_eq!(outcomes, ["1", "nothing"]);
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_stateless_server_is_asked_about_changes() {
    let site = RecordingFixture::new("--face stateless");
    let bridge = site.http().await;
    let asked = site.wait_for(|message| message["method"] == "subscriptions/listen").await;
    assert_eq!(asked["params"]["notifications"]["toolsListChanged"], true);
    let listed = async {
        while site.count(|message| message["method"] == "tools/list") < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TEST_TIMEOUT, listed).await.unwrap();
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_bridge_for_one_call_leaves_nothing_behind() {
    let sites = ["--face events --sessions", "--face legacy", "--face stateless"]
        .map(RecordingFixture::new);
    for (site, transport) in sites.iter().zip([Transport::Http, Transport::Sse, Transport::Auto]) {
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let bridge = start(vec![site.config(transport)]).await;
        assert_eq!(add(&bridge).await, "3");
        bridge.shutdown().await;
        drop(bridge);
        let gone = async {
            while tasks() > before {
                tokio::task::yield_now().await;
            }
        };
        timeout(TEST_TIMEOUT, gone).await.unwrap();
    }
}

/// Waits until the only server of a bridge is in a state.
async fn wait_for_state(bridge: &Bridge, is_wanted: impl Fn(&ServerState) -> bool) {
    let reached = async {
        while !bridge.status().iter().all(|status| is_wanted(&status.state)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let reached = timeout(WITHOUT_WAITING, reached).await;
    assert!(reached.is_ok(), "{:?}", bridge.status());
}

/// Far less than reopening a lost stream again and again would take.
const WITHOUT_WAITING: Duration = Duration::from_secs(8);

#[tokio::test]
async fn an_older_server_that_dies_is_missed_at_once() {
    let mut site = RecordingFixture::new("--face legacy");
    let bridge = start(vec![site.config(Transport::Sse)]).await;
    assert_eq!(add(&bridge).await, "3");
    let address = site.fixture.address().to_owned();

    // A call under way.
    let (lost, _) = tokio::join!(timeout(WITHOUT_WAITING, call(&bridge, "mcp__x__hang")), async {
        site.wait_for(|message| message["params"]["name"] == "hang").await;
        site.fixture.kill();
    });
    let lost = lost.expect("the call fails");
    assert!(lost.contains("may have executed the request"), "{lost}");

    // Calls from now on.
    let next = timeout(WITHOUT_WAITING, counter(&bridge)).await.expect("the call fails");
    assert!(next.starts_with("'mcp__x__counter' failed: "), "{next}");
    wait_for_state(&bridge, |state| matches!(state, ServerState::Failed { .. })).await;
    let down = timeout(WITHOUT_WAITING, counter(&bridge)).await.expect("the call fails");
    let expected = "'mcp__x__counter' failed: server 'x' is not running: ";
    assert!(down.starts_with(expected) && down.contains("onecall starts it again"), "{down}");

    // A new server at the old address is connected without a call.
    let _again = HttpFixture::start_at(&address, &["--face", "legacy"]);
    wait_for_state(&bridge, |state| matches!(state, ServerState::Ready { .. })).await;
    assert_eq!(add(&bridge).await, "3");
    bridge.shutdown().await;
}

#[tokio::test]
async fn an_older_server_whose_stream_ends_is_found_again() {
    let site = RecordingFixture::new("--face legacy --misbehave end-streams");
    let bridge = start(vec![site.config(Transport::Sse)]).await;
    assert_eq!(add(&bridge).await, "3");
    assert_eq!(
        counter(&bridge).await,
        "'mcp__x__counter' failed: the server closed its event stream; \
         it may have executed the request"
    );
    assert_eq!(add(&bridge).await, "3");
    bridge.shutdown().await;
    assert_eq!(site.count(|message| message["method"] == "initialize"), 2);
}

#[tokio::test]
async fn servers_that_cannot_be_reached_say_why() {
    let refused = fails_to_start(Transport::Http(remote("http://127.0.0.1:1/secret-path"))).await;
    assert_eq!(
        refused,
        "'initialize' failed: could not reach http://127.0.0.1:1: Connection refused (os error 111)"
    );
    let unknown = fails_to_start(Transport::Sse(remote("http://no-such-host.invalid/x"))).await;
    assert!(
        unknown.starts_with(
            "'initialize' failed: could not reach http://no-such-host.invalid: failed to lookup"
        ),
        "{unknown}"
    );
    let plain = RecordingFixture::new("");
    let tls = format!("https://{}/mcp", plain.fixture.address());
    let tls = fails_to_start(Transport::Http(remote(&tls))).await;
    assert!(tls.contains("could not reach https://127.0.0.1:"), "{tls}");

    let site = RecordingFixture::new("--misbehave status=401 --misbehave-always");
    assert_eq!(
        fails_to_start(Transport::Auto(remote(&site.fixture.url("/mcp")))).await,
        "'initialize' failed: the server answered 401 Unauthorized; check the token in 'headers': \
         you are [secret]"
    );
    let site = RecordingFixture::new("--misbehave silent --misbehave-always");
    let mut config = site.config(Transport::Http);
    config.connect_timeout = Some(Duration::from_millis(300));
    let bridge = start(vec![config]).await;
    assert_eq!(reason(&bridge), "did not answer within 0.3s");
    bridge.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_calls_are_neither_lost_nor_crossed() {
    const CALLS: usize = 10_000;
    const IN_FLIGHT: usize = 64;
    let site = HttpFixture::start(&[]);
    let bridge = start(vec![config(Transport::Http(remote(&site.url("/mcp"))))]).await;
    let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (bridge, next) = (Arc::clone(&bridge), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if number >= CALLS {
                    break;
                }
                let arguments = format!(r#"{{"value":{number}}}"#);
                let answer = call_with(&bridge, "mcp__x__echo", &arguments).await;
                assert_eq!(answer, number.to_string());
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
    bridge.shutdown().await;
}
