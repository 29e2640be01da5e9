//! A gateway that is to stop begins nothing for the page, either.

use std::fs;
use std::thread;

use serde_json::json;
use testkit::process::wait_until;

use super::sign_in::run_as;
use super::{PageBrowser, Seen};
use crate::support::TIMEOUT;
use crate::support::http_gateway::HttpGateway;
use crate::support::raw_http::Request;

const TOKEN: &str = "7b1c9f0e5d3a8642";

#[test]
fn a_gateway_that_stops_gives_forms_back() {
    let held =
        "touch \"$HOME/called\"; until [ -e \"$HOME/released\" ]; do sleep 0.02; done; printf ok";
    let settings = json!({
        "fleet": {
            "advertise": "http://127.0.0.1:1",
            "secret": "0123456789abcdef0123456789abcdef",
            "drain_seconds": 3600,
        },
        "local_tools": { "held": { "command": ["sh", "-c", held] } },
    });
    let (mut gateway, received) =
        HttpGateway::serve("127.0.0.1:0", &["--token", TOKEN], &settings, |_| {});
    let mut browser = PageBrowser::new(gateway.address);
    assert_eq!(browser.post("/page/sign-in", &format!("token={TOKEN}")).status, 303);
    let check = browser.check();
    thread::scope(|scope| {
        let program = scope.spawn(|| run_as(&gateway, TOKEN, "print(await mcp__local__held())"));
        assert!(wait_until(TIMEOUT, || gateway.home.path("home/called").exists()));
        gateway.signal("-TERM");
        let is_ready = || Request::new("GET", "/ready").send(gateway.address).status == 200;
        assert!(wait_until(TIMEOUT, || !is_ready()));
        let is_given_back = |seen: &Seen| {
            seen.status == 503
                && seen.text.contains("this gateway stops")
                && seen.text.contains("Send the form again")
        };
        let form = format!("check={check}&arg.value=typed+%3Cb%3E");
        let seen = browser.post("/page/tools/mcp__fixture__echo", &form);
        assert!(is_given_back(&seen), "{} {}", seen.status, seen.text);
        assert!(seen.text.contains("typed &lt;b&gt;"), "{}", seen.text);
        for target in ["servers/fixture/start", "runs/1m0/replay", "audit/verify"] {
            let seen = browser.post(&format!("/page/{target}"), &format!("check={check}"));
            assert!(is_given_back(&seen), "{target}: {} {}", seen.status, seen.text);
        }
        // Pages can be read, and what has begun may be answered.
        assert_eq!(browser.get("/page/runs").status, 200);
        let answer = format!("check={check}&decision=once");
        assert_eq!(browser.post("/page/inbox/nothing.1", &answer).status, 404);
        assert_eq!(browser.post("/page/sign-out", &format!("check={check}")).status, 303);
        fs::write(gateway.home.path("home/released"), "").expect("a file");
        program.join().expect("the program ends");
    });
    assert!(gateway.ended().success());
    assert!(!received.text().contains("typed"));
}
