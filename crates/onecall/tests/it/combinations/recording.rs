//! Calls are recorded and traced alike, however they are made and whether the server or the cache
//! answers them.

use serde_json::{Value, json};
use testkit::collector::Collector;
use testkit::mcp::Session;

use super::{CallMethod, PARENT, TRACE, home, runs, show_run};
use crate::support::{Home, TIMEOUT, finish};

#[test]
fn a_tool_that_the_client_calls_itself_is_a_run() {
    let (home, _received) = home(
        |servers| json!({ "servers": servers, "expose_tools": ["mcp__*"], "records": "full", "cache": {} }),
    );
    let mut session = Session::open(home.onecall_with_config(&["serve"]));
    assert_eq!(session.call_tool("mcp__fixture__add", json!({ "a": 1, "b": 2 })).text, "3");
    let refused = session.call_tool("mcp__fixture__fail", json!({ "message": "not today" }));
    assert!(refused.is_error, "{refused:?}");
    let runs = runs(&home, 2);
    let facts: Vec<Value> = runs
        .iter()
        .map(|run| json!([run["kind"], run["engine"], run["outcome"], run["calls"], run["tokens"]]))
        .collect();
    // A tool that says that it failed has answered: what passes is between client and server.
    assert_eq!(facts[0], json!(["tool", "none", "ok", 1, null]), "{runs:#?}");
    assert_eq!(facts[1], json!(["tool", "none", "ok", 1, null]), "{runs:#?}");
    let id = runs[0]["id"].as_str().unwrap();
    assert_eq!(show_run(&home, &runs[0])["tool_calls"][0]["name"], "mcp__fixture__add");
    let replayed = finish(home.onecall_with_config(&["runs", "replay", id]));
    assert!(
        replayed.stderr.contains("was a single call; only programs can be replayed"),
        "{replayed:?}"
    );

    assert_eq!(
        finish(home.onecall_with_config(&["call", "mcp__fixture__add", "a=1", "b=2"])).code,
        Some(0)
    );
    let runs = super::runs(&home, 3);
    let called = &runs[2];
    assert_eq!((&called["kind"], &called["client"]), (&json!("call"), &json!("command line")));
    // None of this has saved an agent any tokens.
    let stats = finish(home.onecall_with_config(&["stats"])).stdout;
    assert!(stats.contains("3 runs") && !stats.contains("tokens saved of"), "{stats}");
}

/// How many reports of a countdown its client has heard.
fn steps(session: &Session, token: &str) -> usize {
    let is_step =
        |report: &&Value| report["message"].as_str().is_some_and(|words| words.contains("step"));
    session.progress(token).iter().filter(is_step).count()
}

/// What `onecall runs` says of a run with one call.
fn facts(home: &Home, run: &Value) -> Value {
    let call = &show_run(home, run)["tool_calls"][0];
    let [kind, session, outcome] = ["kind", "session", "outcome"].map(|key| &run[key]);
    json!([kind, session, outcome, run["calls"], call["name"], call["cached"]])
}

/// The first answer comes from the server, and the second from the cache where that will do.
#[test]
fn every_way_is_cached_traced_reported_and_recorded() {
    let countdown = json!({ "steps": 3, "ms": 900 });
    for method in CallMethod::ALL {
        let collector = Collector::start();
        let (home, received) = home(|servers| {
            json!({
                "servers": servers, "expose_tools": ["mcp__*"], "cache": {}, "records": "full",
                "telemetry": { "otlp": collector.url() },
            })
        });
        let mut session = Session::open(home.onecall_with_config(&["serve"]));
        let before = method.prepare(&mut session, "countdown", &countdown);
        for token in ["first", "second"] {
            let meta = json!({ "traceparent": PARENT, "progressToken": token });
            let answer = method.call(&mut session, "countdown", &countdown, &meta);
            assert_eq!(answer.as_deref(), Ok("liftoff"), "{method:?}");
        }
        let asked = if method.reuses_answers() { 1 } else { 2 };
        assert_eq!(received.calls("countdown"), asked, "{method:?}");
        // The last report comes with the answer, which may overtake it.
        let [first, second] = ["first", "second"].map(|token| steps(&session, token));
        assert!(first >= 2, "{method:?}: {first}");
        assert!(if asked == 1 { second == 0 } else { second >= 2 }, "{method:?}: {second}");
        let sent = received.wait_for_call("countdown")["params"]["_meta"].clone();
        let parent = sent["traceparent"].as_str().unwrap_or_default();
        assert!(parent.starts_with(&format!("00-{TRACE}-")), "{method:?}: {sent}");

        let fact = |cached: bool| {
            json!([method.kind(), method.session(), "ok", 1, "mcp__fixture__countdown", cached])
        };
        let runs = runs(&home, before + 2);
        let found: Vec<Value> = runs[before..].iter().map(|run| facts(&home, run)).collect();
        assert_eq!(found, [fact(false), fact(method.reuses_answers())], "{method:?}");

        session.client().close_stdin();
        assert!(session.client().wait(TIMEOUT).is_some_and(|status| status.success()));
        let spans = collector.spans();
        let count = |name: &str| {
            spans.iter().filter(|span| span.trace == TRACE && span.name == name).count()
        };
        let counted =
            (count("execute_tool mcp__fixture__countdown"), count("tools/call countdown"));
        assert_eq!(counted, (2, asked), "{method:?}: {spans:#?}");
    }
}
