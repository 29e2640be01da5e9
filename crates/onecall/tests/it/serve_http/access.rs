//! Access control: which requests are accepted by token, host and origin.

use std::net::SocketAddr;

use serde_json::json;

use crate::support::http_gateway::{Client, HttpGateway, initialize, text};
use crate::support::raw_http::Request;
use crate::support::{Home, finish};

const TOKEN: &str = "a-token-of-the-test";

/// Where a request goes, with which headers, and what comes of it.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], u16);

#[test]
fn hostile_hosts_and_origins_are_forbidden() {
    let gateway = HttpGateway::new();
    let (host, origin) = (gateway.host(), format!("http://{}", gateway.host()));
    let rows: [Row; 12] = [
        ("/mcp", &[("Host", &host)], 200),
        ("/mcp", &[("Host", &host), ("Origin", &origin)], 200),
        ("/mcp", &[("Host", "evil.example")], 403),
        ("/mcp", &[("Host", "127.0.0.1:1")], 403),
        ("/mcp", &[("Host", &host), ("Host", &host)], 403),
        ("/mcp", &[("Host", &host), ("Host", "evil.example")], 403),
        ("/mcp", &[], 403),
        ("/mcp", &[("Host", &host), ("Origin", "http://evil.example")], 403),
        ("/mcp", &[("Host", &host), ("Origin", "null")], 403),
        ("/mcp", &[("Host", &host), ("Origin", &origin), ("Origin", &origin)], 403),
        ("http://evil.example/mcp", &[("Host", &host)], 403),
        ("/other", &[("Host", "evil.example")], 403),
    ];
    let message = initialize();
    for (target, headers, status) in rows {
        let mut request = Request::message(&message);
        request.target = target;
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let answer = request.send_unchanged(gateway.address);
        assert_eq!(answer.status, status, "{target} {headers:?}");
    }
}

#[test]
fn what_is_allowed_by_name_comes_in() {
    let gateway = HttpGateway::with(&[
        "--allow-host",
        "tools.example.com",
        "--allow-origin",
        "https://app.example.com",
    ]);
    let origin = "https://app.example.com";
    let message = initialize();
    let named =
        |host: &str| Request::message(&message).header("Host", host).header("Origin", origin);
    let answer = named("tools.example.com").send_unchanged(gateway.address);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some(origin));
    assert_eq!(named("other.example.com").send_unchanged(gateway.address).status, 403);

    // What the browser asks before.
    let asks = Request::new("OPTIONS", "/mcp")
        .header("Origin", origin)
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "content-type,mcp-session-id")
        .send(gateway.address);
    assert_eq!(asks.status, 204);
    assert_eq!(asks.header("access-control-allow-origin"), Some(origin));
    assert_eq!(asks.header("access-control-allow-headers"), Some("content-type,mcp-session-id"));
    let asks = Request::new("OPTIONS", "/mcp")
        .header("Origin", "https://evil.example")
        .header("Access-Control-Request-Method", "POST")
        .send(gateway.address);
    assert_eq!(asks.status, 403);
    assert_eq!(asks.header("access-control-allow-origin"), None);
}

