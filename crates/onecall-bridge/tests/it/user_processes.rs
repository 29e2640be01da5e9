//! When the servers of users run: started by a call, stopped when they are not used, and never more of them
//! than there are places.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::{Bridge, NextStart, ServerState, UserProcesses};
use onecall_config::{RemoteTransport, ServerConfig, Transport};
use onecall_core::{Caller, CallerCapabilities, ClientId, ServerQuestionError};
use testkit::remote::HttpFixture;

use crate::fake::{
    TEST_TIMEOUT, call, call_with, command, eventually, is_alive, places, script, server,
    server_with, start, user_bridge,
};

/// Places that unused servers lose soon.
fn brief_places(limit: usize) -> UserProcesses {
    UserProcesses::new(limit, Duration::from_millis(50))
}

fn state(bridge: &Bridge) -> ServerState {
    bridge.status().pop().unwrap().state
}

async fn is_idle(bridge: &Bridge) {
    eventually("the server is idle", || state(bridge) == ServerState::Idle).await;
}

/// A server whose calls say that they have begun, and wait until they may end.
fn slow(folder: &Path) -> ServerConfig {
    let (begun, end) = (folder.join("begun"), folder.join("end"));
    let wait = format!("until [ -e '{}' ]; do sleep 0.01; done", end.display());
    server("own", &format!("touch '{}'; {wait}; text \"$$\"", begun.display()))
}

#[tokio::test]
async fn a_server_that_is_not_used_is_stopped_and_started_again() {
    let parent = start(vec![]).await;
    let processes = brief_places(1);
    let alice = user_bridge(&parent, "alice", vec![server("own", "text $$")], &processes);
    assert_eq!(state(&alice), ServerState::Idle);
    let first = call(&alice, "mcp__own__tool").await;
    is_idle(&alice).await;
    eventually("the process ends", || !is_alive(&first)).await;
    eventually("its place is free", || processes.count() == 0).await;
    // Its tools stay known, and looking at them does not start it.
    assert!(alice.catalog().await.get("mcp__own__tool").is_some());
    assert!(alice.watch().current().unsettled.is_empty());
    assert_eq!(processes.count(), 0);
    let known = alice.known_catalog();
    let second = call(&alice, "mcp__own__tool").await;
    assert!(second != first && second.parse::<u32>().is_ok(), "{second} after {first}");
    // Its tools are the same as before, so nothing is made anew.
    let (before, after) = (known.get("mcp__own__tool"), alice.catalog().await);
    assert!(Arc::ptr_eq(before.unwrap(), after.get("mcp__own__tool").unwrap()));
    parent.shutdown().await;
    assert!(!is_alive(&second));
}

#[tokio::test]
async fn a_server_with_a_call_is_in_use_however_long_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let parent = start(vec![]).await;
    let processes = brief_places(2);
    let alice = user_bridge(&parent, "alice", vec![slow(folder.path())], &processes);
    let bob = user_bridge(&parent, "bob", vec![server("own", "text $$")], &processes);
    let ends = async {
        eventually("the call has begun", || folder.path().join("begun").exists()).await;
        // A server that is used later is stopped earlier, because its call has ended.
        call(&bob, "mcp__own__tool").await;
        is_idle(&bob).await;
        assert!(matches!(state(&alice), ServerState::Ready { .. }));
        std::fs::write(folder.path().join("end"), "").unwrap();
    };
    let (said, ()) = tokio::join!(call(&alice, "mcp__own__tool"), ends);
    assert!(said.parse::<u32>().is_ok(), "{said}");
    is_idle(&alice).await;
    parent.shutdown().await;
}

#[tokio::test]
async fn a_server_with_an_open_question_is_in_use() {
    let asks = r#"case $line in *initialized*)
        echo '{"jsonrpc":"2.0","id":5,"method":"roots/list"}';; esac"#;
    let parent = start(vec![]).await;
    let processes = brief_places(2);
    let own = vec![server_with("own", "text $$", asks)];
    let alice = user_bridge(&parent, "alice", own, &processes);
    let bob = user_bridge(&parent, "bob", vec![server("own", "text $$")], &processes);
    let (end, ended) = tokio::sync::watch::channel(false);
    let _client = alice.clients().register(Arc::new(Caller {
        capabilities: CallerCapabilities::all(),
        questions: Arc::new(move |_| {
            let mut ended = ended.clone();
            Box::pin(async move {
                let _ = ended.wait_for(|is_ended| *is_ended).await;
                Err(ServerQuestionError::TimedOut)
            })
        }),
        ..Caller::silent(ClientId(1))
    }));
    call(&alice, "mcp__own__tool").await;
    call(&bob, "mcp__own__tool").await;
    is_idle(&bob).await;
    assert!(matches!(state(&alice), ServerState::Ready { .. }));
    // It does not make room for others either.
    processes.reconfigure(1, Duration::from_millis(50));
    assert!(call(&bob, "mcp__own__tool").await.contains("all are in use"));
    end.send_replace(true);
    is_idle(&alice).await;
    parent.shutdown().await;
}

