//! Sessions of clients that cannot be distinguished: only the handle of a session continues it.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::process::wait_until;

use crate::support::TIMEOUT;
use crate::support::http_gateway::{HttpGateway, call, stateless, stateless_request, text};
use crate::support::raw_http::Request;

const PREFIX: &str = "oc_session_";

/// Runs a program as a client of the revision without a handshake, with more arguments.
fn ask(gateway: &HttpGateway, code: &str, arguments: &Value) -> Value {
    let mut message: Value = serde_json::from_str(&stateless(1, code)).unwrap();
    for (name, value) in arguments.as_object().unwrap() {
        message["params"]["arguments"][name] = value.clone();
    }
    stateless_request(&message.to_string()).send(gateway.address).message()["result"].take()
}

fn in_session(gateway: &HttpGateway, session: &str, code: &str) -> Value {
    ask(gateway, code, &json!({ "session": session }))
}

/// What a program printed, after the line that says how it went.
fn output_of(result: &Value) -> String {
    let whole = text(&json!({ "result": result }));
    whole.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

/// The handle of an answer, which is all that its second block says.
fn handle(result: &Value) -> String {
    assert_eq!(result["content"].as_array().map(Vec::len), Some(2), "{result}");
    assert_eq!(result["content"][1]["type"], "text");
    let block = result["content"][1]["text"].as_str().unwrap();
    block.strip_prefix("session: ").expect(block).to_owned()
}

fn begin(gateway: &HttpGateway, code: &str) -> String {
    handle(&in_session(gateway, "same", code))
}

fn unknown(handle: &str) -> String {
    format!(
        "SessionUnknown: there is no session with the handle '{handle}': it has ended, or there \
         never was one. Nothing was executed; give a name in its place to begin a new session"
    )
}

#[test]
fn a_name_begins_a_session_and_only_its_handle_continues_it() {
    let gateway = HttpGateway::new();
    let (mine, yours) = (begin(&gateway, "x = 'mine'"), begin(&gateway, "x = 'yours'"));
    assert_ne!(mine, yours);
    for handle in [&mine, &yours] {
        let bits = handle.strip_prefix(PREFIX).unwrap();
        assert!(bits.len() == 32 && bits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{handle}");
    }
    let again = in_session(&gateway, &mine, "print(x)");
    assert_eq!(
        (output_of(&again).as_str(), again["content"].as_array().unwrap().len()),
        ("mine\n", 1)
    );
    assert_eq!(output_of(&in_session(&gateway, &yours, "print(x)")), "yours\n");
    let other = in_session(&gateway, "same", "print('x' in globals())");
    assert_eq!(output_of(&other), "False\n");

    // A client with a session of its own calls sessions by names, whatever they look like.
    let client = gateway.client();
    let mut message = call(1, "print('x' in globals())", &json!({}));
    message["params"]["arguments"]["session"] = json!(mine);
    let answer = client.send(Request::message(&message.to_string())).message();
    assert_eq!(output_of(&answer["result"]), "False\n");
    assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1);
}

#[test]
fn an_unknown_handle_is_refused_and_begins_nothing() {
    let gateway = HttpGateway::new();
    let mine = begin(&gateway, "x = 1");
    let made_up = format!("{PREFIX}{}", "0".repeat(32));
    for wrong in [made_up.as_str(), &mine[..mine.len() - 1], &format!("{mine}0"), PREFIX] {
        for reset in [false, true] {
            let arguments = json!({ "session": wrong, "reset": reset });
            let refused = ask(&gateway, "await mcp__fixture__hang()", &arguments);
            assert_eq!((output_of(&refused), &refused["isError"]), (unknown(wrong), &json!(true)));
            assert_eq!(refused["content"].as_array().unwrap().len(), 1);
        }
    }
    let long = ask(&gateway, "1", &json!({ "session": format!("{PREFIX}{}", "0".repeat(10_000)) }));
    assert!(output_of(&long).contains("at most 100 characters"), "{long}");
}

#[test]
fn a_handle_resets_its_session_and_outlives_a_failure() {
    let gateway = HttpGateway::new();
    let mine = begin(&gateway, "x = 1");
    assert!(output_of(&in_session(&gateway, &mine, "x = 2\n1 / 0")).contains("ZeroDivisionError"));
    assert_eq!(output_of(&in_session(&gateway, &mine, "print(x)")), "2\n");
    let reset =
        ask(&gateway, "print('x' in globals())", &json!({ "session": mine, "reset": true }));
    assert_eq!(output_of(&reset), "False\n");
    assert_eq!(reset["content"].as_array().unwrap().len(), 1);
    assert_eq!(output_of(&in_session(&gateway, &mine, "print('x' in globals())")), "False\n");
    // A program that fails has begun a session, too.
    let failed = in_session(&gateway, "other", "y = 3\n1 / 0");
    assert_eq!(output_of(&in_session(&gateway, &handle(&failed), "print(y)")), "3\n");
}

#[test]
fn a_session_that_does_not_begin_or_ends_has_no_handle() {
    let gateway = HttpGateway::with_settings(&json!({ "execution": { "timeout_seconds": 2 } }));
    for (code, more) in [
        ("await mcp__fixture__there_is_none()", json!({})),
        ("print(1)", json!({ "dry_run": true })),
        ("while True: pass", json!({})),
        ("import os\nos._exit(1)", json!({})),
    ] {
        let mut arguments = json!({ "session": "same" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = ask(&gateway, code, &arguments);
        assert_eq!(answer["content"].as_array().unwrap().len(), 1, "{answer}");
    }
    let typescript = json!({ "session": "same", "language": "typescript" });
    let begun = ask(&gateway, "const x = 1", &typescript);
    assert_eq!(begun["content"].as_array().unwrap().len(), 2, "{begun}");
    let died = in_session(&gateway, "same", "import os\nos._exit(1)");
    assert!(
        output_of(&died).ends_with("[The session has ended: its variables are gone]"),
        "{died}"
    );
    let mine = begin(&gateway, "x = 1");
    let died = in_session(&gateway, &mine, "import os\nos._exit(1)");
    let ended = format!("[Session '{mine}' has ended: its variables are gone]");
    assert!(output_of(&died).ends_with(&ended), "{died}");
    assert_eq!(output_of(&in_session(&gateway, &mine, "1")), unknown(&mine));
}

#[test]
fn new_sessions_end_the_one_that_was_not_used_for_the_longest_time() {
    let gateway = HttpGateway::with_settings(&json!({ "sessions": { "max": 3 } }));
    // A session of a client that is known is not touched.
    let client = gateway.client();
    let keep = |code: &str| {
        let mut message = call(1, code, &json!({}));
        message["params"]["arguments"]["session"] = json!("kept");
        output_of(&client.send(Request::message(&message.to_string())).message()["result"])
    };
    keep("x = 'kept'");
    let first = begin(&gateway, "x = 1");
    let second = begin(&gateway, "x = 2");
    assert_eq!(output_of(&in_session(&gateway, &first, "print(x)")), "1\n");
    let third = begin(&gateway, "x = 3");
    assert_eq!(output_of(&in_session(&gateway, &second, "print(x)")), unknown(&second));
    for (handle, expected) in [(&first, "1\n"), (&third, "3\n")] {
        assert_eq!(output_of(&in_session(&gateway, handle, "print(x)")), expected);
    }
    for _ in 0..10 {
        begin(&gateway, "x = 4");
    }
    assert_eq!(keep("print(x)"), "kept\n");
}

#[test]
fn sessions_in_use_are_not_ended_for_new_ones() {
    let (gateway, received) = {
        let settings = json!({ "sessions": { "max": 1 } });
        HttpGateway::serve("127.0.0.1:0", &[], &settings, |_| {})
    };
    let mine = begin(&gateway, "x = 1");
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            output_of(&in_session(&gateway, &mine, "await mcp__fixture__sleep(ms=1500)\nprint(x)"))
        });
        received.wait_for_call("sleep");
        let refused = output_of(&in_session(&gateway, "same", "x = 2"));
        assert_eq!(
            refused,
            "SessionLimit: there are 1 sessions already, none of which can be ended for a new \
             one, and no more are allowed; run it again later"
        );
        assert_eq!(running.join().unwrap(), "1\n");
    });
    assert_eq!(output_of(&in_session(&gateway, &mine, "print(x)")), "1\n");
}

#[test]
fn an_idle_session_ends_and_its_handle_is_unknown() {
    let gateway = HttpGateway::with_settings(&json!({ "sessions": { "idle_seconds": 0.2 } }));
    let mine = begin(&gateway, "x = 1");
    assert!(wait_until(TIMEOUT, || {
        // Each of these programs uses the session.
        thread::sleep(Duration::from_secs(1));
        output_of(&in_session(&gateway, &mine, "print(x)")) == unknown(&mine)
    }));
}

#[test]
fn a_session_goes_on_when_the_configuration_changes() {
    let gateway = HttpGateway::new();
    let mine = begin(&gateway, "x = 1\nprint(await mcp__fixture__add(1, 2))");
    let mut config: Value =
        serde_json::from_str(&std::fs::read_to_string(gateway.home.path("config.json")).unwrap())
            .unwrap();
    config["servers"][0]["name"] = json!("renamed");
    let new = gateway.home.write("config.json.new", config.to_string());
    std::fs::rename(new, gateway.home.path("config.json")).unwrap();
    let code = "print(x, 'mcp__renamed__add' in dir(tools))";
    assert!(wait_until(TIMEOUT, || output_of(&in_session(&gateway, &mine, code)) == "1 True\n"));
}
