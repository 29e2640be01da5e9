//! What a collector gets to see of a run, what servers get to know of a trace, and what a
//! collector cannot do.

use std::fmt::Write as _;

use serde_json::{Value, json};
use testkit::collector::{Collector, CollectorBehaviour, ReceivedSpan};
use testkit::mcp::{CallId, Session};
use testkit::process::wait_until;
use testkit::remote::HttpFixture;

use crate::support::{CommandResult, Gateway, Home, ReceivedMessages, TIMEOUT, finish, fixture};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A name that varies from run to run.
const VARYING: [&str; 1] = ["onecall.run.id"];

/// A home whose programs use the fixture server, and whose spans go to `otlp`.
fn home(otlp: Option<&str>) -> (Home, ReceivedMessages) {
    let home = Home::new();
    let servers = [fixture("fixture", &["--log", &home.text_path("received")])];
    let mut config = json!({ "servers": servers });
    if let Some(otlp) = otlp {
        config["telemetry"] = json!({ "otlp": otlp });
    }
    home.write("config.json", config.to_string());
    let received = ReceivedMessages::in_file(home.path("received"));
    (home, received)
}

/// Every span below those it belongs to, with its attributes.
fn tree(spans: &[ReceivedSpan]) -> String {
    fn draw(spans: &[ReceivedSpan], parent: &str, depth: usize, drawing: &mut String) {
        for span in spans.iter().filter(|span| span.parent == parent) {
            let indent = "  ".repeat(depth);
            let failed = if span.failed { " FAILED" } else { "" };
            let _ = writeln!(drawing, "{indent}{} [{}]{failed}", span.name, span.kind);
            for (name, value) in &span.attributes {
                let value = if VARYING.contains(&&**name) { "…" } else { value };
                let _ = writeln!(drawing, "{indent}    {name}={value}");
            }
            draw(spans, &span.id, depth + 1, drawing);
        }
    }
    let mut drawing = String::new();
    draw(spans, "", 0, &mut drawing);
    drawing
}

fn named<'a>(spans: &'a [ReceivedSpan], name: &str) -> &'a ReceivedSpan {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name} in {spans:#?}"))
}

/// Calls `execute_program` with something beside its arguments.
fn start(session: &mut Session, code: &str, meta: &Value) -> CallId {
    let params = json!({ "name": "execute_program", "arguments": { "code": code }, "_meta": meta });
    CallId(session.client().start("tools/call", params))
}