#[tokio::test]
async fn a_connection_takes_a_place_like_a_process() {
    let fixture = HttpFixture::start(&["--face", "json", "--sessions"]);
    let parent = start(vec![]).await;
    let processes = brief_places(1);
    let (url, headers) = (fixture.url("/mcp"), BTreeMap::new());
    let transport = Transport::Http(RemoteTransport { url, headers, oauth: None });
    let own = vec![ServerConfig { transport, ..server("own", ":") }];
    let alice = user_bridge(&parent, "alice", own, &processes);
    for _ in 0..2 {
        assert_eq!(call_with(&alice, "mcp__own__add", r#"{"a":1,"b":2}"#).await, "3");
        is_idle(&alice).await;
        eventually("its place is free", || processes.count() == 0).await;
    }
    parent.shutdown().await;
}

#[tokio::test]
async fn if_all_places_are_in_use_a_call_fails_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let parent = start(vec![]).await;
    let processes = places(1);
    let alice = user_bridge(&parent, "alice", vec![slow(folder.path())], &processes);
    let bob = user_bridge(&parent, "bob", vec![server("own", "text $$")], &processes);
    let refused = async {
        eventually("the call has begun", || folder.path().join("begun").exists()).await;
        for _ in 0..3 {
            assert_eq!(
                call(&bob, "mcp__own__tool").await,
                "'mcp__own__tool' failed: server 'own' is not running: the limit of 1 for \
                 processes and connections with credentials of users is reached, and all are in \
                 use; try again later, or raise 'users.max_user_processes'"
            );
        }
        std::fs::write(folder.path().join("end"), "").unwrap();
    };
    let (pid, ()) = tokio::join!(call(&alice, "mcp__own__tool"), refused);
    // Now the server of alice is not in use and makes room.
    let other = call(&bob, "mcp__own__tool").await;
    assert!(other.parse::<u32>().is_ok(), "{other}");
    assert!(!is_alive(&pid));
    assert_eq!(state(&alice), ServerState::Idle);
    assert_eq!(processes.count(), 1);
    parent.shutdown().await;
    assert_eq!(processes.count(), 0);
}

#[tokio::test]
async fn the_least_recently_used_server_makes_room() {
    let parent = start(vec![]).await;
    let processes = places(2);
    let user = |name| user_bridge(&parent, name, vec![server("own", "text $$")], &processes);
    let (alice, bob, carol) = (user("alice"), user("bob"), user("carol"));
    let first = call(&alice, "mcp__own__tool").await;
    let second = call(&bob, "mcp__own__tool").await;
    assert_eq!(call(&alice, "mcp__own__tool").await, first);
    let third = call(&carol, "mcp__own__tool").await;
    assert!(!is_alive(&second) && is_alive(&first) && is_alive(&third));
    assert_eq!(processes.count(), 2);
    // The tools of a server that made room are still known, and it comes back.
    assert!(bob.known_catalog().get("mcp__own__tool").is_some());
    assert!(call(&bob, "mcp__own__tool").await.parse::<u32>().is_ok());
    assert!(!is_alive(&first));
    parent.shutdown().await;
}

#[tokio::test]
async fn many_users_take_turns_with_few_places() {
    let parent = start(vec![]).await;
    let processes = places(3);
    let user = |number: usize| {
        let own = server("own", &format!("text {number}"));
        user_bridge(&parent, &format!("user-{number}"), vec![own], &processes)
    };
    let bridges: Vec<Arc<Bridge>> = (0..8).map(user).collect();
    for round in 0..3 {
        for (number, bridge) in bridges.iter().enumerate() {
            let said = call(bridge, "mcp__own__tool").await;
            assert_eq!(said, number.to_string(), "in round {round}");
            assert!(processes.count() <= 3);
        }
    }
    parent.shutdown().await;
    assert_eq!(processes.count(), 0);
}

#[tokio::test]
async fn a_server_that_has_ended_keeps_no_place_and_starts_when_it_is_needed() {
    let parent = start(vec![]).await;
    let processes = places(1);
    let mortal = server("own", r#"case $line in *'"die"'*) exit 7;; *) text $$;; esac"#);
    let alice = user_bridge(&parent, "alice", vec![mortal], &processes);
    let first = call(&alice, "mcp__own__tool").await;
    let died = call_with(&alice, "mcp__own__tool", r#"{"how":"die"}"#).await;
    assert_eq!(died, "'mcp__own__tool' failed: server 'own' has exited (exit status: 7)");
    eventually("its place is free", || processes.count() == 0).await;
    // It is not started before it is needed.
    eventually("it could be started", || {
        let state = state(&alice);
        matches!(state, ServerState::Failed { next_start: NextStart::WhenNeeded, .. })
    })
    .await;
    assert_eq!(processes.count(), 0);
    let second = call(&alice, "mcp__own__tool").await;
    assert!(second != first && second.parse::<u32>().is_ok(), "{second}");
    assert_eq!(processes.count(), 1);
    parent.shutdown().await;
}

#[tokio::test]
async fn a_server_that_does_not_start_keeps_no_place() {
    let parent = start(vec![]).await;
    let processes = places(1);
    let alice = user_bridge(
        &parent,
        "alice",
        vec![command("missing", "no-such-command", &[]), script("broken", "exit 3")],
        &processes,
    );
    let missing = call(&alice, "mcp__missing__tool").await;
    assert!(missing.contains("command 'no-such-command' was not found"), "{missing}");
    let broken = call(&alice, "mcp__broken__tool").await;
    assert!(broken.contains("has exited (exit status: 3) during the handshake"), "{broken}");
    eventually("no place is taken", || processes.count() == 0).await;
    let bob = user_bridge(&parent, "bob", vec![server("own", "text hi")], &processes);
    assert_eq!(call(&bob, "mcp__own__tool").await, "hi");
    parent.shutdown().await;
}

#[tokio::test]
async fn a_bridge_that_is_dropped_during_a_start_keeps_no_place() {
    let parent = start(vec![]).await;
    let processes = places(1);
    let silent = script("own", "exec sleep 1000");
    let alice = user_bridge(&parent, "alice", vec![silent], &processes);
    let bob = user_bridge(&parent, "bob", vec![server("own", "text hi")], &processes);
    let waiting = tokio::spawn({
        let alice = Arc::clone(&alice);
        async move { call(&alice, "mcp__own__tool").await }
    });
    eventually("the server starts", || processes.count() == 1).await;
    let refused = call(&bob, "mcp__own__tool").await;
    assert!(refused.contains("the limit of 1 for"), "{refused}");
    alice.shutdown().await;
    let said = tokio::time::timeout(TEST_TIMEOUT, waiting).await.unwrap().unwrap();
    assert_eq!(said, "'mcp__own__tool' failed: server 'own' was stopped");
    drop(alice);
    assert_eq!(processes.count(), 0);
    assert_eq!(call(&bob, "mcp__own__tool").await, "hi");
    parent.shutdown().await;
}

/// Stops, evictions and calls meet in every order here, on several threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_that_meet_stops_and_evictions_get_their_own_answer_or_the_limit() {
    let parent = start(vec![]).await;
    let processes = UserProcesses::new(3, Duration::from_millis(1));
    let user = |number: usize| {
        let own = server("own", &format!("text {number}"));
        user_bridge(&parent, &format!("user-{number}"), vec![own], &processes)
    };
    let bridges: Vec<Arc<Bridge>> = (0..6).map(user).collect();
    let mut calls = tokio::task::JoinSet::new();
    for (number, bridge) in bridges.iter().enumerate() {
        let bridge = Arc::clone(bridge);
        calls.spawn(async move {
            let mut answered = 0;
            for round in 0..25 {
                let said = call(&bridge, "mcp__own__tool").await;
                if said == number.to_string() {
                    answered += 1;
                } else {
                    assert!(said.contains("the limit of 3 for"), "{said}");
                }
                // Sometimes the server is idle long enough to be stopped.
                tokio::time::sleep(Duration::from_millis(round % 5 * 7)).await;
            }
            answered
        });
    }
    let mut answered = 0;
    while let Some(done) = tokio::time::timeout(TEST_TIMEOUT, calls.join_next()).await.unwrap() {
        answered += done.unwrap();
    }
    assert!(answered > 0);
    eventually("all places are free", || processes.count() == 0).await;
    parent.shutdown().await;
}
