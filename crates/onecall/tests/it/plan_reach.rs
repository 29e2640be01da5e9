//! Which hosts a plan can reach through the servers that it defines: only those that the
//! configuration lists, and no service that does not speak MCP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use testkit::remote::HttpFixture;

use crate::support::{CommandResult, Home, finish};

/// The response of a local service, which shows that it was reached.
const INNER: &str = "inner-words";

/// A service that is not an MCP server: it sends one fixed response to every request.
struct FakeService {
    port: u16,
    request_count: Arc<AtomicUsize>,
}

impl FakeService {
    fn start(head: &str, body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let request_count = Arc::new(AtomicUsize::new(0));
        let (count, length) = (Arc::clone(&request_count), body.len());
        let answer = format!(
            "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { port, request_count }
    }

    fn request_count(&self) -> usize {
        self.request_count.load(Ordering::SeqCst)
    }
}

/// The definitions of a plan: without any the gateway executes it, with empty ones an interpreter.
const DEFINITIONS: [Option<&str>; 2] = [None, Some("")];

/// A home whose plans may go to these hosts, with a plan that goes to `server`.
fn plan(hosts: &[&str], server: Value, definitions: Option<&str>) -> (Home, Command) {
    let proxy = json!({ "dynamic_servers": true, "allowed_hosts": hosts });
    let home = Home::with_config(&json!({ "sandbox": "off", "proxy": proxy }));
    let plan = json!({
        "target_tool": "mcp__guest__add", "tool_args": { "a": 1, "b": 2 },
        "server_config": { "guest": server }, "definitions": definitions,
    });
    let plan = home.write("plan.json", plan.to_string()).display().to_string();
    let command = home.onecall_with_config(&["proxy", &plan, "--log", "off"]);
    (home, command)
}

/// Runs a plan that calls a server which `hosts` may allow. The gateway and an interpreter must
/// give equal results.
fn run_plan(hosts: &[&str], server: Value) -> CommandResult {
    let [ended, by_program] = DEFINITIONS.map(|definitions| {
        let (_home, command) = plan(hosts, server.clone(), definitions);
        finish(command)
    });
    assert_eq!(
        (ended.code, &ended.stdout, &ended.stderr),
        (by_program.code, &by_program.stdout, &by_program.stderr)
    );
    ended
}

/// Runs a command with a `/etc/hosts` of its own; `None` if that cannot be had here.
fn with_hosts(home: &Home, hosts: &str, run: &Command) -> Option<CommandResult> {
    let file = home.write("hosts", hosts);
    let script = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(&file);
        command
    };
    let here = unshare("mount --bind \"$0\" /etc/hosts").output();
    let mut command = unshare(script);
    command.arg(run.get_program()).args(run.get_args()).current_dir(home.path("work"));
    command.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    here.is_ok_and(|output| output.status.success()).then(|| finish(command))
}

#[test]
fn a_port_of_this_machine_is_reached_only_if_it_is_listed() {
    let (listed, service) = (HttpFixture::start(&[]), FakeService::start("200 OK", INNER));
    let address = listed.address();
    let hosts = [address];
    let served = run_plan(&hosts, json!({ "url": listed.url("/mcp") }));
    assert_eq!((served.code, served.stdout.trim()), (Some(0), "3"), "{served:?}");
    for host in ["127.0.0.1", "localhost", "127.1.2.3", "::1"] {
        let refused = run_plan(&hosts, json!({ "host": host, "port": service.port }));
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("is not in `allowed_hosts` of `proxy`"), "{refused:?}");
    }
    assert_eq!(service.request_count(), 0);
}

