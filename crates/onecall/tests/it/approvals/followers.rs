//! Requests that follow a run: its progress and the questions of its servers reach those that follow
//! it at the moment, and it is cancelled when the last of them leaves.

use serde_json::{Value, json};
use testkit::mcp::Session;

use super::{Agent, Desk, waiting_run};
use crate::support::http_gateway::{Client, HttpGateway, text};
use crate::support::raw_http::HttpResponse;
use crate::support::{ReceivedMessages, dedent, script};

/// How often the tool `tick` reports progress, and how long it waits in between.
const TICKS: usize = 200;
const TICK_MS: u64 = 100;

/// A server whose tools ask its client. `work` asks, reports progress and asks again; `ask` asks once;
/// `tick` reports progress for long.
fn working(log: &str) -> Value {
    let ask = |id: &str| {
        let params =
            json!({ "message": id, "requestedSchema": { "type": "object", "properties": {} } });
        json!({ "say": { "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params } })
    };
    let report = |message: &str| {
        let params =
            json!({ "progressToken": "$token", "progress": 1, "total": 4, "message": message });
        json!({ "say": { "jsonrpc": "2.0", "method": "notifications/progress", "params": params } })
    };
    let answer = json!({ "answer": { "content": [{ "type": "text", "text": "$answer_text" }] } });
    let ticks = (0..TICKS).flat_map(|_| [report("tick"), json!({ "sleep": { "ms": TICK_MS } })]);
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": name != "publish" } });
    let work = json!([
        ask("first"),
        { "await": "first" },
        report("half way"),
        ask("second"),
        { "await": "second" },
        answer,
    ]);
    let mut server = script(
        "work",
        &json!({
            "tools": [tool("work"), tool("publish"), tool("ask"), tool("tick")],
            "on": {
                "tools/call work": work,
                "tools/call publish": work,
                "tools/call ask": [ask("only"), { "await": "only" }, answer],
                "tools/call tick": ticks.collect::<Vec<_>>(),
            },
        }),
    );
    server["args"].as_array_mut().expect("arguments").extend([json!("--log"), json!(log)]);
    server
}

/// A user whose servers ask and report; a client is not asked about approvals.
fn working_desk(approvals: &Value, more: &Value) -> (Desk, ReceivedMessages) {
    let mut settings = json!({
        "ask": ["mcp__files__delete", "mcp__work__publish"],
        "ways": ["cli"],
        "wait_seconds": 0,
    });
    super::extend(&mut settings, approvals);
    let desk = Desk::with_config(&settings, more);
    let config = std::fs::read_to_string(desk.home.path("config.json")).expect("a configuration");
    let mut config: Value = serde_json::from_str(&config).expect("JSON");
    let server = working(&desk.home.text_path("worked"));
    config["servers"].as_array_mut().expect("servers").push(server);
    desk.home.write("config.json", config.to_string());
    let worked = ReceivedMessages::in_file(desk.home.path("worked"));
    (desk, worked)
}

impl Desk {
    /// An agent that is asked by servers, and answers when the test says so.
    fn agent_that_is_asked(&self) -> Agent {
        let command = self.home.onecall_with_config(&["serve"]);
        let answers = [("elicitation/create", Value::Null)];
        Agent(Session::open_with_capabilities(command, &json!({ "elicitation": {} }), &answers))
    }
}

fn accept() -> Value {
    json!({ "action": "accept" })
}

impl Agent {
    /// Waits for a report with this message and token.
    fn wait_for_progress(&mut self, token: &str, message: &str) -> Value {
        loop {
            let params =
                self.0.client().wait_notification("notifications/progress")["params"].clone();
            if params["progressToken"] == token && params["message"] == message {
                return params;
            }
        }
    }

    /// Continues a run, answers the two questions of `work`, and returns the answer of the run. The
    /// report between the questions has this message.
    fn continue_and_answer(&mut self, run: &str, message: &str) -> testkit::mcp::ToolAnswer {
        let arguments = json!({ "run": run });
        let call = self.0.start_call_with_progress("continue_program", arguments, "later");
        let first = self.0.client().wait_server_request(1);
        assert_eq!(first["params"]["message"], "The MCP server 'work' asks: first");
        self.0.client().answer(&first, &accept());
        self.wait_for_progress("later", message);
        let second = self.0.client().wait_server_request(2);
        self.0.client().answer(&second, &accept());
        self.0.finish_call(call)
    }
}

const DELETE_AND_WORK: &str = r#"
    await mcp__files__delete(path="/a")
    print((await mcp__work__work())["result"]["action"])
"#;

#[test]
fn progress_and_questions_reach_the_request_that_continues_the_run() {
    let (desk, worked) = working_desk(&json!({}), &json!({}));
    let mut agent = desk.agent_that_is_asked();
    let run = waiting_run(&agent.execute(DELETE_AND_WORK));
    desk.approve(&desk.open_item());
    // No request follows the run now, and the question of its server waits.
    worked.wait_for_call("work");
    let answer = agent.continue_and_answer(&run, "mcp__work__work: half way");
    assert_eq!(answer.text, "[Script executed successfully]\naccept\n");
}

#[test]
fn a_later_follower_reads_how_many_calls_the_run_has_made() {
    let (desk, worked) = working_desk(&json!({}), &json!({}));
    let mut agent = desk.agent_that_is_asked();
    let run = waiting_run(&agent.execute(
        r#"
        await mcp__files__delete(path="/a")
        await mcp__work__ask()
        await mcp__work__ask()
        "#,
    ));
    desk.approve(&desk.open_item());
    worked.wait_for_call("ask");
    let arguments = json!({ "run": run });
    let call = agent.0.start_call_with_progress("continue_program", arguments, "later");
    let first = agent.0.client().wait_server_request(1);
    agent.0.client().answer(&first, &accept());
    agent.wait_for_progress("later", "3 tool calls made, last: mcp__work__ask");
    let second = agent.0.client().wait_server_request(2);
    agent.0.client().answer(&second, &accept());
    assert!(!agent.0.finish_call(call).is_error);
}

#[test]
fn a_question_is_taken_back_from_a_request_that_is_answered_and_asked_again() {
    let (desk, _) = working_desk(&json!({}), &json!({}));
    let mut agent = desk.agent_that_is_asked();
    let call = agent.start(
        r#"
        import asyncio
        asking = asyncio.create_task(mcp__work__ask())
        await mcp__work__work()
        await mcp__files__delete(path="/a")
        print((await asking)["result"]["action"])
        "#,
    );
    let mut unanswered = Value::Null;
    for count in 1..=3 {
        let request = agent.0.client().wait_server_request(count);
        match request["params"]["message"].as_str() {
            Some("The MCP server 'work' asks: only") => unanswered = request["id"].clone(),
            _ => agent.0.client().answer(&request, &accept()),
        }
    }
    let run = waiting_run(&agent.0.finish_call(call));
    let cancelled = agent.0.client().wait_notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], unanswered);
    desk.approve(&desk.open_item());
    let call = agent.0.start_call("continue_program", json!({ "run": run }));
    let again = agent.0.client().wait_server_request(4);
    assert_eq!(again["params"]["message"], "The MCP server 'work' asks: only");
    agent.0.client().answer(&again, &accept());
    let answer = agent.0.finish_call(call);
    assert_eq!(answer.text, "[Script executed successfully]\naccept\n");
}

/// A run that was let go is executed again, before any request follows it.
#[test]
fn a_run_that_is_taken_up_without_a_client_waits_for_one_to_answer() {
    let (desk, worked) = working_desk(&json!({ "keep_seconds": 0 }), &json!({}));
    let mut agent = desk.agent_that_is_asked();
    let run = waiting_run(&agent.execute(DELETE_AND_WORK));
    let is_let_go = || desk.only_run().lease.is_none();
    assert!(testkit::process::wait_until(crate::support::TIMEOUT, is_let_go));
    desk.approve(&desk.open_item());
    worked.wait_for_call("work");
    let answer = agent.continue_and_answer(&run, "mcp__work__work: half way");
    assert_eq!(answer.text, "[Script executed successfully]\naccept\n");
}

/// Exposed tools wait and are continued like programs, and calls pass the cache.
#[test]
fn an_exposed_tool_is_followed_as_well() {
    let more = json!({ "expose_tools": ["mcp__work__publish"], "cache": {} });
    let (desk, worked) = working_desk(&json!({}), &more);
    let mut agent = desk.agent_that_is_asked();
    let run = waiting_run(&agent.0.call_tool("mcp__work__publish", json!({})));
    desk.approve(&desk.open_item());
    worked.wait_for_call("publish");
    let answer = agent.continue_and_answer(&run, "mcp__work__publish: half way");
    assert!(answer.text.contains(r#""action":"accept""#), "{}", answer.text);
}

/// The request that calls an exposed tool gets the reports of the server unchanged.
#[test]
fn the_call_of_an_exposed_tool_gets_the_reports_of_its_server() {
    let more = json!({ "expose_tools": ["mcp__work__publish"], "cache": {} });
    let (desk, _) = working_desk(&json!({ "wait_seconds": 60 }), &more);
    let mut agent = desk.agent_that_is_asked();
    let call = agent.0.start_call_with_progress("mcp__work__publish", json!({}), "call");
    desk.approve(&desk.open_item());
    let first = agent.0.client().wait_server_request(1);
    agent.0.client().answer(&first, &accept());
    let report = agent.wait_for_progress("call", "half way");
    assert_eq!((&report["progress"], &report["total"]), (&json!(1.0), &json!(4.0)));
    let second = agent.0.client().wait_server_request(2);
    agent.0.client().answer(&second, &accept());
    assert!(agent.0.finish_call(call).text.contains("accept"));
}

/// A program that goes on as long as nobody answers its server.
const ASK_WHILE_TICKING: &str = r#"
    import asyncio
    ticks = asyncio.create_task(mcp__work__tick())
    print((await mcp__work__ask())["result"]["action"])
    ticks.cancel()
"#;

#[test]
fn cancelling_one_of_two_requests_cancels_the_run() {
    let (desk, worked) = working_desk(&json!({}), &json!({ "durable": true }));
    let mut agent = desk.agent_that_is_asked();
    let first = agent.start(ASK_WHILE_TICKING);
    let asked = worked.wait_for_call("ask");
    let run = desk.only_run().id;
    let arguments = json!({ "run": run.as_str() });
    let second = agent.0.start_call_with_progress("continue_program", arguments, "second");
    agent.wait_for_progress("second", "mcp__work__tick: tick");
    agent.0.cancel(second);
    worked.wait_for_cancel(&asked);
    let answer = agent.0.finish_call(first);
    assert!(answer.is_error && answer.text.contains("Cancelled: "), "{}", answer.text);
}

/// A gateway over HTTP whose runs are durable, with two clients that follow one run; both have
/// received progress of it.
struct TwoFollowers {
    gateway: HttpGateway,
    worked: ReceivedMessages,
    clients: [Client; 2],
    answers: [HttpResponse; 2],
    _log: tempfile::TempDir,
}

impl TwoFollowers {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("worked");
        let server = working(&log.display().to_string());
        let approvals = json!({ "ask": ["mcp__work__publish"] });
        let settings = json!({
            "servers": [server], "durable": true, "approvals": approvals, "cache": {},
        });
        let gateway = HttpGateway::with_settings(&settings);
        let worked = ReceivedMessages::in_file(log);
        let client = || Client::with_capabilities(gateway.address, &json!({ "elicitation": {} }));
        let clients = [client(), client()];
        let mut first = clients[0].start(1, &dedent(ASK_WHILE_TICKING), "first");
        wait_for_tick(&mut first);
        let run = Desk::of(&gateway).only_run().id;
        let mut second = clients[1].post(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {
                "name": "continue_program",
                "arguments": { "run": run.as_str() },
                "_meta": { "progressToken": "second" },
            },
        }));
        wait_for_tick(&mut second);
        Self { gateway, worked, clients, answers: [first, second], _log: folder }
    }
}

