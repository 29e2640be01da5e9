//! Many connections that say nothing, too little or too slowly, and a client among them.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::process::wait_until;

use crate::support::TIMEOUT;
use crate::support::http_gateway::{Client, HttpGateway};
use crate::support::raw_http::{Request, connect};

const TOKEN: &str = "a-token-of-the-test-that-is-long";

/// A thousand times what a few pings take, and less than they take when each of them waits
/// until silent connections have run out of time.
const SOON: Duration = Duration::from_secs(10);

/// More connections than there are places: some silent, some that stop within the head of a
/// request, some closed halfway.
fn crowd(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let connections = (0..count).map(|number| {
        let mut stream = connect(address);
        // The oldest may be gone before they could say anything.
        if number % 2 > 0 {
            let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ");
        }
        if number % 10 == 1 {
            let _ = stream.shutdown(Shutdown::Write);
        }
        stream
    });
    connections.collect()
}

fn is_open(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let open = matches!(stream.peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
    open
}

fn ping(client: &Client, id: u64) {
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string();
    let answer = client.send(Request::message(&message)).message();
    assert_eq!(answer["result"], json!({}), "{answer}");
}

#[test]
fn a_client_with_the_token_does_not_wait_behind_connections_without() {
    let bearer = format!("Bearer {TOKEN}");
    for (arguments, authorization) in
        [(&["--token", TOKEN][..], &[bearer.as_str()][..]), (&[], &[])]
    {
        let gateway = HttpGateway::with(arguments);
        let client = Client::open(gateway.address, authorization);
        let mut waited = Duration::ZERO;
        for id in 0..4 {
            let silent = crowd(gateway.address, 600);
            let begun = Instant::now();
            ping(&client, id);
            waited += begun.elapsed();
            if id == 0 {
                // Each of them has to go.
                for mut stream in silent {
                    if let Err(error) = stream.read_to_end(&mut Vec::new()) {
                        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                    }
                }
            }
        }
        assert!(waited < SOON, "{waited:?} for four pings");
        assert_eq!(Request::new("GET", "/health").send(gateway.address).text(), "ok");
    }
}

#[test]
fn a_connection_that_is_in_is_not_closed_for_strangers() {
    let gateway = HttpGateway::with(&["--token", TOKEN]);
    let (bearer, host) = (format!("Bearer {TOKEN}"), gateway.host());
    let ask = |stream: &TcpStream, authorization: &str| {
        let request = Request::new("GET", "/metrics").header("Host", &host);
        let answer = request.header("Authorization", authorization).send_over(stream);
        let status = answer.status;
        answer.text();
        status
    };
    let (inside, outside) = (connect(gateway.address), connect(gateway.address));
    assert_eq!(ask(&inside, &bearer), 200);
    // A connection with a wrong token counts as not authenticated.
    assert_eq!(ask(&outside, "Bearer wrong"), 401);
    let mut silent = Vec::new();
    for _ in 0..10 {
        silent.extend(crowd(gateway.address, 30));
        assert_eq!(ask(&inside, &bearer), 200);
    }
    assert!(wait_until(TIMEOUT, || !is_open(&outside)));
}

#[test]
fn short_requests_pass_while_long_ones_upload() {
    const MEGABYTE: usize = 1024 * 1024;
    let gateway = HttpGateway::new();
    let client = gateway.client();
    let host = gateway.host();
    let (stop, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        // More than there is memory for, each of which goes on little by little.
        let uploads: Vec<_> = (0..12)
            .map(|_| {
                scope.spawn(|| {
                    let mut request = Request::message("").header("Host", &host);
                    request.headers.retain(|(name, _)| *name != "Content-Length");
                    let request = request.header("Content-Length", &(4 * MEGABYTE).to_string());
                    let mut stream = connect(gateway.address);
                    stream.write_all(request.head().as_bytes()).unwrap();
                    stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
                    let mut left = 4 * MEGABYTE - 300_000;
                    while left > 0 && !stop.load(Ordering::Relaxed) {
                        // One that finds no memory is not read from.
                        left -= stream.write(&vec![b' '; left.min(MEGABYTE)]).unwrap_or(0);
                    }
                    sent.fetch_add(1, Ordering::Relaxed);
                    while !stop.load(Ordering::Relaxed) && is_open(&stream) {
                        let _ = stream.write(&[b' '; 2048]);
                        thread::sleep(Duration::from_millis(100));
                    }
                    is_open(&stream)
                })
            })
            .collect();
        assert!(wait_until(TIMEOUT, || sent.load(Ordering::Relaxed) >= 8));
        // Many of them: what was written may not have been read yet.
        (0..100).for_each(|id| ping(&client, id));
        assert!(client.run(1, "print('short')").contains("short"));
        stop.store(true, Ordering::Relaxed);
        let unanswered = uploads.into_iter().filter_map(|it| it.join().ok()).filter(|open| *open);
        assert_eq!(unanswered.count(), 12, "the short one has waited for the end of a long one");
    });
}

#[test]
fn a_body_that_stops_is_refused() {
    let gateway = HttpGateway::new();
    for announced in [100, 1024 * 1024] {
        let mut request = Request::message("").header("Host", &gateway.host());
        request.headers.retain(|(name, _)| *name != "Content-Length");
        let mut request = request.header("Content-Length", &announced.to_string());
        request.body = b"{";
        let answer = request.send_unchanged(gateway.address);
        assert_eq!(answer.status, 408);
        assert!(answer.text().contains("did not arrive in time"));
    }
}
