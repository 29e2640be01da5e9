//! Bridged servers that misbehave: the other servers still work.

use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::{PROTOCOL, Session};
use testkit::rpc::Client;

use crate::support::{self, Gateway, Home, fixture};

/// A gateway with a good server and another one.
fn beside(other: &Value) -> Gateway {
    Gateway::with_config(&json!({ "servers": [fixture("good", &[]), other] }))
}

fn assert_good(gateway: &mut Gateway) {
    assert_eq!(gateway.prints("print(await mcp__good__add(1, 2))"), "3\n");
    let listed = gateway.callable_tools();
    assert_eq!(listed.iter().filter(|name| name.starts_with("mcp__good__")).count(), 35);
}

/// A server that never came up has no tools, and its reason is in the log and in the
/// errors of calls.
fn assert_unavailable(gateway: &mut Gateway, reason: &str) {
    assert_good(gateway);
    assert!(gateway.callable_tools().iter().all(|name| !name.starts_with("mcp__bad__")));
    gateway.wait_for_log(&["WARN", "server=bad", reason]);
    let failure = gateway.fails("await mcp__bad__add(1, 2)");
    let expected = "ToolError: 'mcp__bad__add' failed: server 'bad' is not running: ";
    assert!(failure.lines().last().unwrap_or_default().starts_with(expected), "{failure}");
}

#[test]
fn a_server_that_cannot_be_started() {
    let mut gateway = beside(&json!({ "name": "bad", "command": "/no/such/command" }));
    assert_unavailable(&mut gateway, "command '/no/such/command' was not found");
}

#[test]
fn a_server_that_is_no_program() {
    let home = Home::new();
    let file = home.write("notes.txt", "not a program");
    let servers = json!([fixture("good", &[]), { "name": "bad", "command": file }]);
    home.write("config.json", json!({ "servers": servers }).to_string());
    assert_unavailable(&mut Gateway::in_home(home), "may not be executed; check its permissions");
}

#[test]
fn a_server_that_exits_at_once() {
    let flags = ["--exit-on-start", "7", "--stderr", "no licence found"];
    let mut gateway = beside(&fixture("bad", &flags));
    assert_unavailable(
        &mut gateway,
        "has exited (exit status: 7) during the handshake; its stderr ends with: no licence found",
    );
}

#[test]
fn a_server_that_never_answers_the_handshake() {
    let mut bad = fixture("bad", &["--hang-on-init"]);
    bad["connect_timeout_seconds"] = json!(0.5);
    assert_unavailable(&mut beside(&bad), "did not answer within 0.5s");
}

#[test]
fn a_server_that_prints_garbage_between_its_answers() {
    let mut gateway = beside(&fixture("bad", &["--garbage"]));
    assert_good(&mut gateway);
    let code = "print([await mcp__bad__add(n, 1) for n in range(5)])";
    assert_eq!(gateway.prints(code), "[1, 2, 3, 4, 5]\n");
}

