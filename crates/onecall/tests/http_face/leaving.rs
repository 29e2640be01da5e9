//! Clients that leave in the middle, and the server that does.

use std::io::Write;

use serde_json::json;
use testkit::process::{descendants, is_alive, wait_until};

use super::exchange::{Request, connect};
use super::face::{Face, stateless, stateless_request, text};
use super::support::PATIENCE;

#[test]
fn a_stateless_client_that_leaves_cancels_its_program() {
    let (face, received) = Face::start(&[], |_| {});
    let message = stateless(1, "await mcp__fixture__hang()");
    let request = stateless_request(&message).header("Host", &face.host());
    let mut head = String::from("POST /mcp HTTP/1.1\r\n");
    for (name, value) in &request.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let mut stream = connect(face.address);
    stream.write_all(format!("{head}\r\n{message}").as_bytes()).unwrap();
    let hang = received.wait_for_call("hang");
    drop(stream);
    received.wait_for_cancel(&hang);
}

#[test]
fn a_client_that_does_not_come_back_is_not_waited_for() {
    let (face, received) = Face::start(&[], |_| {});
    let client = face.client();
    drop(client.start(1, "await mcp__fixture__hang()", "t"));
    received.wait_for_cancel(&received.wait_for_call("hang"));
    // The session is still there.
    assert!(client.run(2, "print('next')").contains("next"));
}

#[test]
fn a_client_that_comes_back_gets_its_answer() {
    let (face, received) = Face::start(&[], |_| {});
    let client = face.client();
    let mut answer =
        client.start(1, "await mcp__fixture__sleep(ms=2000)\nprint('waited for')", "t");
    let first = answer.next_event().expect("the stream begins");
    received.wait_for_call("sleep");
    drop(answer);
    let resumed = client.send(
        Request::new("GET", "/mcp")
            .header("Accept", "text/event-stream")
            .header("Last-Event-ID", &first.id),
    );
    assert_eq!(resumed.status, 200);
    assert!(text(&resumed.message()).contains("waited for"));
}

#[test]
fn the_end_of_a_session_is_the_end_of_its_programs() {
    let (face, received) = Face::start(&[], |_| {});
    let client = face.client();
    let mut answer = client.start(1, "await mcp__fixture__hang()", "t");
    let hang = received.wait_for_call("hang");
    assert_eq!(client.send(Request::new("DELETE", "/mcp")).status, 202);
    received.wait_for_cancel(&hang);
    while let Some(event) = answer.next_event() {
        assert_ne!(event.data["result"]["isError"], false, "{event:?}");
    }
}

#[test]
fn a_signal_ends_everything() {
    for signal in ["-TERM", "-INT"] {
        let (mut face, received) = Face::start(&[], |_| {});
        let client = face.client();
        let mut answer = client.start(1, "await mcp__fixture__hang()", "t");
        received.wait_for_call("hang");
        let family = descendants(face.pid());
        assert!(!family.is_empty());
        face.signal(signal);
        assert_eq!(face.ended().code(), Some(0));
        while let Some(event) = answer.next_event() {
            assert_eq!(event.data["result"], json!(null), "{event:?}");
        }
        let all_gone = || family.iter().all(|process| !is_alive(process.pid));
        assert!(wait_until(PATIENCE, all_gone), "{family:?}");
    }
}
