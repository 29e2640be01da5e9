//! Sizes, times and numbers that a client cannot exceed.

use serde_json::json;
use testkit::process::{Process, wait_until};

use crate::support::TIMEOUT;
use crate::support::http_gateway::{HttpGateway, initialize};
use crate::support::raw_http::Request;

const MEGABYTE: usize = 1024 * 1024;

#[test]
fn a_request_that_is_too_long_is_refused() {
    let gateway = HttpGateway::new();
    let client = gateway.client();
    client.run(1, "print('warm')");
    let memory = || Process::read(gateway.pid()).unwrap().peak_bytes().unwrap();
    let before = memory();

    let body = vec![b'x'; 100 * MEGABYTE];
    let mut announced = Request::message("").header("Host", &gateway.host());
    announced.headers.retain(|(name, _)| *name != "Content-Length");
    let mut unannounced = Request::message("").header("Host", &gateway.host());
    unannounced.headers.retain(|(name, _)| *name != "Content-Length");
    announced = announced.header("Content-Length", &body.len().to_string());
    announced.body = &body;
    assert_eq!(announced.send_unchanged(gateway.address).status, 413);

    // A chunked body does not announce its size.
    let mut chunks = Vec::new();
    for _ in 0..8 {
        chunks.extend_from_slice(format!("{MEGABYTE:x}\r\n").as_bytes());
        chunks.extend_from_slice(&body[..MEGABYTE]);
        chunks.extend_from_slice(b"\r\n");
    }
    unannounced = unannounced.header("Transfer-Encoding", "chunked");
    unannounced.body = &chunks;
    assert_eq!(unannounced.send_unchanged(gateway.address).status, 413);

    let grown = memory().saturating_sub(before) / MEGABYTE as u64;
    assert!(grown < 32, "{grown} MB for two requests that were refused");
    assert!(client.run(2, "print('still there')").contains("still there"));
}

#[test]
fn a_long_program_is_taken() {
    let client = HttpGateway::new();
    let session = client.client();
    let code = format!("x = '{}'\nprint(len(x))", "a".repeat(3 * MEGABYTE));
    assert!(session.run(1, &code).contains(&(3 * MEGABYTE).to_string()));
}

#[test]
fn what_is_no_message_is_refused() {
    let gateway = HttpGateway::new();
    let deep = "[".repeat(100_000);
    let deep_object = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    for body in ["", "{", "nonsense", "[]", "{}", "1", "\"text\"", &deep, &deep_object] {
        let answer = Request::message(body).send(gateway.address);
        let shown: String = body.chars().take(20).collect();
        assert_eq!(answer.status, 400, "{shown}");
        assert!(answer.text().contains("\"jsonrpc\":\"2.0\""), "{shown}");
    }
    let message = initialize();
    for (name, status) in [("Accept", 406), ("Content-Type", 415)] {
        let mut request = Request::message(&message);
        request.headers.retain(|(known, _)| *known != name);
        assert_eq!(request.send(gateway.address).status, status, "no {name}");
    }
    assert!(gateway.client().run(1, "print('still there')").contains("still there"));
}

#[test]
fn an_answer_that_nobody_reads_is_given_up() {
    let execution = json!({ "max_output_bytes": 32 * MEGABYTE });
    let gateway = HttpGateway::with_settings(&json!({ "execution": execution }));
    let client = gateway.client();
    let port = format!(":{:04X}", gateway.address.port());
    let open = || {
        let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
        // A number, our address, theirs, and the state, which is 01 for an open one.
        let is_open = |line: &&str| {
            let fields: Vec<&str> = line.split_ascii_whitespace().take(4).collect();
            fields[1].ends_with(&port) && fields[3] == "01"
        };
        connections.lines().filter(is_open).count()
    };
    let unread = client.start(1, "print('x' * 20_000_000)", "t");
    assert!(open() >= 1);
    assert!(wait_until(3 * TIMEOUT, || open() == 0), "the connection is kept");
    assert!(client.run(2, "print('served')").contains("served"));
    drop(unread);
}

#[test]
fn clients_that_never_read_hold_nobody_up() {
    let gateway = HttpGateway::new();
    let deaf = gateway.client();
    let code = "print('x' * 60000)";
    let answers: Vec<_> = (0..40).map(|id| deaf.start(id, code, "t")).collect();
    let client = gateway.client();
    assert!(client.run(1, "print('served')").contains("served"));
    assert!(deaf.run(100, "print('served, too')").contains("served, too"));
    drop(answers);
}
