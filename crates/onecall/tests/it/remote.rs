//! Servers over HTTP, as a program and a person meet them.

use serde_json::{Value, json};
use testkit::mcp::Session;
use testkit::remote::HttpFixture;

use crate::support::{self, Gateway, Home, finish};

const TOKEN: &str = "open-sesame-1234";

fn entry(name: &str, fixture: &HttpFixture, path: &str) -> Value {
    json!({
        "name": name,
        "url": fixture.url(path),
        "headers": { "Authorization": format!("Bearer {TOKEN}") },
    })
}

#[test]
fn a_program_uses_servers_of_every_transport() {
    let faces: [(&str, &[&str]); 5] = [
        ("json", &["--face", "json"]),
        ("events", &["--face", "events"]),
        ("sessions", &["--face", "events", "--sessions"]),
        ("legacy", &["--face", "legacy"]),
        ("stateless", &["--face", "stateless"]),
    ];
    let fixtures = faces.map(|(name, flags)| (name, HttpFixture::start(flags)));
    let servers: Vec<Value> =
        fixtures.iter().map(|(name, fixture)| entry(name, fixture, "/sse")).collect();
    let mut gateway = Gateway::with_config(&json!({ "servers": servers }));
    for (name, _) in &fixtures {
        let code = "
            import asyncio
            sums = await asyncio.gather(*(mcp__face__add(n, 1) for n in range(20)))
            print(len(await mcp__face__rows(count=3)), sum(sums), await mcp__face__sleep(ms=20))
            try:
                await mcp__face__fail(message='no luck')
            except ToolError as error:
                print(error)
        ";
        let expected = format!("3 210 slept\n'mcp__{name}__fail' failed: no luck\n");
        assert_eq!(gateway.prints(&code.replace("face", name)), expected);
    }
}

#[test]
fn a_server_that_goes_away_and_comes_back() {
    let fixture = HttpFixture::start(&["--sessions"]);
    let address = fixture.address().to_owned();
    let mut gateway = Gateway::with_config(&json!({ "servers": [entry("far", &fixture, "/mcp")] }));
    assert_eq!(gateway.prints("print(await mcp__far__add(1, 2))"), "3\n");
    drop(fixture);
    let failure = gateway.fails("await mcp__far__add(1, 2)");
    assert!(failure.contains("ToolError: 'mcp__far__add' failed: "), "{failure}");
    let _back = HttpFixture::start_at(&address, &["--sessions"]);
    assert_eq!(gateway.prints("print(await mcp__far__add(1, 2))"), "3\n");
}

#[test]
fn a_call_that_takes_too_long_is_cancelled() {
    let home = Home::new();
    let log = home.text_path("log");
    let fixture = HttpFixture::start(&["--face", "events", "--log", &log]);
    let mut far = entry("far", &fixture, "/mcp");
    far["call_timeout_seconds"] = json!(2.5);
    home.write("config.json", json!({ "servers": [far] }).to_string());
    let mut gateway = Gateway::in_home(home);
    let code = "
        try:
            await mcp__far__hang()
        except ToolError as error:
            print(error)
        print(await mcp__far__add(1, 2))
    ";
    assert_eq!(gateway.prints(code), "'mcp__far__hang' failed: no answer within 2.5s\n3\n");
    let cancelled = || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("/cancelled"));
    assert!(testkit::process::wait_until(support::TIMEOUT, cancelled));
}

#[test]
fn check_shows_how_remote_servers_are_doing() {
    let good = HttpFixture::start(&[]);
    let legacy = HttpFixture::start(&["--face", "legacy"]);
    let closed = HttpFixture::start(&["--misbehave", "status=401", "--misbehave-always"]);
    let servers = [
        entry("good", &good, "/mcp"),
        entry("legacy", &legacy, "/sse"),
        entry("closed", &closed, "/mcp"),
        json!({ "name": "nobody", "url": "http://127.0.0.1:1/mcp", "transport": "http" }),
    ];
    let home = Home::with_config(&json!({ "servers": servers }));
    let ended = finish(home.onecall_with_config(&["check"]));
    assert_eq!(ended.code, Some(1));
    let rows: Vec<Vec<&str>> = ended
        .stdout
        .lines()
        .skip(2)
        .map(|row| row.splitn(4, "  ").map(str::trim).collect())
        .collect();
    let shown: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
    assert!(shown[0].starts_with("good") && shown[0].contains("http"), "{shown:?}");
    assert!(shown[1].starts_with("legacy") && shown[1].contains("sse"), "{shown:?}");
    assert!(
        shown[2].ends_with(
            "failed: 'initialize' failed: the server answered 401 Unauthorized; \
             check the token in 'headers': you are [secret]"
        ),
        "{shown:?}"
    );
    assert!(
        shown[3].ends_with("could not reach http://127.0.0.1:1: Connection refused (os error 111)"),
        "{shown:?}"
    );
}

#[test]
fn secrets_are_in_no_log() {
    let good = HttpFixture::start(&["--sessions"]);
    let closed = HttpFixture::start(&["--misbehave", "status=500", "--misbehave-always"]);
    let mut servers = [entry("good", &good, "/mcp"), entry("closed", &closed, "/mcp")];
    for server in &mut servers {
        let url = format!("{}?key={TOKEN}", server["url"].as_str().unwrap());
        server["url"] = url.into();
    }
    let home = Home::with_config(&json!({ "servers": servers }));
    let session = Session::open(home.onecall_with_config(&[
        "serve",
        "--log",
        "trace,hyper_util=trace,reqwest=trace,rmcp=trace",
    ]));
    let mut gateway = Gateway { session, home };
    assert_eq!(gateway.prints("print(await mcp__good__add(1, 2))"), "3\n");
    gateway.wait_for_log(&["WARN", "server=closed", "500 Internal Server Error"]);
    let log = gateway.session.client().stderr();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "{log}");
    assert!(!log.contains(TOKEN), "{log}");
}

#[test]
fn a_proxy_is_used_for_others_and_never_for_this_machine() {
    let proxy = HttpFixture::start(&[]);
    let near = HttpFixture::start(&["--tools", "1"]);
    let far = json!({ "name": "far", "url": "http://mcp.example.invalid/mcp" });
    let servers = [far, entry("near", &near, "/mcp")];
    let home = Home::with_config(&json!({ "servers": servers }));
    let mut command = home.onecall_with_config(&["serve"]);
    command.env("HTTP_PROXY", proxy.url(""));
    let mut gateway = Gateway { session: Session::open(command), home };
    let code = "print(await mcp__far__add(1, 2), await mcp__near__tool_00001(invoice_id='a'))";
    assert_eq!(gateway.prints(code), "3 {'invoice_id': 'a'}\n");
}
