//! Which calls are made once more when their server was down.

use std::time::{Duration, Instant};

use onecall_config::ServerConfig;

use crate::fake::{call, script, server_of, start};

const TOOLS: &str = r#"
    {"name":"die","inputSchema":{"type":"object"}},
    {"name":"plain","inputSchema":{"type":"object"}},
    {"name":"denies","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}},
    {"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
    {"name":"sets","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},
    {"name":"reads_and_dies","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}
"#;

fn mortal() -> ServerConfig {
    server_of("x", TOOLS, r#"case $line in *die*) exit 7;; *) text "done by $$";; esac"#)
}

#[tokio::test]
async fn only_what_never_left_and_does_no_harm() {
    let bridge = start(vec![mortal()]).await;
    let before = call(&bridge, "mcp__x__plain").await;
    // It has left, so the hint does not help.
    assert_eq!(
        call(&bridge, "mcp__x__reads_and_dies").await,
        "'mcp__x__reads_and_dies' failed: server 'x' has exited (exit status: 7)"
    );
    let (plain, denies, reads, sets) = tokio::join!(
        call(&bridge, "mcp__x__plain"),
        call(&bridge, "mcp__x__denies"),
        call(&bridge, "mcp__x__reads"),
        call(&bridge, "mcp__x__sets"),
    );
    let why = "server 'x' is not running: has exited (exit status: 7); it is started again in 1 s";
    assert_eq!(plain, format!("'mcp__x__plain' failed: {why}"));
    assert_eq!(denies, format!("'mcp__x__denies' failed: {why}"));
    assert!(reads.starts_with("done by ") && reads != before, "{reads} after {before}");
    assert_eq!(sets, reads);
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_server_that_does_not_come_back_is_not_waited_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let mut config = mortal();
    let onecall_config::Transport::Stdio(transport) = &mut config.transport else { panic!() };
    let first_only = format!("[ -e '{0}' ] && exec sleep 1000; touch '{0}'\n", mark.display());
    transport.args[1].insert_str(0, &first_only);
    let bridge = start(vec![config]).await;
    call(&bridge, "mcp__x__die").await;
    let started = Instant::now();
    let said = call(&bridge, "mcp__x__reads").await;
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    assert!(said.contains("server 'x' is not running: has exited (exit status: 7); "), "{said}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_call_with_a_stopped_bridge_fails_at_once() {
    let bridge = start(vec![mortal(), script("y", "exit 1")]).await;
    bridge.shutdown().await;
    let started = Instant::now();
    let stopped = "'mcp__x__reads' failed: server 'x' was stopped";
    assert_eq!(call(&bridge, "mcp__x__reads").await, stopped);
    assert!(started.elapsed() < Duration::from_secs(1));
}