#[test]
fn a_server_that_is_no_mcp_server_at_all() {
    let mut gateway = beside(&json!({ "name": "bad", "command": "cat" }));
    assert_unavailable(&mut gateway, "'initialize' failed: ");
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_call() {
    let mut gateway = beside(&fixture("bad", &["--stderr", "out of luck"]));
    let code = "
        import asyncio
        results = await asyncio.gather(
            mcp__bad__hang(), mcp__bad__crash(exit_code=3), mcp__good__add(1, 2),
            return_exceptions=True)
        print(*results, sep='\\n')
    ";
    assert_eq!(
        gateway.prints(code),
        "'mcp__bad__hang' failed: server 'bad' has exited (exit status: 3)\n\
         'mcp__bad__crash' failed: server 'bad' has exited (exit status: 3)\n\
         3\n"
    );
    gateway.wait_for_log(&["WARN", "server=bad", "has exited (exit status: 3)", "out of luck"]);
    assert_good(&mut gateway);
}

#[test]
fn a_call_that_takes_too_long() {
    let mut slow = fixture("bad", &[]);
    slow["call_timeout_seconds"] = json!(2.5);
    let mut gateway = beside(&slow);
    let code = "
        try:
            await mcp__bad__hang()
        except ToolError as error:
            print(error)
        print(await mcp__bad__add(1, 2))
    ";
    assert_eq!(gateway.prints(code), "'mcp__bad__hang' failed: no answer within 2.5s\n3\n");
    assert_good(&mut gateway);
}

/// A home whose only server takes two seconds to start.
fn slow_home() -> Home {
    let servers = [fixture("slow", &["--start-delay-ms", "5000"])];
    Home::with_config(&json!({ "servers": servers }))
}

#[test]
fn a_server_that_is_slow_to_start_is_waited_for() {
    let home = slow_home();
    let mut session = Session::new(Client::spawn(home.onecall_with_config(&["serve"])));
    session.initialize(PROTOCOL);
    let mut gateway = Gateway { session, home };
    let program = gateway.start("print(await mcp__slow__add(1, 2))");
    let unrelated = gateway.start("print('at once')");
    let list = gateway.session.start_call("list_callable_tools", json!({}));
    // A program that needs no tool does not wait, and is answered first.
    assert_eq!(support::printed(&gateway.session.finish_call(unrelated)), "at once\n");
    let none = std::time::Duration::ZERO;
    assert_eq!(gateway.session.finish_call_within(program, none), None);
    assert_eq!(gateway.session.finish_call_within(list, none), None);
    assert_eq!(support::printed(&gateway.session.finish_call(program)), "3\n");
    let names: Vec<String> = serde_json::from_str(&gateway.session.finish_call(list).text).unwrap();
    assert_eq!(names.len(), 35);
}

#[test]
fn a_slow_server_does_not_hold_up_the_tools_of_others() {
    let servers = [fixture("good", &[]), fixture("slow", &["--hang-on-init"])];
    let mut gateway = Gateway::with_config(&json!({ "servers": servers }));
    assert_eq!(gateway.prints("print(await mcp__good__add(1, 2))"), "3\n");
}

#[test]
fn many_tools_on_many_pages() {
    let mut gateway = beside(&fixture("bad", &["--tools", "500", "--page-size", "7"]));
    let listed = gateway.callable_tools();
    assert_eq!(listed.len(), 35 + 35 + 500);
    assert!(listed.is_sorted());
    let code = "
        print(await mcp__bad__tool_00001(invoice_id='a'))
        print(await mcp__bad__tool_00500(sensor_id='b'))
    ";
    assert_eq!(gateway.prints(code), "{'invoice_id': 'a'}\n{'sensor_id': 'b'}\n");
    assert_good(&mut gateway);
}

#[test]
fn only_the_configured_environment_reaches_a_server() {
    let home = Home::new();
    let server = json!({
        "name": "fixture",
        "command": bins::fixture_server(),
        "args": ["--name", "an argument; $HOME"],
        "env": { "API_KEY": "${SECRET}-1", "EMPTY": "" },
    });
    home.write("config.json", json!({ "servers": [server] }).to_string());
    let mut command = home.onecall_with_config(&["serve"]);
    command.env("SECRET", "s3cret").env("LANG", "C.UTF-8").env("AWS_KEY", "not for others");
    let mut gateway = Gateway { session: Session::open(command), home };
    let code = "
        about = await mcp__fixture__args()
        print(about['argv'][1:])
        print(about['environment'])
        print([await mcp__fixture__env(name=name) for name in ('API_KEY', 'EMPTY', 'SECRET')])
    ";
    assert_eq!(
        gateway.prints(code),
        "['--name', 'an argument; $HOME']\n\
         ['API_KEY', 'EMPTY', 'HOME', 'LANG', 'PATH', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME']\n\
         ['s3cret-1', '', None]\n"
    );
}

#[test]
fn a_server_gets_what_it_needs_and_what_it_inherits_by_name() {
    let server = |name: &str, more: Value| {
        let mut server = json!({ "name": name, "command": bins::fixture_server() });
        server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server
    };
    let config = json!({
        "env_inherit": ["FOR_ALL", "IS_NOT_SET"],
        "servers": [
            server("plain", json!({})),
            server("git", json!({
                "env_inherit": ["SSH_AUTH_SOCK", "OVERRIDDEN"],
                "env": { "OVERRIDDEN": "own" },
            })),
        ],
    });
    let home = Home::with_config(&config);
    let mut command = home.onecall_with_config(&["serve"]);
    let variables = [
        "SSL_CERT_FILE",
        "NODE_EXTRA_CA_CERTS",
        "https_proxy",
        "PYENV_ROOT",
        "SSH_AUTH_SOCK",
        "OVERRIDDEN",
        "FOR_ALL",
        "NOT_NAMED",
    ];
    command.envs(variables.map(|name| (name, "the gateway's")));
    let mut gateway = Gateway { session: Session::open(command), home };
    let code = "
        expected = {'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'https_proxy', 'PYENV_ROOT', 'FOR_ALL',
                    'SSH_AUTH_SOCK', 'OVERRIDDEN', 'NOT_NAMED', 'IS_NOT_SET'}
        for args, env in (mcp__plain__args, mcp__plain__env), (mcp__git__args, mcp__git__env):
            print(sorted(expected & set((await args())['environment'])), await env(name='OVERRIDDEN'))
    ";
    assert_eq!(
        gateway.prints(code),
        "['FOR_ALL', 'NODE_EXTRA_CA_CERTS', 'PYENV_ROOT', 'SSL_CERT_FILE', 'https_proxy'] None\n\
         ['FOR_ALL', 'NODE_EXTRA_CA_CERTS', 'OVERRIDDEN', 'PYENV_ROOT', 'SSH_AUTH_SOCK', \
         'SSL_CERT_FILE', 'https_proxy'] own\n"
    );
}

#[test]
fn what_a_server_says_on_stderr_is_logged_under_its_name() {
    let flags = ["--stderr", "hello from \u{1b}[31mthe server", "--stderr", "second line"];
    let servers = [fixture("chatty", &flags)];
    let home = Home::with_config(&json!({ "servers": servers }));
    let session = Session::open(home.onecall_with_config(&["serve", "--log", "info"]));
    let mut gateway = Gateway { session, home };
    gateway.wait_for_log(&["INFO", "hello from", "the server", "server=chatty"]);
    gateway.wait_for_log(&["INFO", "second line", "server=chatty"]);
    let log = gateway.session.client().stderr();
    assert!(!log.contains('\u{1b}'), "{log:?}");
}

#[test]
fn a_server_that_would_start_onecall_itself_is_skipped() {
    let mut gateway =
        beside(&json!({ "name": "bad", "command": bins::onecall(), "args": ["serve"] }));
    gateway.wait_for_log(&["WARN", "bad"]);
    assert_good(&mut gateway);
    assert!(gateway.callable_tools().iter().all(|name| name.starts_with("mcp__good__")));
}

#[test]
fn a_call_has_the_time_of_its_program_and_ends_with_it() {
    let (mut gateway, received) = Gateway::with_message_log(&json!({ "timeout_seconds": 3 }));
    assert_eq!(
        gateway.fails("await mcp__fixture__hang()"),
        "TimeoutError: Execution exceeded 3s limit"
    );
    received.wait_for_cancel(&received.wait_for_call("hang"));

    // One call alone has as much, without a program around it.
    let config = json!({
        "servers": [fixture("alone", &[])],
        "execution": { "timeout_seconds": 3 },
    });
    let home = Home::with_config(&config);
    let alone = support::finish(home.onecall_with_config(&["call", "mcp__alone__hang"]));
    assert_eq!(alone.code, Some(1), "{}", alone.stderr);
    assert_eq!(alone.stderr.lines().next(), Some("'mcp__alone__hang' failed: no answer within 3s"));
}