/// The next message for which this holds.
fn wait_for(answer: &mut HttpResponse, holds: impl Fn(&Value) -> bool) -> Value {
    loop {
        let event = answer.next_event().expect("the stream goes on");
        if holds(&event.data) {
            return event.data;
        }
    }
}

fn wait_for_tick(answer: &mut HttpResponse) {
    wait_for(answer, |message| message["params"]["message"] == "mcp__work__tick: tick");
}

fn wait_for_question(answer: &mut HttpResponse) -> Value {
    wait_for(answer, |message| message["method"] == "elicitation/create")
}

#[test]
fn a_run_and_its_question_go_on_with_the_follower_that_stays() {
    let TwoFollowers { gateway: _gateway, worked, clients, answers, _log } = TwoFollowers::new();
    let [first, mut second] = answers;
    worked.wait_for_call("ask");
    // The question is with the first client, which was alone when it came.
    drop(first);
    let question = wait_for_question(&mut second);
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": accept() });
    clients[1].notify(&answer);
    let ended = wait_for(&mut second, |message| message["id"] == 1 && message["method"].is_null());
    assert_eq!(text(&ended), "[Script executed successfully]\naccept\n");
}

#[test]
fn a_run_is_cancelled_when_its_last_follower_leaves() {
    let TwoFollowers { gateway, worked, clients: _clients, answers, _log } = TwoFollowers::new();
    let asked = worked.wait_for_call("ask");
    let run = Desk::of(&gateway).only_run().id;
    drop(answers);
    worked.wait_for_cancel(&asked);
    let text = Desk::of(&gateway).final_text(&run);
    assert!(text.contains("Cancelled: "), "{text}");
}
