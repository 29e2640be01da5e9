//! A configuration that changes under what has been cached, kept in a session or begun.

use serde_json::{Value, json};

use super::{CallMethod, PARENT, home, runs, start};
use crate::support::{Gateway, ReceivedMessages, printed};

const ADD: &str = "mcp__fixture__add";

/// A gateway whose answers are cached and whose calls are recorded, what its server has received,
/// and its configuration.
fn gateway() -> (Gateway, ReceivedMessages, Value) {
    let mut config = Value::Null;
    let (home, received) = home(|servers| {
        config = json!({
            "servers": servers, "expose_tools": ["mcp__*"], "cache": {}, "records": "full",
        });
        config.clone()
    });
    (Gateway::with_info_log(home), received, config)
}

/// Makes a configuration the one in use, in which these settings are different.
fn reload(gateway: &mut Gateway, config: &Value, settings: &str) {
    gateway.home.replace_config(config);
    gateway.wait_for_log(&["INFO", &format!("changed from the next program on: {settings}")]);
}

fn add(gateway: &mut Gateway, method: CallMethod) -> Result<String, String> {
    method.call(&mut gateway.session, "add", &json!({ "a": 1, "b": 2 }), &json!({}))
}

#[test]
fn what_a_reload_blocks_is_not_answered_from_the_cache() {
    let (mut gateway, received, config) = gateway();
    for method in CallMethod::ALL {
        method.prepare(&mut gateway.session, "add", &json!({ "a": 1, "b": 2 }));
        assert_eq!(add(&mut gateway, method).as_deref(), Ok("3"), "{method:?}");
    }
    // The function in the session was answered from the cache; the others want another form.
    assert_eq!(received.calls("add"), 3);

    let mut blocking = config.clone();
    blocking["tools"] = json!({ "block": [ADD] });
    reload(&mut gateway, &blocking, "tools");
    for method in CallMethod::ALL {
        let refused = add(&mut gateway, method).unwrap_err();
        let expected = match method {
            CallMethod::Exposed => format!("unknown tool '{ADD}'"),
            CallMethod::Plan => format!("target_tool: '{ADD}' is not available to programs"),
            CallMethod::Program | CallMethod::Session => {
                format!("'{ADD}' is not available in execute_program")
            }
        };
        assert!(refused.contains(&expected), "{method:?}: {refused}");
    }
    let facts = |run: &Value| {
        json!([run["kind"], run["session"], run["outcome"], run["calls"], run["cached_calls"]])
    };
    let recorded: Vec<Value> = runs(&gateway.home, 7).iter().map(facts).collect();
    let expected = [
        json!(["program", null, "ok", 1, 0]),
        json!(["program", "s", "ok", 0, 0]),
        json!(["program", "s", "ok", 1, 1]),
        json!(["plan", null, "ok", 1, 0]),
        json!(["tool", null, "ok", 1, 0]),
        json!(["program", null, "refused", 0, 0]),
        json!(["program", "s", "raised", 1, 0]),
    ];
    assert_eq!(recorded, expected);

    // What was said still holds when the tool is permitted again.
    let mut permitting = config;
    permitting["execution"] = json!({ "max_tool_calls": 7 });
    reload(&mut gateway, &permitting, "tools, execution");
    for method in CallMethod::ALL {
        assert_eq!(add(&mut gateway, method).as_deref(), Ok("3"), "{method:?}");
    }
    // Only what the client called itself has been asked again.
    assert_eq!(received.calls("add"), 4);
}

#[test]
fn a_session_keeps_its_variables_over_a_reload_that_blocks_its_tool() {
    let (mut gateway, received, mut config) = gateway();
    let run = |gateway: &mut Gateway, code: &str| {
        let arguments = json!({ "code": code, "session": "s" });
        printed(&gateway.session.call_tool("execute_program", arguments))
    };
    let define = "total = await mcp__fixture__add(1, 2)\n\
                  async def more():\n    return await mcp__fixture__add(total, 1)\n\
                  print(await more())";
    assert_eq!(run(&mut gateway, define), "4\n");
    config["tools"] = json!({ "block": [ADD] });
    reload(&mut gateway, &config, "tools");
    let use_it =
        "print(total)\ntry:\n    print(await more())\nexcept ToolError as error:\n    print(error)";
    let refused = format!("3\n'{ADD}' is not available in execute_program\n");
    assert_eq!(run(&mut gateway, use_it), refused);
    assert_eq!(received.calls("add"), 2);
}

