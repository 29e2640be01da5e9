//! New configurations while users call: of the servers that all share, and of a user's own ones.

use std::sync::Arc;

use onecall_bridge::{Bridge, FleetChange};
use onecall_core::ServerName;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fake::{call, is_alive, own_server, places, server, start, user_bridge, with_token};

/// Calls a tool again and again until `stop` is set; returns the different answers.
async fn call_until(bridge: Arc<Bridge>, name: &str, stop: watch::Receiver<bool>) -> Vec<String> {
    let mut answers = Vec::new();
    while !*stop.borrow() {
        let answer = call(&bridge, name).await;
        if answers.last() != Some(&answer) {
            answers.push(answer);
        }
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn shared_servers_are_replaced_under_load() {
    let kept = || server("kept", "text $$");
    let parent = start(vec![kept(), server("changed", "text one")]).await;
    let processes = places(8);
    let own = || vec![server("own", "text $$")];
    let user = |number| user_bridge(&parent, &format!("user-{number}"), own(), &processes);
    let bridges: Vec<Arc<Bridge>> = (0..4).map(user).collect();
    let (stop, stopping) = watch::channel(false);
    let mut load = JoinSet::new();
    for bridge in &bridges {
        for name in ["mcp__kept__tool", "mcp__own__tool"] {
            load.spawn(call_until(Arc::clone(bridge), name, stopping.clone()));
        }
    }
    for round in 0..5 {
        let changed = server("changed", &format!("text round-{round}"));
        let new = server(&format!("new-{round}"), "text new");
        parent.reconfigure(vec![kept(), changed, new], vec![]);
        for bridge in &bridges {
            assert_eq!(call(bridge, "mcp__changed__tool").await, format!("round-{round}"));
            assert_eq!(call(bridge, &format!("mcp__new_{round}__tool")).await, "new");
            if round > 0 {
                let removed = format!("mcp__new_{}__tool", round - 1);
                let said = call(bridge, &removed).await;
                assert!(said.contains("was removed from the configuration"), "{said}");
            }
        }
    }
    stop.send_replace(true);
    while let Some(answers) = load.join_next().await {
        let answers = answers.unwrap();
        // One process answered all the time.
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(answers[0].parse::<u32>().is_ok(), "{answers:?}");
    }
    parent.shutdown().await;
}

#[tokio::test]
async fn own_servers_are_replaced_and_others_keep_running() {
    let parent = start(vec![server("shared", "text $$")]).await;
    let processes = places(8);
    let kept = || server("kept", "text $$");
    let own = |token| with_token(server("own", r#"text "$TOKEN $$""#), token);
    let alice = user_bridge(&parent, "alice", vec![kept(), own("one")], &processes);
    let bob = user_bridge(&parent, "bob", vec![kept(), own("bob")], &processes);
    let kept_pid = call(&alice, "mcp__kept__tool").await;
    let bobs = call(&bob, "mcp__own__tool").await;
    let first = call(&alice, "mcp__own__tool").await;
    let (token, old_pid) = first.split_once(' ').unwrap();
    assert_eq!(token, "one");

    let servers = [kept(), own("two"), server("added", "text added")];
    let change = alice.reconfigure_own(servers.into_iter().map(own_server).collect());
    let names = |names: &[&str]| names.iter().map(|name| ServerName::new(*name)).collect();
    let expected =
        FleetChange { added: names(&["added"]), removed: names(&[]), restarted: names(&["own"]) };
    assert_eq!(change, expected);
    let second = call(&alice, "mcp__own__tool").await;
    assert_eq!(second.split_once(' ').unwrap().0, "two");
    assert!(!is_alive(old_pid));
    assert_eq!(call(&alice, "mcp__kept__tool").await, kept_pid);
    assert_eq!(call(&alice, "mcp__added__tool").await, "added");
    assert_eq!(call(&bob, "mcp__own__tool").await, bobs);

    alice.reconfigure_own(vec![]);
    let said = call(&alice, "mcp__kept__tool").await;
    let removed = "'mcp__kept__tool' failed: server 'kept' was removed from the configuration";
    assert_eq!(said, removed);
    alice.shutdown().await;
    assert!(!is_alive(&kept_pid));
    assert_eq!(processes.count(), 1);
    // The configuration of the shared servers is that of the gateway alone.
    assert_eq!(bob.reconfigure(vec![], vec![]), FleetChange::default());
    assert!(call(&bob, "mcp__shared__tool").await.parse::<u32>().is_ok());
    parent.shutdown().await;
}

#[tokio::test]
async fn a_gateway_that_stops_takes_the_servers_of_its_users_along() {
    let parent = start(vec![server("shared", "text $$")]).await;
    let processes = places(8);
    let alice = user_bridge(&parent, "alice", vec![server("own", "text $$")], &processes);
    let pid = call(&alice, "mcp__own__tool").await;
    parent.shutdown().await;
    assert!(!is_alive(&pid));
    assert_eq!(processes.count(), 0);
    for name in ["own", "shared"] {
        let said = call(&alice, &format!("mcp__{name}__tool")).await;
        assert_eq!(said, format!("'mcp__{name}__tool' failed: server '{name}' was stopped"));
    }
    let late = user_bridge(&parent, "bob", vec![server("own", "text $$")], &processes);
    let said = call(&late, "mcp__own__tool").await;
    assert!(said.contains("mcp__own__tool"), "{said}");
    assert_eq!(processes.count(), 0);
}