#[test]
fn what_is_not_mcp_is_never_quoted() {
    let error = format!(r#"{{"error": {{"code": 1, "message": "{INNER}"}}, "{INNER}": 1}}"#);
    let text = "Content-Type: text/plain";
    let json = "Content-Type: application/json";
    let elsewhere = format!("Location: http://{INNER}.example/");
    let stream = format!("event: endpoint\ndata: http://{INNER}.example:bad/\n\n");
    let cases = [
        (format!("200 OK\r\n{text}"), INNER, "with text/plain, not with JSON"),
        (format!("500 Oops\r\n{text}"), INNER, "answered 500 Internal Server Error"),
        (format!("403 No\r\n{json}"), &error, "answered 403 Forbidden"),
        (format!("404 No\r\n{json}"), &error, "answered 404 Not Found"),
        (format!("200 OK\r\n{json}"), &error, "answered with something that is not MCP"),
        (format!("200 OK\r\n{json}"), INNER, "answered with something that is not MCP"),
        (format!("302 Found\r\n{elsewhere}"), "", "redirects to another address"),
        ("200 OK\r\nContent-Type: text/event-stream".to_owned(), &stream, "server_config.guest"),
    ];
    for (head, body, expected) in cases {
        let service = FakeService::start(&head, body);
        let hosts = [format!("localhost:{}", service.port)];
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let url = format!("http://127.0.0.1:{}/mcp", service.port);
        for server in [json!({ "url": url }), json!({ "host": "127.0.0.1", "port": service.port })]
        {
            let before = service.request_count();
            let ended = run_plan(&hosts, server);
            assert!(service.request_count() > before, "{head}");
            assert_eq!(ended.code, Some(1), "{head}: {ended:?}");
            let said = ended.stdout + &ended.stderr;
            assert!(said.contains(expected) && !said.contains(INNER), "{head}: {said}");
        }
    }
}

#[test]
fn where_a_server_was_looked_for_is_said() {
    let service = FakeService::start("404 Not Found\r\nContent-Type: text/plain", INNER);
    let host = format!("127.0.0.1:{}", service.port);
    let ended = run_plan(&[&host], json!({ "host": "127.0.0.1", "port": service.port }));
    let problem = format!(
        "- server_config.guest: no MCP server was found. http://{host}/mcp: 'initialize' failed: the \
         server answered 404 Not Found; check 'url'. http://{host}/sse: 'initialize' failed: the \
         server answered 404 Not Found; check 'url'\n"
    );
    assert!(ended.stderr.contains(&problem), "{ended:?}");
}

#[test]
fn an_address_that_nothing_listens_at_is_tried_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let host = format!("127.0.0.1:{port}");
    let ended = run_plan(&[&host], json!({ "host": "127.0.0.1", "port": port }));
    let problem = format!(
        "- server_config.guest: 'initialize' failed: could not reach http://{host}: Connection refused"
    );
    assert!(ended.stderr.contains(&problem), "{ended:?}");
}

#[test]
fn an_event_stream_cannot_send_messages_elsewhere() {
    let other = FakeService::start("200 OK", INNER);
    let stream = format!("event: endpoint\ndata: http://127.0.0.1:{}/messages\n\n", other.port);
    let service = FakeService::start("200 OK\r\nContent-Type: text/event-stream", &stream);
    let host = format!("127.0.0.1:{}", service.port);
    let server = json!({ "url": format!("http://{host}/sse") });
    for server in [server, json!({ "host": "127.0.0.1", "port": service.port })] {
        let ended = run_plan(&[&host], server);
        assert_eq!(ended.code, Some(1), "{ended:?}");
    }
    assert_eq!((other.request_count(), service.request_count() > 0), (0, true));
}

#[test]
fn a_name_that_leads_to_this_machine_is_not_followed() {
    let service = FakeService::start("200 OK", INNER);
    let at_port = format!("rebound.example:{}", service.port);
    let url = json!({ "url": format!("http://{at_port}/mcp") });
    let host_and_port = json!({ "host": "rebound.example", "port": service.port });
    let cases = ["rebound.example", &at_port]
        .into_iter()
        .flat_map(|host| [url.clone(), host_and_port.clone()].map(|server| (host, server)));
    for (host, server) in cases {
        let (home, command) = plan(&[host], server, None);
        let hosts = "127.0.0.1 rebound.example\n";
        let Some(ended) = with_hosts(&home, hosts, &command) else { return };
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let reason = format!(
            "could not reach http://{at_port}: its address is on this \
             machine or in a private network, where `allowed_hosts` of `proxy` has to list it with \
             its port"
        );
        assert!(ended.stderr.contains(&reason), "{ended:?}");
    }
    assert_eq!(service.request_count(), 0);

    // The name reaches the server if its address is allowed, too.
    for flags in [&[][..], &["--face", "legacy"]] {
        let server = HttpFixture::start(flags);
        let port: u16 = server.address().rsplit_once(':').unwrap().1.parse().unwrap();
        let hosts = [format!("rebound.example:{port}"), format!("127.0.0.1:{port}")];
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let server = json!({ "host": "rebound.example", "port": port });
        for definitions in DEFINITIONS {
            let (home, command) = plan(&hosts, server.clone(), definitions);
            let ended = with_hosts(&home, "127.0.0.1 rebound.example\n", &command).unwrap();
            assert_eq!((ended.code, ended.stdout.trim()), (Some(0), "3"), "{ended:?}");
        }
    }
}
