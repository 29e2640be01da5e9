//! Which calls are made once more when their server was down.

use std::path::Path;
use std::time::Instant;

use onecall_config::ServerConfig;

use crate::fake::{TEST_TIMEOUT, call, script, server_of, start};

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

/// A server that does `again` whenever it is started again.
fn mortal_that(again: &str, folder: &Path) -> ServerConfig {
    let mut config = mortal();
    let onecall_config::Transport::Stdio(transport) = &mut config.transport else { panic!() };
    let mark = folder.join("started");
    let first = format!("[ -e '{0}' ] && {again}; touch '{0}'\n", mark.display());
    transport.args[1].insert_str(0, &first);
    config
}

#[tokio::test]
async fn only_what_never_left_and_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let refused = folder.path().join("refused");
    let wait = format!("until [ -e '{}' ]; do sleep 0.01; done", refused.display());
    let bridge = start(vec![mortal_that(&wait, folder.path())]).await;
    let before = call(&bridge, "mcp__x__plain").await;
    // It has left, so the hint does not help.
    assert_eq!(
        call(&bridge, "mcp__x__reads_and_dies").await,
        "'mcp__x__reads_and_dies' failed: server 'x' has exited (exit status: 7)"
    );
    // It is back only after both of them were refused.
    let not_repeated = async {
        for tool in ["plain", "denies"] {
            let said = call(&bridge, &format!("mcp__x__{tool}")).await;
            let why = "server 'x' is not running: has exited (exit status: 7); onecall starts it ";
            assert!(said.starts_with(&format!("'mcp__x__{tool}' failed: {why}")), "{said}");
        }
        std::fs::write(refused, "").unwrap();
    };
    let (reads, sets, ()) =
        tokio::join!(call(&bridge, "mcp__x__reads"), call(&bridge, "mcp__x__sets"), not_repeated,);
    assert!(reads.starts_with("done by ") && reads != before, "{reads} after {before}");
    assert_eq!(sets, reads);
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_server_that_does_not_come_back_is_not_waited_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let bridge = start(vec![mortal_that("exec sleep 1000", folder.path())]).await;
    call(&bridge, "mcp__x__die").await;
    let started = Instant::now();
    let said = call(&bridge, "mcp__x__reads").await;
    // Two seconds, not as long as a call or a start may take.
    assert!(started.elapsed() < TEST_TIMEOUT / 2, "{:?}", started.elapsed());
    assert!(said.contains("server 'x' is not running: has exited (exit status: 7); "), "{said}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_call_with_a_stopped_bridge_fails_at_once() {
    let bridge = start(vec![mortal(), script("y", "exit 1")]).await;
    bridge.shutdown().await;
    let stopped = "'mcp__x__reads' failed: server 'x' was stopped";
    assert_eq!(call(&bridge, "mcp__x__reads").await, stopped);
}
