//! How calls are answered, and what happens when they are not.

use std::time::Duration;

use onecall_bridge::ServerState;
use tokio::time::timeout;

use crate::fake::{TEST_TIMEOUT, call, call_with, reason, server, server_with, start};

#[tokio::test]
async fn a_call_brings_its_arguments_and_gets_its_value() {
    let bridge = start(vec![server("x", r#"answer "{\"structuredContent\":$line}""#)]).await;
    let sent = call_with(&bridge, "mcp__x__tool", "{\"n\":\n12345678901234567890123}").await;
    let (_, arguments) = sent.split_once("\"arguments\":").unwrap();
    assert_eq!(arguments, r#"{"n": 12345678901234567890123}}}"#);
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_server_sees_only_the_base_environment_and_its_own() {
    let bridge =
        start(vec![server("x", r#"text "$GIVEN ${PATH:+path} ${CARGO_PKG_NAME:-none}""#)]).await;
    assert_eq!(call(&bridge, "mcp__x__tool").await, "yes path none");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_server_that_dies_fails_its_calls_with_how_it_died() {
    let bridge = start(vec![server("x", "echo bye >&2; exit 7")]).await;
    let died = "'mcp__x__tool' failed: server 'x' has exited (exit status: 7)";
    let (first, second) =
        tokio::join!(call(&bridge, "mcp__x__tool"), call(&bridge, "mcp__x__tool"));
    assert_eq!(first, died);
    // A busy machine may be too late to send it.
    let stopped = "'mcp__x__tool' failed: server 'x' is not running: has exited (exit status: 7); ";
    assert!(second == died || second.starts_with(stopped), "{second}");
    let later = call(&bridge, "mcp__x__tool").await;
    assert!(later.starts_with(&format!("{stopped}onecall starts it again ")), "{later}");
    bridge.shutdown().await;
    assert!(reason(&bridge).starts_with("has exited (exit status: 7); its stderr ends with: bye"));
}

#[tokio::test]
async fn an_answer_written_just_before_the_end_still_counts() {
    let bridge = start(vec![server("x", "text last; exit 0")]).await;
    assert_eq!(call(&bridge, "mcp__x__tool").await, "last");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_broken_answer_fails_its_call_at_once() {
    let bridge = start(vec![server("x", r#"answer '{"structuredContent":{"x":nan}}'"#)]).await;
    let answer = call(&bridge, "mcp__x__tool").await;
    assert!(answer.contains("the answer is not valid JSON: "), "{answer}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_only_its_call() {
    let huge = r#"
        printf '{"jsonrpc":"2.0","id":%s,"result":"' "$id"
        head -c 70000000 /dev/zero | tr '\0' x; echo '"}'
        IFS= read -r line; id=${line#*\"id\":}; id=${id%%,*}; text small"#;
    let bridge = start(vec![server("x", huge)]).await;
    let both = tokio::join!(call(&bridge, "mcp__x__tool"), call(&bridge, "mcp__x__tool"));
    assert_eq!(both.0, "'mcp__x__tool' failed: the answer is larger than 64 MiB");
    assert_eq!(both.1, "small");
    bridge.shutdown().await;
}

/// Calls are never answered; the first cancellation that arrives is, as if it
/// were the second call.
const TELLS_OF_CANCELLATION: &str =
    r#"case $line in *cancelled*) id=4; text "$(printf %s "$line" | tr -d '{}"')";; esac"#;

#[tokio::test]
async fn a_deadline_or_a_dropped_call_is_a_cancellation() {
    let mut config = server_with("x", ":", TELLS_OF_CANCELLATION);
    config.call_timeout = Some(Duration::from_millis(500));
    let bridge = start(vec![config.clone()]).await;
    let late = call(&bridge, "mcp__x__tool").await;
    assert_eq!(late, "'mcp__x__tool' failed: no answer within 0.5s");
    bridge.shutdown().await;

    config.call_timeout = Some(TEST_TIMEOUT);
    let bridge = start(vec![config]).await;
    let dropped = timeout(Duration::from_millis(100), call(&bridge, "mcp__x__tool"));
    let (dropped, cancellation) = tokio::join!(dropped, call(&bridge, "mcp__x__tool"));
    assert!(dropped.is_err());
    assert_eq!(
        cancellation,
        "jsonrpc:2.0,method:notifications/cancelled,params:requestId:3,\
         reason:the caller no longer waits for the answer"
    );
    bridge.shutdown().await;
}

#[tokio::test]
async fn requests_of_the_server_are_answered_politely() {
    let asks = r#"
        echo '{"jsonrpc":"2.0","id":"p","method":"ping"}'; IFS= read -r ping
        echo '[{"jsonrpc":"2.0","id":5,"method":"roots/list"}]'; IFS= read -r roots
        answer "{\"structuredContent\":[$ping,$roots]}""#;
    let bridge = start(vec![server("x", asks)]).await;
    assert_eq!(
        call(&bridge, "mcp__x__tool").await,
        concat!(
            r#"[{"jsonrpc":"2.0","id":"p","result":{}},{"jsonrpc":"2.0","id":5,"error":"#,
            r#"{"code":-32601,"message":"no connected client supports 'roots/list'"}}]"#
        )
    );
    bridge.shutdown().await;
}

#[tokio::test]
async fn changed_tools_are_listed_again() {
    let changes = r#"
        tools='{"name":"new","inputSchema":{}},{"name":"tool","inputSchema":{}}'
        echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; text ok"#;
    let bridge = start(vec![server("x", changes)]).await;
    assert_eq!(call(&bridge, "mcp__x__tool").await, "ok");
    let listed = async {
        while bridge.catalog().await.get("mcp__x__new").is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TEST_TIMEOUT, listed).await.unwrap();
    let state = bridge.status().pop().unwrap().state;
    assert!(matches!(state, ServerState::Ready { tools: 2, .. }), "{state:?}");
    bridge.shutdown().await;
}
