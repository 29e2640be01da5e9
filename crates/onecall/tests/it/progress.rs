//! What servers report of calls under way, as the client of the gateway hears of it.

use serde_json::{Value, json};

use crate::support::{Gateway, dedent, printed, script};

const TOKEN: &str = "run-1";

/// Runs a program whose client requests progress; returns its output and the progress reports.
fn run(gateway: &mut Gateway, code: &str) -> (String, Vec<Value>) {
    let arguments = json!({ "code": dedent(code) });
    let call = gateway.session.start_call_with_progress("execute_program", arguments, TOKEN);
    let answer = gateway.session.finish_call(call);
    (printed(&answer), gateway.session.progress(TOKEN))
}

fn assert_grows(reports: &[Value]) {
    let numbers: Vec<f64> = reports.iter().map(|it| it["progress"].as_f64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
}

#[test]
fn a_servers_progress_becomes_ours() {
    let mut gateway = Gateway::new();
    let code = "print(await mcp__fixture__countdown(steps=3, ms=300))";
    let (printed, reports) = run(&mut gateway, code);
    assert_eq!(printed, "liftoff\n");
    assert_grows(&reports);
    let messages: Vec<&str> = reports.iter().filter_map(|it| it["message"].as_str()).collect();
    assert_eq!(messages.first(), Some(&"1 tool call made, last: mcp__fixture__countdown"));
    for step in ["step 1", "step 2", "step 3"] {
        let message = format!("mcp__fixture__countdown: {step}");
        assert!(messages.contains(&message.as_str()), "{messages:?}");
    }
}

#[test]
fn nobody_is_asked_to_report_what_nobody_hears() {
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
    gateway.prints("await mcp__fixture__countdown(steps=1, ms=1)");
    assert_eq!(log.wait_for_call("countdown")["params"].get("_meta"), None);
    let (_, reports) = run(&mut gateway, "await mcp__fixture__countdown(steps=1, ms=1)");
    assert!(!reports.is_empty());
    assert!(log.text().contains("progressToken"), "{}", log.text());
}

#[test]
fn a_flood_of_reports_becomes_a_trickle_and_buys_no_time() {
    let report = json!({
        "jsonrpc": "2.0", "method": "notifications/progress",
        "params": { "progressToken": "$token", "progress": 1, "message": "still busy" },
    });
    let mut server = script(
        "busy",
        &json!({
            "tools": [{ "name": "work", "inputSchema": { "type": "object" } }],
            "on": { "tools/call work": [{ "flood": { "message": report, "times": 100_000_000_u64 } }] },
        }),
    );
    server["call_timeout_seconds"] = json!(1);
    let mut gateway = Gateway::with_config(&json!({ "servers": [server] }));
    let code = "
        import time
        start = time.monotonic()
        try:
            await mcp__busy__work()
        except ToolError as error:
            print(error)
        # At most ten a second, and as many again for a machine that is busy.
        print('seconds', int(time.monotonic() - start))
    ";
    let (printed, reports) = run(&mut gateway, code);
    let (error, seconds) = printed.split_once("\nseconds ").unwrap();
    assert_eq!(error, "'mcp__busy__work' failed: no answer within 1s");
    let seconds: usize = seconds.trim().parse().unwrap();
    assert_grows(&reports);
    assert!(
        !reports.is_empty() && reports.len() <= 10 * (seconds + 2),
        "{} in {seconds}",
        reports.len()
    );
}

#[test]
fn reports_about_other_calls_are_not_believed() {
    let report = |token: Value| {
        json!({ "say": {
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": token, "progress": 1, "message": "not yours" },
        }})
    };
    let done = json!({ "answer": { "content": [{ "type": "text", "text": "done" }] } });
    let server = script(
        "liar",
        &json!({
            "tools": [{ "name": "work", "inputSchema": { "type": "object" } }],
            "on": { "tools/call work": [
                report(json!(1)), report(json!(999)), report(json!("x")), report(json!(null)), done,
            ]},
        }),
    );
    let mut gateway = Gateway::with_config(&json!({ "servers": [server] }));
    let (printed, reports) = run(&mut gateway, "print(await mcp__liar__work())");
    assert_eq!(printed, "done\n");
    assert!(reports.iter().all(|it| it["message"] != "mcp__liar__work: not yours"), "{reports:?}");
}
