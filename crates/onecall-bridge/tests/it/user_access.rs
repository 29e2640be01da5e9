//! What users read before they have credentials or after these were rejected, and which client answers the
//! questions of their servers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onecall_bridge::{
    AccessHint, Bridge, ConnectionOptions, FailureKind, Guard, NextStart, ServerState,
    UserCredentials, UserServer, UserServers,
};
use onecall_config::{OAuthConfig, RemoteTransport, Secret, ServerConfig, Transport};
use onecall_core::{
    CallableName, Caller, CallerCapabilities, ClientId, Resolution, ToolResolver, UserName,
};
use onecall_login::Login;
use serde_json::json;
use serde_json::value::to_raw_value;
use testkit::authorization::AuthorizationServer;
use testkit::remote::HttpFixture;

use crate::fake::{call, eventually, own_server, places, server, server_with, start, user_bridge};

fn bridge_of(parent: &Bridge, user: &str, servers: Vec<UserServer>) -> Arc<Bridge> {
    let user = UserName::parse(user).unwrap();
    let own = UserServers { user, processes: places(8) };
    Bridge::for_user(parent, servers, own)
}

/// A hint with a number that counts how often it was made.
fn counting_hint() -> AccessHint {
    let count = AtomicUsize::new(0);
    AccessHint::new(move || {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        format!("needs login; open https://onecall.example.com/login/{number} and try again")
    })
}

#[tokio::test]
async fn a_server_without_credentials_is_known_by_name_and_says_what_to_do() {
    let parent = start(vec![]).await;
    let missing = UserServer {
        config: server("jira", "text $$"),
        credentials: UserCredentials::Missing,
        hint: counting_hint(),
    };
    let alice = bridge_of(&parent, "alice", vec![missing]);
    assert!(alice.catalog().await.is_empty());
    let [status] = &*alice.status() else { panic!("one server") };
    let link = |number| {
        format!("needs login; open https://onecall.example.com/login/{number} and try again")
    };
    assert_eq!(status.name.as_str(), "jira");
    assert_eq!(
        status.state,
        ServerState::Failed {
            reason: link(1),
            stderr_tail: String::new(),
            failure_kind: FailureKind::LoggedOut,
            next_start: NextStart::AfterLogin,
        }
    );
    let name = CallableName::new("mcp__jira__search");
    let found = alice.resolve(&name).await;
    let Resolution::Unavailable { error, .. } = found else { panic!("{found:?}") };
    let said = error.to_string();
    assert!(
        said.starts_with("'mcp__jira__search' failed: server 'jira' needs login; open "),
        "{said}"
    );
    // Each error has a link of its own.
    assert_ne!(call(&alice, "mcp__jira__search").await, said);
    assert_eq!(alice.own_servers().unwrap().processes.count(), 0);

    alice.reconfigure_own(vec![own_server(server("jira", "text $$"))]);
    assert!(call(&alice, "mcp__jira__tool").await.parse::<u32>().is_ok());
    parent.shutdown().await;
}

fn remote(url: String, headers: &[(&str, &str)], oauth: Option<OAuthConfig>) -> ServerConfig {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value)));
    let headers: BTreeMap<String, Secret> = headers.collect();
    let transport = Transport::Http(RemoteTransport { url, headers, oauth });
    ServerConfig { transport, ..server("github", ":") }
}

#[tokio::test]
async fn rejected_credentials_lead_to_the_hint() {
    let authority = AuthorizationServer::start();
    let fixture = HttpFixture::start(&["--guarded-by", &authority.issuer()]);
    let parent = start(vec![]).await;
    let token = "Bearer alices-secret-token";
    let config = remote(fixture.url("/mcp"), &[("Authorization", token)], None);
    let entry = own_server(config);
    assert!(!format!("{entry:?}").contains("alices-secret-token"));
    let alice = bridge_of(&parent, "alice", vec![entry]);
    let said = call(&alice, "mcp__github__add").await;
    assert_eq!(
        said,
        "'mcp__github__add' failed: server 'github' rejected your credentials; it needs your token; \
         set it and try again"
    );
    parent.shutdown().await;
}

#[tokio::test]
async fn a_server_that_wants_a_login_leads_to_the_hint_until_there_is_one() {
    let authority = AuthorizationServer::start();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log").display().to_string();
    let fixture = HttpFixture::start(&["--guarded-by", &authority.issuer(), "--log", &log]);
    let parent = start(vec![]).await;
    let config = remote(fixture.url("/mcp"), &[], Some(OAuthConfig::default()));
    let Transport::Http(transport) = &config.transport else { panic!() };
    let login = Arc::new(Login::new(&config.name, transport, None).unwrap());
    let entry =
        UserServer { config, credentials: UserCredentials::Login(login), hint: counting_hint() };
    let alice = bridge_of(&parent, "alice", vec![entry.clone()]);
    let said = call(&alice, "mcp__github__add").await;
    let expected = "'mcp__github__add' failed: server 'github' needs login; open https://";
    assert!(said.starts_with(expected), "{said}");
    let processes = &alice.own_servers().unwrap().processes;
    eventually("its place is free", || processes.count() == 0).await;
    // The same login is no change.
    assert_eq!(alice.reconfigure_own(vec![entry]), Default::default());
    // A later call tries the server again: the user may have logged in.
    let requests = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    let before = requests();
    while requests() == before {
        assert!(call(&alice, "mcp__github__add").await.starts_with(expected));
    }
    parent.shutdown().await;
}

/// Asks for the roots of its client as soon as it is connected, and answers calls with the response.
fn asking(name: &str) -> ServerConfig {
    let asks = r#"case $line in
        *initialized*) echo '{"jsonrpc":"2.0","id":5,"method":"roots/list"}';;
        *'"id":5'*) roots=$line;; esac"#;
    let answers = r#"[ -n "$roots" ] || IFS= read -r roots
        answer "{\"structuredContent\":$roots}""#;
    server_with(name, answers, asks)
}

fn client(id: u64, root: &'static str) -> Arc<Caller> {
    let roots = move || to_raw_value(&json!({ "roots": [{ "uri": root }] })).unwrap();
    Arc::new(Caller {
        capabilities: CallerCapabilities::all(),
        questions: Arc::new(move |_| Box::pin(std::future::ready(Ok(roots())))),
        ..Caller::silent(ClientId(id))
    })
}

#[tokio::test]
async fn a_question_goes_only_to_the_client_of_the_user() {
    let options = ConnectionOptions::default();
    options.clients.expect_several();
    let parent = Bridge::start_with(vec![asking("shared")], vec![], Guard::none(), options);
    let processes = places(8);
    let own = || vec![asking("own")];
    let alice = user_bridge(&parent, "alice", own(), &processes);
    let bob = user_bridge(&parent, "bob", own(), &processes);
    let carol = user_bridge(&parent, "carol", own(), &processes);
    let _alice = alice.clients().register(client(1, "file:///alice"));
    let _bob = bob.clients().register(client(2, "file:///bob"));

    let refused = r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"onecall cannot tell which client this question is for"}}"#;
    let roots = |user: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":5,"result":{{"roots":[{{"uri":"file:///{user}"}}]}}}}"#)
    };
    assert_eq!(call(&alice, "mcp__own__tool").await, roots("alice"));
    assert_eq!(call(&bob, "mcp__own__tool").await, roots("bob"));
    // Carol has no client, and a server that all share must not ask that of alice.
    assert_eq!(call(&carol, "mcp__own__tool").await, refused);
    assert_eq!(call(&alice, "mcp__shared__tool").await, refused);
    parent.shutdown().await;
}
