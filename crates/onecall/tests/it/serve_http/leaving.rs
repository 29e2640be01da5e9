//! Clients that leave in the middle, and the server that does.

use std::io::Write;
use std::net::TcpStream;

use serde_json::json;
use testkit::process::{Process, descendants, is_alive, is_first_of_namespace, wait_until};

use crate::support::TIMEOUT;
use crate::support::http_gateway::{HttpGateway, stateless, stateless_request, text};
use crate::support::raw_http::{Request, connect};

#[test]
fn a_stateless_client_that_leaves_cancels_its_program() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let stream = start_stateless(&gateway, "await mcp__fixture__hang()");
    let hang = received.wait_for_call("hang");
    drop(stream);
    received.wait_for_cancel(&hang);
}

#[test]
fn a_client_that_never_listens_cancels_its_program_by_leaving() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    let left = client.start(1, "await mcp__fixture__hang()", "t");
    let hang = received.wait_for_call("hang");
    // Less time than a client had to come back when every client was waited for.
    let other =
        client.start(2, "await mcp__fixture__sleep(ms=4000)\nawait mcp__fixture__add(1, 2)", "t");
    received.wait_for_call("sleep");
    drop(left);
    received.wait_for_cancel(&hang);
    assert_eq!(received.calls("add"), 0, "the other program has slept through it");
    drop(other);
    // The session is still there, and its ids can be used again.
    assert!(client.run(1, "print('next')").contains("next"));
}

#[test]
fn a_client_that_does_not_come_back_is_not_waited_for() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    let _listening = client.listen(None);
    let answer = client.start(1, "await mcp__fixture__hang()", "t");
    let call = received.wait_for_call("hang");
    drop(answer);
    received.wait_for_cancel(&call);
    assert!(client.run(2, "print('next')").contains("next"));
}

#[test]
fn a_client_that_comes_back_gets_its_answer() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    // A client that listens shows that it can come back.
    let _listening = client.listen(None);
    let mut answer =
        client.start(1, "await mcp__fixture__sleep(ms=2000)\nprint('waited for')", "t");
    let first = answer.next_event().expect("the stream begins");
    received.wait_for_call("sleep");
    drop(answer);
    let resumed = client.listen(Some(&first.id));
    assert!(text(&resumed.message()).contains("waited for"));
}

#[test]
fn clients_that_leave_in_the_middle_leave_nothing_behind() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    client.run(1, "print('warm')");
    // At rest there are the zygote, two workers that wait for programs, and nothing else.
    let is_worker = |process: &Process| {
        process.command.contains(" python-zygote ") && !is_first_of_namespace(process.pid)
    };
    let workers = || descendants(gateway.pid()).iter().filter(|process| is_worker(process)).count();
    let at_rest = || workers() == 3;
    assert!(wait_until(TIMEOUT, at_rest), "{} processes", workers());
    let wait_for_calls =
        |count: u64| assert!(wait_until(TIMEOUT, || received.calls("hang") as u64 == count));
    for round in 0..5 {
        let answer = client.start(round, "await mcp__fixture__hang()", "t");
        wait_for_calls(2 * round + 1);
        drop(answer);
        let stream = start_stateless(&gateway, "await mcp__fixture__hang()");
        wait_for_calls(2 * round + 2);
        drop(stream);
    }
    assert!(wait_until(TIMEOUT, || received.cancels() == 10), "{} cancels", received.cancels());
    assert!(wait_until(TIMEOUT, at_rest), "{} processes are left", workers());
}

/// Starts a program as a client without a session; dropping the connection leaves it.
fn start_stateless(gateway: &HttpGateway, code: &str) -> TcpStream {
    let message = stateless(1, code);
    let head = stateless_request(&message).header("Host", &gateway.host()).head();
    let mut stream = connect(gateway.address);
    stream.write_all(format!("{head}{message}").as_bytes()).unwrap();
    stream
}

#[test]
fn the_end_of_a_session_is_the_end_of_its_programs() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    let mut answer = client.start(1, "await mcp__fixture__hang()", "t");
    let hang = received.wait_for_call("hang");
    assert_eq!(client.send(Request::new("DELETE", "/mcp")).status, 204);
    received.wait_for_cancel(&hang);
    while let Some(event) = answer.next_event() {
        assert_ne!(event.data["result"]["isError"], false, "{event:?}");
    }
}

#[test]
fn a_signal_ends_everything() {
    for signal in ["-TERM", "-INT"] {
        let (mut gateway, received) = HttpGateway::start(&[], |_| {});
        let client = gateway.client();
        let mut answer = client.start(1, "await mcp__fixture__hang()", "t");
        received.wait_for_call("hang");
        let family = descendants(gateway.pid());
        assert!(!family.is_empty());
        gateway.signal(signal);
        assert_eq!(gateway.ended().code(), Some(0));
        while let Some(event) = answer.next_event() {
            assert_eq!(event.data["result"], json!(null), "{event:?}");
        }
        let all_gone = || family.iter().all(|process| !is_alive(process.pid));
        assert!(wait_until(TIMEOUT, all_gone), "{family:?}");
    }
}
