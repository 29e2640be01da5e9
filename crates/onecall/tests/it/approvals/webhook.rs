//! The announcement of questions to a web address.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use testkit::process::wait_until;

use super::{DELETE_ONE, DELETED_ONE, Desk};
use crate::support::TIMEOUT;

/// A request as the receiver sees it.
pub struct Announcement {
    pub timestamp: String,
    pub signature: String,
    pub body: String,
}

/// Receives one request and answers it with this status.
pub fn receive(listener: &TcpListener, status: &str) -> Announcement {
    let (announcement, mut stream) = receive_without_answer(listener);
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).expect("an answer");
    announcement
}

/// Receives one request, whose sender waits for its answer on this stream.
pub fn receive_without_answer(listener: &TcpListener) -> (Announcement, TcpStream) {
    listener.set_nonblocking(true).expect("a listener");
    let mut connection = None;
    wait_until(TIMEOUT, || {
        connection = listener.accept().ok();
        connection.is_some()
    });
    let (stream, _) = connection.expect("a connection");
    stream.set_nonblocking(false).expect("a stream");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a stream");
    let mut reader = BufReader::new(stream);
    let (mut length, mut timestamp, mut signature) = (0, String::new(), String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            if line.trim_end().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().expect("a length"),
            "onecall-timestamp" => value.clone_into(&mut timestamp),
            "onecall-signature" => value.clone_into(&mut signature),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let body = String::from_utf8(body).expect("text");
    (Announcement { timestamp, signature, body }, reader.into_inner())
}

#[test]
fn questions_are_announced_with_a_signature() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let desk = Desk::new(&json!({ "webhook": { "url": url, "secret": "hush-hush-hush" } }));
    let receiver = thread::spawn(move || {
        // The first attempt fails, and is repeated.
        receive(&listener, "503 Service Unavailable");
        receive(&listener, "204 No Content")
    });
    let mut agent = desk.agent();
    let code = DELETE_ONE.replace("\"/a\"", "\"hush-hush-hush\"");
    let call = agent.start(&code);
    let item = desk.open_item();
    let announced = receiver.join().expect("an announcement");
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(b"hush-hush-hush").expect("a key");
    mac.update(format!("{}.{}", announced.timestamp, announced.body).as_bytes());
    let expected: String =
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(announced.signature, expected);
    let body: Value = serde_json::from_str(&announced.body).expect("JSON");
    assert_eq!(body["items"][0]["item"], item.as_str());
    assert_eq!(body["items"][0]["name"], "mcp__files__delete");
    assert!(!announced.body.contains("hush"), "{}", announced.body);
    desk.approve(&item);
    assert_eq!(agent.0.finish_call(call).text, DELETED_ONE);
}