#[test]
fn a_run_is_a_tree_of_spans() {
    let collector = Collector::start();
    let (home, _) = home(Some(&collector.url()));
    let ended = home.run(
        "
        print(await mcp__fixture__add(a=1, b=2))
        try:
            await mcp__fixture__fail(message='no luck')
        except ToolError:
            pass
        try:
            await mcp__fixture__rpc_error()
        except ToolError:
            pass
        raise ValueError('enough')
        ",
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let spans = collector.spans();
    insta::assert_snapshot!(tree(&spans), @r"
    run [internal] FAILED
        error.type=error
        onecall.calls=3
        onecall.engine=python
        onecall.outcome=error
        onecall.output_bytes=2
        onecall.run.id=…
      start worker [internal]
      execute_tool mcp__fixture__add [internal]
          gen_ai.operation.name=execute_tool
          gen_ai.tool.call.id=1
          gen_ai.tool.name=mcp__fixture__add
          gen_ai.tool.type=function
        tools/call add [client]
            gen_ai.operation.name=execute_tool
            gen_ai.tool.name=add
            jsonrpc.request.id=3
            mcp.method.name=tools/call
            onecall.server=fixture
      execute_tool mcp__fixture__fail [internal] FAILED
          error.type=error
          gen_ai.operation.name=execute_tool
          gen_ai.tool.call.id=2
          gen_ai.tool.name=mcp__fixture__fail
          gen_ai.tool.type=function
        tools/call fail [client]
            gen_ai.operation.name=execute_tool
            gen_ai.tool.name=fail
            jsonrpc.request.id=4
            mcp.method.name=tools/call
            onecall.server=fixture
      execute_tool mcp__fixture__rpc_error [internal] FAILED
          error.type=error
          gen_ai.operation.name=execute_tool
          gen_ai.tool.call.id=3
          gen_ai.tool.name=mcp__fixture__rpc_error
          gen_ai.tool.type=function
        tools/call rpc_error [client] FAILED
            error.type=refused
            gen_ai.operation.name=execute_tool
            gen_ai.tool.name=rpc_error
            jsonrpc.request.id=5
            mcp.method.name=tools/call
            onecall.server=fixture
            rpc.response.status_code=-32001
    ");
    assert!(spans.iter().all(|span| span.events == 0 && span.end >= span.start));
    let paths: Vec<_> = collector.batches().into_iter().map(|batch| batch.path).collect();
    assert_eq!(paths, ["/v1/traces"]);
}

#[test]
fn a_trace_of_the_client_goes_on_to_the_server() {
    let collector = Collector::start();
    let (home, received) = home(Some(&collector.url()));
    let mut session = Session::open(home.onecall_with_config(&["serve"]));
    let meta = json!({ "traceparent": PARENT, "tracestate": "vendor=1,other=2" });
    let call = start(&mut session, "await mcp__fixture__add(1, 2)", &meta);
    assert!(!session.finish_call(call).is_error);
    session.client().close_stdin();
    assert!(session.client().wait(TIMEOUT).is_some_and(|status| status.success()));

    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.trace == TRACE), "{spans:#?}");
    assert!(spans.iter().all(|span| span.state == "vendor=1,other=2"), "{spans:#?}");
    let run = named(&spans, "run");
    assert_eq!((&*run.parent, &*run.kind), ("00f067aa0ba902b7", "server"));
    let request = named(&spans, "tools/call add");
    let meta = received.wait_for_call("add")["params"]["_meta"].clone();
    let parent = format!("00-{TRACE}-{}-01", request.id);
    assert_eq!(meta, json!({ "traceparent": parent, "tracestate": "vendor=1,other=2" }));
}

/// Without a collector the gateway adds no spans, so the trace context is passed on unchanged.
#[test]
fn a_trace_goes_on_without_a_collector_too() {
    let (home, received) = home(None);
    let mut session = Session::open(home.onecall_with_config(&["serve"]));
    let meta = json!({ "traceparent": PARENT, "tracestate": "vendor=1", "progressToken": 7 });
    let call = start(&mut session, "await mcp__fixture__add(1, 2)", &meta);
    assert!(!session.finish_call(call).is_error);
    let mut meta = received.wait_for_call("add")["params"]["_meta"].clone();
    assert!(meta["progressToken"].take().is_u64());
    let expected =
        json!({ "traceparent": PARENT, "tracestate": "vendor=1", "progressToken": null });
    assert_eq!(meta, expected);
}

#[test]
fn what_is_no_trace_is_not_passed_on() {
    let (home, received) = home(None);
    let mut session = Session::open(home.onecall_with_config(&["serve"]));
    let metas = [
        json!({}),
        json!({ "traceparent": "nonsense", "tracestate": "a=1" }),
        json!({ "traceparent": PARENT.to_uppercase() }),
        json!({ "traceparent": 5 }),
        json!({ "tracestate": "a=1" }),
    ];
    for meta in &metas {
        let call = start(&mut session, "await mcp__fixture__add(1, 2)", meta);
        assert!(!session.finish_call(call).is_error, "{meta}");
    }
    let calls = received.messages();
    let calls: Vec<_> = calls.iter().filter(|it| it["method"] == "tools/call").collect();
    assert_eq!(calls.len(), metas.len());
    assert!(calls.iter().all(|call| call["params"].get("_meta").is_none()), "{calls:?}");
}

