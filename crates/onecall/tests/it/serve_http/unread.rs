//! Clients that do not read their answers, and one that does.

use serde_json::json;
use testkit::process::{Process, wait_until};

use crate::support::TIMEOUT;
use crate::support::http_gateway::HttpGateway;
use crate::support::raw_http::HttpResponse;

const MEGABYTE: u64 = 1024 * 1024;

/// Its call says when it has printed everything.
const LARGE: &str = "print('x' * 8_000_000)\nawait mcp__fixture__add(1, 2)";

#[test]
fn answers_that_are_not_read_do_not_fill_the_memory() {
    const ROUNDS: usize = 6;
    const CLIENTS: usize = 10;
    let settings = json!({ "execution": { "max_output_bytes": 16 * MEGABYTE } });
    let (gateway, received) = HttpGateway::serve("127.0.0.1:0", &[], &settings, |_| {});
    let client = gateway.client();
    client.run(1, "print('warm')");
    let memory = || Process::read(gateway.pid()).and_then(|it| it.resident_bytes()).unwrap();
    let before = memory();
    let mut most = 0;
    let mut unread: Vec<HttpResponse> = Vec::new();
    for round in 1..=ROUNDS {
        // Half of them with a session, half of them without.
        let sessions: Vec<_> = (0..CLIENTS / 2).map(|_| gateway.client()).collect();
        unread.extend(sessions.iter().map(|session| session.start(1, LARGE, "t")));
        unread.extend((0..CLIENTS / 2).map(|_| gateway.start_stateless(1, LARGE)));
        assert!(wait_until(TIMEOUT, || {
            most = most.max(memory());
            received.calls("add") >= round * CLIENTS
        }));
        assert!(client.run(2, "print('served')").contains("served"));
        most = most.max(memory());
    }
    let grown = most.saturating_sub(before) / MEGABYTE;
    assert!(grown < 300, "{grown} MB for {} answers of 8 MB", unread.len());
    // Who reads gets the whole of a large answer.
    assert_eq!(client.run(3, LARGE).len(), "[Script executed successfully]\n".len() + 8_000_001);
}