#[test]
fn only_the_token_opens() {
    let gateway = HttpGateway::with(&["--token", TOKEN]);
    let right = format!("Bearer {TOKEN}");
    let short = right.strip_suffix('t').unwrap();
    let refused: [&[&str]; 6] = [
        &[],
        &["Bearer wrong"],
        &[short],
        &["Basic YTpi"],
        &[&right, &right],
        &["Bearer wrong", &right],
    ];
    let client = Client::open(gateway.address, &[&right]);
    for headers in refused {
        let message = initialize();
        let open = || Request::message(&message);
        let within = || Request::message(&message).header("Mcp-Session-Id", &client.session);
        let stream = || {
            Request::new("GET", "/mcp")
                .header("Accept", "text/event-stream")
                .header("Mcp-Session-Id", &client.session)
        };
        let end = || Request::new("DELETE", "/mcp").header("Mcp-Session-Id", &client.session);
        for mut request in [open(), within(), stream(), end()] {
            for header in headers {
                request = request.header("Authorization", header);
            }
            let answer = request.send(gateway.address);
            assert_eq!(answer.status, 401, "{headers:?}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    assert!(client.run(1, "print('still there')").contains("still there"));
    assert!(!gateway.stderr().contains(TOKEN), "{}", gateway.stderr());
}

#[test]
fn a_token_comes_from_a_file_or_the_environment() {
    let home = Home::new();
    let file = home.write("token", format!("{TOKEN}\n"));
    let right = format!("Bearer {TOKEN}");
    let from_file = HttpGateway::with(&["--token-file", file.to_str().unwrap()]);
    let (from_environment, _) = HttpGateway::start(&[], |command| {
        command.env("ONECALL_TOKEN", TOKEN);
    });
    for gateway in [from_file, from_environment] {
        assert_eq!(Request::message(&initialize()).send(gateway.address).status, 401);
        let client = Client::open(gateway.address, &[&right]);
        assert!(client.run(1, "print(6 * 7)").contains("42"));
    }
}

#[test]
fn nobody_else_is_served_without_a_token() {
    let home = Home::with_config(&json!({}));
    let say = |arguments: &[&str]| {
        let ended = finish(home.onecall_with_config(arguments));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        ended.stderr
    };
    insta::assert_snapshot!(say(&["serve", "--http", "0.0.0.0:0"]), @"error: 0.0.0.0:0 can be reached from other machines, from where anyone could run programs and call your tools: give clients a token (--token-file FILE, or ONECALL_TOKEN), configure `users`, or listen on 127.0.0.1");
    insta::assert_snapshot!(say(&["serve", "--http", "[::]:0", "--token", "two words"]), @"error: --token cannot be used: a token consists of visible ASCII characters, without spaces; `openssl rand -hex 32` prints a good one");
    insta::assert_snapshot!(say(&["serve", "--http", "here"]), @"error: 'here' is not an address to listen on, such as 127.0.0.1:8808: invalid socket address");
}

#[test]
fn a_token_that_can_be_guessed_is_refused_at_the_start() {
    let home = Home::with_config(&json!({}));
    let said = |arguments: &[&str], variable: Option<&str>| {
        // Not even where no token would be needed.
        let mut command =
            home.onecall_with_config(&[&["serve", "--http", "127.0.0.1:0"], arguments].concat());
        command.envs(variable.map(|token| ("ONECALL_TOKEN", token)));
        let ended = finish(command);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        ended.stderr
    };
    let file = home.write("token", " hunter2\n");
    let empty = home.write("empty", " \n\n");
    let short = said(&["--token", "0123456789abcde"], None);
    insta::assert_snapshot!(short, @"error: --token cannot be used: a token of 15 characters can be guessed: it needs at least 16; `openssl rand -hex 32` prints a good one");
    let example = said(&[], Some("changeme-changeme"));
    insta::assert_snapshot!(example, @"error: ONECALL_TOKEN cannot be used: a token with 'changeme' in it looks like one of an example; `openssl rand -hex 32` prints a good one");
    let repeated = said(&[], Some("0000000000000000"));
    insta::assert_snapshot!(repeated, @"error: ONECALL_TOKEN cannot be used: a token of so few different characters can be guessed: it needs at least 5; `openssl rand -hex 32` prints a good one");
    let from_file = said(&["--token-file", file.to_str().unwrap()], None);
    assert!(from_file.contains("cannot be used: a token of 7 characters"), "{from_file}");
    assert!(!from_file.contains("hunter2"), "{from_file}");
    let blank = said(&["--token-file", empty.to_str().unwrap()], None);
    assert!(blank.contains("cannot be used: a token consists of visible"), "{blank}");
    assert!(said(&[], Some("")).contains("ONECALL_TOKEN cannot be used"));
}

#[test]
fn other_machines_are_served_with_a_token() {
    let (gateway, _) = HttpGateway::listen("0.0.0.0:0", &["--token", TOKEN], |_| {});
    let address = SocketAddr::from(([127, 0, 0, 1], gateway.address.port()));
    assert_eq!(Request::message(&initialize()).send(address).status, 401);
    let right = format!("Bearer {TOKEN}");
    assert!(Client::open(address, &[&right]).run(1, "print(6 * 7)").contains("42"));
}

#[test]
fn health_needs_nothing_and_tells_nothing() {
    let gateway = HttpGateway::with(&["--token", TOKEN]);
    let answer = Request::new("GET", "/health").send(gateway.address);
    assert_eq!((answer.status, answer.text().as_str()), (200, "ok"));
    let right = format!("Bearer {TOKEN}");
    for target in ["/", "/mcp/", "/health/", "/mcp2", "/.well-known/oauth-protected-resource"] {
        let request = Request::new("GET", target).header("Authorization", &right);
        assert_eq!(request.send(gateway.address).status, 404, "{target}");
    }
    let answer = Request::new("PUT", "/mcp").header("Authorization", &right).send(gateway.address);
    assert_eq!(answer.status, 405);
}

#[test]
fn a_call_without_a_session_is_refused() {
    let gateway = HttpGateway::new();
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    assert_eq!(Request::message(&message).send(gateway.address).status, 400);
    let answer = gateway.start_stateless(7, "print('no session needed')");
    assert_eq!(answer.status, 200);
    assert!(answer.header("mcp-session-id").is_none());
    assert!(text(&answer.message()).contains("no session needed"));
}