#[test]
fn a_server_that_a_reload_restarts_is_asked_again() {
    let (mut gateway, received, mut config) = gateway();
    let arguments = json!({ "name": "GREETING" });
    let greeting = |gateway: &mut Gateway, method: CallMethod| {
        let answer = method.call(&mut gateway.session, "env", &arguments, &json!({}));
        answer.map(|text| text.trim_matches('"').to_owned())
    };
    let greet = |config: &mut Value, word: &str| {
        config["servers"][0]["env"] = json!({ "GREETING": word });
    };
    greet(&mut config, "hello");
    gateway.home.replace_config(&config);
    gateway.wait_for_log(&["INFO", "restarted: fixture"]);
    for method in CallMethod::ALL {
        method.prepare(&mut gateway.session, "env", &json!({ "name": "GREETING" }));
        assert_eq!(greeting(&mut gateway, method).as_deref(), Ok("hello"), "{method:?}");
    }
    assert_eq!(received.calls("env"), 3);
    greet(&mut config, "welcome");
    config["tools"] = json!({ "block": [ADD] });
    reload(&mut gateway, &config, "tools");
    for method in CallMethod::ALL {
        assert_eq!(greeting(&mut gateway, method).as_deref(), Ok("welcome"), "{method:?}");
    }
}

#[test]
fn a_plan_keeps_the_rules_that_it_began_with() {
    let (mut gateway, received, mut config) = gateway();
    let plan = |until: u64| {
        let waiting = json!({ "__tool__": "mcp__fixture__in_flight", "args": { "ms": 60_000, "until": until } });
        json!({ "target_tool": ADD, "tool_args": { "a": waiting, "b": 1 } })
    };
    let running =
        start(&mut gateway.session, "proxy", &plan(2), &json!({ "progressToken": "token" }));
    received.wait_for_call("in_flight");
    config["tools"] = json!({ "block": [ADD] });
    reload(&mut gateway, &config, "tools");
    // The plan continues when two of these calls run; two calls with equal arguments would be one.
    let other = "print(await mcp__fixture__in_flight(ms=59_999, until=2))";
    assert_eq!(gateway.prints(other), "2\n");
    let answer = gateway.session.finish_call(running);
    assert_eq!((answer.text.as_str(), answer.is_error), ("3", false));
    assert!(!gateway.session.progress("token").is_empty());

    let refused = gateway.session.call_tool("proxy", plan(1));
    assert!(refused.is_error && refused.text.contains(ADD), "{}", refused.text);
    assert_eq!((received.calls("in_flight"), received.calls("add")), (2, 1));
    let runs = runs(&gateway.home, 2);
    let is_plan = |run: &&Value| run["kind"] == "plan" && run["outcome"] == "ok";
    let plans: Vec<&Value> = runs.iter().filter(is_plan).map(|run| &run["calls"]).collect();
    assert_eq!(plans, [&json!(2)], "{runs:#?}");
}

#[test]
fn an_exposed_tool_reports_past_a_cache_after_a_reload() {
    let (mut gateway, received, mut config) = gateway();
    let exposed = |gateway: &mut Gateway| gateway.session.tool_names().contains(&ADD.to_owned());
    gateway.callable_tools();
    assert!(exposed(&mut gateway));
    config["tools"] = json!({ "block": [ADD] });
    reload(&mut gateway, &config, "tools");
    assert!(!exposed(&mut gateway));
    let countdown = json!({ "steps": 3, "ms": 900 });
    for token in ["first", "second"] {
        let meta = json!({ "traceparent": PARENT, "progressToken": token });
        let answer = CallMethod::Exposed.call(&mut gateway.session, "countdown", &countdown, &meta);
        assert_eq!(answer.as_deref(), Ok("liftoff"));
    }
    for token in ["first", "second"] {
        let reports = gateway.session.progress(token);
        assert_eq!(reports[0]["message"], "step 1", "{reports:?}");
    }
    assert_eq!(received.calls("countdown"), 2);
    let sent = received.wait_for_call("countdown")["params"]["_meta"].clone();
    assert_eq!(sent["traceparent"], PARENT);
    let runs = runs(&gateway.home, 2);
    let cached: Vec<Value> =
        runs.iter().map(|run| json!([run["kind"], run["calls"], run["cached_calls"]])).collect();
    assert_eq!(cached, vec![json!(["tool", 1, 0]); 2]);
}