#[test]
fn servers_over_http_find_the_trace_in_the_headers_too() {
    for face in ["json", "events", "legacy", "stateless"] {
        let home = Home::new();
        let log = home.text_path("received");
        let server = HttpFixture::start(&["--face", face, "--log", &log]);
        let path = if face == "legacy" { "/sse" } else { "/mcp" };
        let config = json!({ "servers": [{ "name": "fixture", "url": server.url(path) }] });
        home.write("config.json", config.to_string());
        let mut session = Session::open(home.onecall_with_config(&["serve"]));
        let meta = json!({ "traceparent": PARENT, "tracestate": "vendor=1" });
        let call = start(&mut session, "await mcp__fixture__add(1, 2)", &meta);
        assert!(!session.finish_call(call).is_error, "{face}");

        let received = ReceivedMessages::in_file(home.path("received"));
        let request = received.wait_for_call("add");
        assert_eq!(request["params"]["_meta"]["traceparent"], PARENT, "{face}");
        let heads = received.messages();
        let with = |name: &str, value: &str| {
            heads.iter().filter(|head| head["headers"][name] == value).count()
        };
        assert_eq!((with("traceparent", PARENT), with("tracestate", "vendor=1")), (1, 1), "{face}");
    }
}

#[test]
fn the_usual_variables_are_followed() {
    let collector = Collector::start();
    let (home, _) = home(None);
    let program = home.write("program.py", "print(1)");
    let mut command = home.onecall_with_config(&["run", &program.display().to_string()]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{}/base", collector.url()))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=open%20sesame,x-other=2")
        .env("OTEL_SERVICE_NAME", "analysts")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,team=data");
    assert_eq!(finish(command).stdout, "1\n");
    let batches = collector.batches();
    let [batch] = batches.as_slice() else { panic!("{batches:?}") };
    assert_eq!(batch.path, "/base/v1/traces");
    let header = |name: &str| batch.headers.get(name).map(String::as_str);
    assert_eq!(header("content-type"), Some("application/x-protobuf"));
    assert_eq!((header("api-key"), header("x-other")), (Some("open sesame"), Some("2")));
    let run = named(&collector.spans(), "run").clone();
    let resource = |name: &str| run.resource.get(name).map(String::as_str);
    assert_eq!(resource("service.name"), Some("analysts"));
    assert_eq!(resource("service.version"), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(resource("deployment.environment"), Some("test"));
    assert_eq!(resource("team"), Some("data"));
}

#[test]
fn spans_are_called_onecall_unless_something_else_is_said() {
    let collector = Collector::start();
    let (home, _) = home(Some(&collector.url()));
    assert_eq!(home.run("print(1)").stdout, "1\n");
    let run = named(&collector.spans(), "run").clone();
    assert_eq!(run.resource.get("service.name").map(String::as_str), Some("onecall"));
}

#[test]
fn the_environment_can_switch_it_off() {
    let collector = Collector::start();
    let (home, _) = home(Some(&collector.url()));
    let program = home.write("program.py", "print(1)");
    for (name, value) in [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
    ] {
        let mut command = home.onecall_with_config(&["run", &program.display().to_string()]);
        command.env(name, value);
        assert_eq!(finish(command).code, Some(0));
        assert_eq!(collector.batches().len(), 0, "{name}={value}");
    }
}

/// Names of the threads of a process.
fn threads(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it is alive").flatten();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    tasks.filter_map(|task| name(task).ok()).map(|name| name.trim().to_owned()).collect()
}

#[test]
fn nothing_is_started_unless_it_is_configured() {
    let collector = Collector::start();
    let exporting = |gateway: &mut Gateway| {
        assert_eq!(gateway.prints("print(1)"), "1\n");
        threads(gateway.pid()).iter().any(|name| name.starts_with("OpenTelemetry"))
    };
    assert!(!exporting(&mut Gateway::new()));
    let telemetry = json!({ "telemetry": { "otlp": collector.url() } });
    assert!(exporting(&mut Gateway::with_config(&telemetry)));
}

#[test]
fn no_collector_harms_a_program() {
    let mut held = Vec::new();
    let mut collector = |behaviour| {
        let collector = Collector::with_behaviour(behaviour);
        let url = collector.url();
        held.push(collector);
        url
    };
    let rows = [
        (Collector::unreachable_url(), "so they are lost"),
        (collector(CollectorBehaviour::Refuse(400)), "it answers 400 Bad Request"),
        (collector(CollectorBehaviour::Refuse(503)), "it answers 503 Service Unavailable"),
        (collector(CollectorBehaviour::AnswerWithoutHttp), "it cannot be reached: "),
        (collector(CollectorBehaviour::NeverAnswer), "no answer within 2s"),
        (collector(CollectorBehaviour::AnswerWithoutProtobuf), ""),
    ];
    for (otlp, complaint) in rows {
        let (home, _) = home(Some(&otlp));
        let CommandResult { code, stdout, stderr } =
            home.run("print(await mcp__fixture__add(1, 2))");
        assert_eq!((code, &*stdout), (Some(0), "3\n"), "{stderr}");
        let complaints: Vec<_> = stderr.lines().filter(|line| line.contains("WARN")).collect();
        if complaint.is_empty() {
            assert_eq!(complaints.len(), 0, "{stderr}");
        } else {
            assert_eq!(complaints.len(), 1, "{stderr}");
            assert!(complaints[0].contains(complaint), "{stderr}");
            assert!(complaints[0].contains(&otlp), "{stderr}");
        }
    }
}

/// A gateway that goes on for long says it once, too.
#[test]
fn a_collector_that_is_gone_is_told_once() {
    let home = Home::with_config(&json!({ "telemetry": { "otlp": Collector::unreachable_url() } }));
    let mut command = home.onecall_with_config(&["serve"]);
    command.env("OTEL_BSP_SCHEDULE_DELAY", "1");
    let mut session = Session::open(command);
    for _ in 0..3 {
        let answer = session.call_tool("execute_program", json!({ "code": "print(1)" }));
        assert_eq!(answer.text, "[Script executed successfully]\n1\n");
    }
    session.client().close_stdin();
    assert!(session.client().wait(TIMEOUT).is_some());
    // What it said may still be on its way to us.
    wait_until(TIMEOUT, || session.client().stderr().contains("so they are lost"));
    let stderr = session.client().stderr();
    assert_eq!(stderr.matches("so they are lost").count(), 1, "{stderr}");
}

#[test]
fn an_address_that_cannot_be_used_stops_nothing() {
    let (home, _) = home(None);
    let program = home.write("program.py", "print(1)");
    let mut command = home.onecall_with_config(&["run", &program.display().to_string()]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318");
    let ended = finish(command);
    assert_eq!((ended.code, &*ended.stdout), (Some(0), "1\n"));
    let complaint = "no spans are exported: OTEL_EXPORTER_OTLP_ENDPOINT is not an http:// or \
                     https:// address";
    assert!(ended.stderr.contains(complaint), "{}", ended.stderr);
}

#[test]
fn no_secret_leaves_in_a_span() {
    const SECRET: &str = "sesame-4711-open";
    let collector = Collector::start();
    let home = Home::new();
    let remote = HttpFixture::start(&[]);
    let config = json!({
        "servers": [
            {
                "name": "fixture",
                "command": testkit::bins::fixture_server(),
                "env": { "KEY": SECRET },
            },
            {
                "name": "remote",
                "url": remote.url("/mcp"),
                "headers": { "Authorization": format!("Bearer {SECRET}") },
            },
        ],
        "telemetry": { "otlp": collector.url().replace("http://", "http://me:sesame-4711-open@") },
    });
    home.write("config.json", config.to_string());
    let ended = home.run(&format!(
        "
        # {SECRET}
        class Sesame(Exception):
            pass
        key = await mcp__fixture__env(name='KEY')
        assert key == '{SECRET}'
        print(await mcp__remote__echo(value=key))
        try:
            await mcp__fixture__fail(message=key)
        except ToolError:
            pass
        try:
            await mcp__fixture__add(a=key, b=key)
        except ToolError:
            pass
        raise Sesame(key)
        "
    ));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let spans = collector.spans();
    assert_eq!(named(&spans, "run").attribute("onecall.calls"), "4");
    for batch in collector.batches() {
        let body = String::from_utf8_lossy(&batch.body).to_lowercase();
        assert!(!body.contains("sesame"), "{body}");
    }
}
