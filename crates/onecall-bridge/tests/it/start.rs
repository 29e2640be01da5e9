//! How servers become ready, and how they fail to.

use std::time::Duration;

use onecall_bridge::{Bridge, Guard, ServerState};
use onecall_core::{CallableName, Resolution, ToolResolver};
use tokio::time::timeout;

use crate::fake::{call, command, reason, script, server, start};

#[tokio::test]
async fn a_ready_server_says_who_it_is() {
    let bridge = start(vec![server("my-server", ":")]).await;
    let [status] = &*bridge.status() else { panic!("one server") };
    assert_eq!((status.name.as_str(), status.transport), ("my-server", "stdio"));
    let ServerState::Ready { server_name, server_version, protocol, tools, .. } = &status.state
    else {
        panic!("{status:?}")
    };
    assert_eq!((&**server_name, &**server_version, &**protocol), ("fake", "1.0", "2025-06-18"));
    assert_eq!(*tools, 1);
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_missing_command_is_named() {
    let bridge = start(vec![command("x", "no-such-command", &[])]).await;
    assert_eq!(
        reason(&bridge),
        "command 'no-such-command' was not found; check that it is installed and on PATH, \
         or give its full path"
    );
}

#[tokio::test]
async fn an_early_exit_is_told_with_its_last_words() {
    let bridge = start(vec![script("x", "echo 'no API key' >&2; exit 3")]).await;
    assert_eq!(
        reason(&bridge),
        "has exited (exit status: 3) during the handshake; its stderr ends with: no API key"
    );
}

#[tokio::test]
async fn a_silent_server_fails_in_its_time_and_is_killed() {
    let mut config = script("x", "exec sleep 1000");
    config.connect_timeout = Some(Duration::from_millis(300));
    let bridge = start(vec![config]).await;
    assert_eq!(reason(&bridge), "did not answer within 0.3s");
    bridge.shutdown().await;
}

#[tokio::test]
async fn noise_on_stdout_is_ignored() {
    let noisy = r#"
        echo Welcome; echo; echo '{"id":99,"result":1}'; echo '{'; echo '[]'; echo 42
        head -c 100000 /dev/zero; echo; text hi; text again"#;
    let bridge = start(vec![server("x", noisy)]).await;
    assert_eq!(call(&bridge, "mcp__x__tool").await, "hi");
    assert_eq!(call(&bridge, "mcp__x__tool").await, "hi");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_name_waits_for_servers_that_are_still_connecting() {
    let folder = tempfile::tempdir().unwrap();
    let end = folder.path().join("end");
    let wait = format!("until [ -e '{}' ]; do sleep 0.01; done; exit 1", end.display());
    let servers = vec![server("quick", "text hi"), script("slow", &wait)];
    let bridge = Bridge::start(servers, Guard::none());
    let found = bridge.resolve(&CallableName::new("mcp__quick__tool")).await;
    assert!(matches!(found, Resolution::Callable(_)));
    assert!(matches!(bridge.status().pop().unwrap().state, ServerState::Connecting));
    let unknown = CallableName::new("mcp__quick__tol");
    let mut missing = std::pin::pin!(bridge.resolve(&unknown));
    assert!(timeout(Duration::from_millis(300), &mut missing).await.is_err(), "it waits");
    std::fs::write(end, "").unwrap();
    let missing = missing.await;
    let Resolution::Unknown { nearest, .. } = missing else { panic!("{missing:?}") };
    assert_eq!(nearest, [CallableName::new("mcp__quick__tool")]);
    bridge.shutdown().await;
}
