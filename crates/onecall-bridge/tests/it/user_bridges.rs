//! What the users of a gateway share, and what each of them has alone.

use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

use onecall_bridge::{Bridge, ServerState};
use onecall_core::{CallableName, Resolution, ServerName, ToolResolver, ToolSpec};
use tokio::task::JoinSet;

use crate::fake::{
    call, call_with, eventually, is_alive, places, script, server, server_of, start, user_bridge,
    with_token,
};

/// A server that answers with its token, its process and what it was sent.
fn teller(name: &str, token: &str) -> onecall_config::ServerConfig {
    let sent = r#"sent=${line##*\"n\":}; sent=${sent%%\}*}; text "$TOKEN $sent $$""#;
    with_token(server(name, sent), token)
}

#[tokio::test]
async fn a_shared_server_is_one_process_for_all() {
    let parent = start(vec![server("shared", "text $$")]).await;
    let processes = places(4);
    let alice = user_bridge(&parent, "alice", vec![], &processes);
    let bob = user_bridge(&parent, "bob", vec![teller("own", "bob")], &processes);
    let pid = call(&parent, "mcp__shared__tool").await;
    assert_eq!(call(&alice, "mcp__shared__tool").await, pid);
    assert_eq!(call(&bob, "mcp__shared__tool").await, pid);
    // The own server was not needed.
    assert_eq!(processes.count(), 0);
    // Its tools are not stored when it has listed them: the entry does not say whose they are.
    assert!(bob.catalog().await.get("mcp__own__tool").is_some());
    let mut stored = Vec::new();
    bob.for_each_listing(|config, _| stored.push(config.name.to_string()));
    assert_eq!(stored, ["shared"]);
    assert!(bob.is_own_server(&ServerName::new("own")));
    assert!(!bob.is_own_server(&ServerName::new("shared")));
    let names: Vec<_> = bob.status().into_iter().map(|it| (it.name.to_string(), it.user)).collect();
    assert_eq!(names[0], ("shared".to_owned(), None));
    assert_eq!(names[1].1.as_ref().map(|user| user.as_str()), Some("bob"));
    drop((alice, bob));
    assert_eq!(call(&parent, "mcp__shared__tool").await, pid);
    parent.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_user_is_answered_with_their_own_credentials() {
    const USERS: usize = 16;
    let parent = start(vec![server("shared", "text $$")]).await;
    let processes = places(USERS);
    let bridges: Vec<Arc<Bridge>> = (0..USERS)
        .map(|user| {
            let own = vec![teller("own", &format!("token-{user}"))];
            user_bridge(&parent, &format!("user-{user}"), own, &processes)
        })
        .collect();
    let mut calls = JoinSet::new();
    for (user, bridge) in bridges.iter().enumerate() {
        for number in 0..20 {
            let bridge = Arc::clone(bridge);
            calls.spawn(async move {
                let arguments = format!(r#"{{"n":{number}}}"#);
                (user, number, call_with(&bridge, "mcp__own__tool", &arguments).await)
            });
        }
    }
    let mut pids = HashSet::new();
    while let Some(done) = calls.join_next().await {
        let (user, number, answer) = done.unwrap();
        let (known, pid) = answer.rsplit_once(' ').unwrap();
        assert_eq!(known, format!("token-{user} {number}"));
        pids.insert((user, pid.to_owned()));
    }
    // One process for each user, however many calls go at once.
    assert_eq!(pids.len(), USERS);
    assert_eq!(processes.count(), USERS);
    parent.shutdown().await;
    assert_eq!(processes.count(), 0);
    let left: Vec<_> = pids.iter().filter(|(_, pid)| is_alive(pid)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_changed_list_reaches_those_who_have_the_server() {
    let changes = r#"
        tools='{"name":"new","inputSchema":{}},{"name":"tool","inputSchema":{}}'
        echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; text ok"#;
    let parent = start(vec![server("shared", changes)]).await;
    let processes = places(4);
    let own = || vec![server("own", changes)];
    let alice = user_bridge(&parent, "alice", own(), &processes);
    let bob = user_bridge(&parent, "bob", own(), &processes);
    for bridge in [&alice, &bob] {
        assert_eq!(bridge.catalog().await.names().count(), 2);
    }
    let has = |bridge: &Bridge, name| bridge.known_catalog().get(name).is_some();

    assert_eq!(call(&alice, "mcp__own__tool").await, "ok");
    eventually("alice has the new tool", || has(&alice, "mcp__own__new")).await;
    assert_eq!(call(&bob, "mcp__shared__tool").await, "ok");
    for bridge in [&alice, &bob, &parent] {
        eventually("all have the new tool", || has(bridge, "mcp__shared__new")).await;
    }
    assert!(!has(&bob, "mcp__own__new") && !has(&parent, "mcp__own__new"));
    assert!(has(&alice, "mcp__own__new"));
    parent.shutdown().await;
}

#[tokio::test]
async fn names_of_shared_and_own_tools_never_mean_two_tools() {
    let parent = start(vec![server("a.b", "text shared")]).await;
    let processes = places(4);
    let alice = user_bridge(&parent, "alice", vec![server("a-b", "text own")], &processes);
    let bob = user_bridge(&parent, "bob", vec![server("c", "text own")], &processes);
    let names = |bridge: Arc<Bridge>| async move {
        let catalog = bridge.catalog().await;
        catalog.tools().cloned().collect::<Vec<Arc<ToolSpec>>>()
    };
    let tools = names(Arc::clone(&alice)).await;
    let mut answers = Vec::new();
    for spec in &tools {
        let name = spec.callable.as_str();
        assert!(name.starts_with("mcp__a_b__tool_"), "{name}");
        answers.push((spec.server.to_string(), call(&alice, name).await));
    }
    answers.sort();
    let expected = [("a-b", "own"), ("a.b", "shared")];
    assert_eq!(answers, expected.map(|(server, said)| (server.to_owned(), said.to_owned())));
    let plain = CallableName::new("mcp__a_b__tool");
    let found = alice.resolve(&plain).await;
    assert!(matches!(found, Resolution::Unknown { .. }), "{found:?}");
    assert_eq!(alice.name_collisions().len(), 1);
    // Another user does not have the own server of alice, so nothing is ambiguous.
    assert_eq!(names(bob.clone()).await.len(), 2);
    assert_eq!(call(&bob, "mcp__a_b__tool").await, "shared");
    parent.shutdown().await;
}

#[tokio::test]
async fn an_own_server_hides_a_shared_one_of_its_name() {
    let parent = start(vec![server_of("x", r#"{"name":"old","inputSchema":{}}"#, "text shared")]);
    let (parent, processes) = (parent.await, places(4));
    let alice = user_bridge(&parent, "alice", vec![server("x", "text own")], &processes);
    let catalog = alice.catalog().await;
    let names: Vec<&str> = catalog.names().map(CallableName::as_str).collect();
    assert_eq!(names, ["mcp__x__tool"]);
    assert_eq!(call(&alice, "mcp__x__tool").await, "own");
    assert_eq!(alice.status().len(), 1);
    alice.reconfigure_own(vec![]);
    assert_eq!(call(&alice, "mcp__x__old").await, "shared");
    parent.shutdown().await;
}

#[tokio::test]
async fn ten_thousand_shared_tools_are_not_copied_for_a_user() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    let mut list = String::new();
    for number in 0..10_000 {
        let comma = if number == 0 { "" } else { "," };
        let schema = r#"{"type":"object"}"#;
        write!(list, r#"{comma}{{"name":"tool{number}","inputSchema":{schema}}}"#).unwrap();
    }
    std::fs::write(&tools, list).unwrap();
    let one = r#"{"name":"tool","inputSchema":{"type":"object"}}"#;
    let mut many = server("many", ":");
    let onecall_config::Transport::Stdio(transport) = &mut many.transport else { panic!() };
    transport.args[1] =
        transport.args[1].replace(&format!("'{one}'"), &format!("$(cat '{}')", tools.display()));
    let parent = start(vec![many]).await;
    let processes = places(4);
    let shared = parent.known_catalog();
    assert_eq!(shared.len(), 10_000);

    let alice = user_bridge(&parent, "alice", vec![server("own", "text hi")], &processes);
    assert!(Arc::ptr_eq(&alice.known_catalog(), &shared), "before her server has listed its tools");
    let catalog = alice.catalog().await;
    assert_eq!(catalog.len(), 10_001);
    for spec in shared.tools() {
        assert!(Arc::ptr_eq(spec, catalog.get(spec.callable.as_str()).unwrap()));
    }
    // The tools of her own server are not made anew either when a shared server changes.
    parent.reconfigure(
        parent.configs().into_iter().chain([script("new", "exit 1")]).collect(),
        vec![],
    );
    let own = |bridge: &Bridge| Arc::clone(bridge.known_catalog().get("mcp__own__tool").unwrap());
    let (before, number) = (own(&alice), alice.revision());
    eventually("the new server has failed", || {
        let status = alice.status();
        let state = status.iter().find(|it| it.name.as_str() == "new").map(|it| &it.state);
        matches!(state, Some(ServerState::Failed { .. })) && alice.revision() != number
    })
    .await;
    assert!(Arc::ptr_eq(&before, &own(&alice)));
    parent.shutdown().await;
}

#[tokio::test]
async fn a_dropped_bridge_leaves_no_process_and_no_task() {
    let parent = start(vec![server("shared", "text $$")]).await;
    let processes = places(4);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let alice = user_bridge(&parent, "alice", vec![server("own", "text $$")], &processes);
    let bob = user_bridge(&parent, "bob", vec![server("own", "text $$")], &processes);
    let pid = call(&alice, "mcp__own__tool").await;
    let other = call(&bob, "mcp__own__tool").await;
    let shared = call(&parent, "mcp__shared__tool").await;
    drop(alice);
    eventually("the process ends", || !is_alive(&pid)).await;
    eventually("its place is free", || processes.count() == 1).await;
    assert_eq!(call(&bob, "mcp__own__tool").await, other);
    bob.shutdown().await;
    assert!(!is_alive(&other));
    drop(bob);
    eventually("the tasks end", || tasks() == before).await;
    assert_eq!(call(&parent, "mcp__shared__tool").await, shared);
    parent.shutdown().await;
}
