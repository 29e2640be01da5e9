//! The log on stderr, as text for people and as JSON for log collectors.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::mcp::Session;
use testkit::process::wait_until;
use testkit::remote::HttpFixture;

use crate::support::http_gateway::HttpGateway;
use crate::support::{CommandResult, Home, TIMEOUT, finish, fixture};

/// All that a gateway says while it runs these programs and until it has ended.
fn stderr_of(home: &Home, arguments: &[&str], programs: &[&str]) -> String {
    let mut session = Session::open(home.onecall_with_config(&[&["serve"], arguments].concat()));
    for code in programs {
        let _ = session.call_tool("execute_program", json!({ "code": code }));
    }
    session.client().close_stdin();
    assert!(session.client().wait(TIMEOUT).is_some_and(|status| status.success()));
    // The last of it may still be on its way to us.
    let mut stderr = session.client().stderr();
    wait_until(TIMEOUT, || {
        let before = std::mem::replace(&mut stderr, session.client().stderr());
        before == stderr
    });
    stderr
}

/// Lines of JSON, each an object.
fn objects(lines: &str) -> Vec<BTreeMap<String, Value>> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn home() -> Home {
    Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }))
}

#[test]
fn a_run_is_one_line() {
    let programs = [
        "print(await mcp__fixture__add(a=1, b=2))",
        "await mcp__fixture__add(a=1, b=2)\nawait mcp__fixture__fail(message='no')",
        "not Python",
    ];
    let stderr = stderr_of(&home(), &["--log", "info", "--log-format", "json"], &programs);
    let mut runs = objects(&stderr);
    runs.retain(|line| line["message"] == "a program ended");
    let shown: Vec<Value> = runs
        .into_iter()
        .map(|mut run| {
            assert_eq!(run["level"], "INFO");
            assert!(run["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')));
            assert!(run["duration_ms"].is_u64());
            assert_eq!(run["run"].as_str().map(str::len), Some(14));
            for varying in ["timestamp", "level", "message", "duration_ms", "run"] {
                run.remove(varying);
            }
            json!(run)
        })
        .collect();
    let line = |outcome: &str, calls: u64, output_bytes: u64| {
        json!({
            "client": 1, "engine": "python", "outcome": outcome, "calls": calls,
            "output_bytes": output_bytes,
        })
    };
    assert_eq!(shown[..2], [line("success", 1, 2), line("error", 2, 0)]);
    assert_eq!(shown.len(), 3);
}

#[test]
fn a_run_that_nobody_wants_any_more_has_its_line_too() {
    let home = home();
    let mut session = Session::open(home.onecall_with_config(&["serve", "--log", "info"]));
    let arguments = json!({ "code": "print(1)\nawait mcp__fixture__hang()" });
    let call = session.start_call_with_progress("execute_program", arguments, "t");
    // The first call is under way.
    session.client().wait_notification("notifications/progress");
    session.cancel(call);
    let cancelled = |session: &mut Session| {
        session.client().stderr().lines().any(|line| {
            line.contains("a program ended")
                && line.contains(r#"outcome="cancelled""#)
                && line.contains("calls=1")
        })
    };
    assert!(wait_until(TIMEOUT, || cancelled(&mut session)), "{}", session.client().stderr());
}

#[test]
fn by_default_nothing_is_said_to_one_client_and_a_line_where_there_are_many() {
    assert_eq!(stderr_of(&home(), &[], &["print(1)"]), "");
    let http_gateway = HttpGateway::new();
    http_gateway.client().run(1, "print(1)");
    let ended =
        || http_gateway.stderr().lines().filter(|it| it.contains("a program ended")).count();
    assert!(wait_until(TIMEOUT, || ended() == 1), "{}", http_gateway.stderr());
    assert_eq!(http_gateway.stderr().lines().count(), 2, "{}", http_gateway.stderr());
    assert!(!http_gateway.stderr().contains('\u{1b}'), "{}", http_gateway.stderr());
}

#[test]
fn a_program_on_the_terminal_is_not_logged_unless_that_is_wanted() {
    let home = home();
    let CommandResult { stderr, .. } = home.run("print(1)");
    assert!(stderr.starts_with("onecall: done in "), "{stderr}");
    let program = home.text_path("program.py");
    let CommandResult { stderr, .. } =
        finish(home.onecall_with_config(&["run", &program, "--log", "info"]));
    assert!(stderr.contains(" INFO a program ended run="), "{stderr}");
}

#[test]
fn with_json_every_line_is_an_object() {
    let home = home();
    let mut command =
        home.onecall_with_config(&["serve", "--http", "127.0.0.1:0", "--log-format", "json"]);
    let stderr = || std::fs::read_to_string(home.path("stderr")).unwrap_or_default();
    command.stderr(std::fs::File::create(home.path("stderr")).expect("a file"));
    let mut gateway = command.spawn().expect("it starts");
    let listens = wait_until(TIMEOUT, || stderr().ends_with('\n'));
    gateway.kill().expect("it is ours");
    gateway.wait().expect("it is ours");
    assert!(listens);
    let lines = objects(&stderr());
    let message = lines[0]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("listening on http://127.0.0.1:"), "{message}");

    let ended = finish(home.onecall(&["run", "--log-format", "json", "nowhere.py"]));
    let lines = objects(&ended.stderr);
    assert_eq!((ended.code, lines.len()), (Some(2), 1), "{}", ended.stderr);
    assert_eq!(lines[0]["level"], "ERROR");
    let message = lines[0]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("cannot read the program 'nowhere.py'"), "{message}");
}

#[test]
fn colours_are_for_terminals() {
    let home = home();
    let mut command =
        home.onecall_with_config(&["run", "--log", "debug", &home.text_path("program.py")]);
    home.write("program.py", "print(1)");
    command.env_remove("NO_COLOR");
    let ended = finish(command);
    assert!(ended.stderr.contains("DEBUG") || ended.stderr.contains("INFO"), "{}", ended.stderr);
    assert!(!ended.stderr.contains('\u{1b}'), "{}", ended.stderr);
}

#[test]
fn however_much_is_logged_no_secret_is() {
    const SECRET: &str = "sesame-4711-open";
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
    });
    home.write("config.json", config.to_string());
    let program = format!(
        "# {SECRET}\n\
         class Sesame(Exception):\n    pass\n\
         key = await mcp__fixture__env(name='KEY')\n\
         assert key == '{SECRET}'\n\
         print(await mcp__remote__echo(value=key))\n\
         try:\n    await mcp__fixture__fail(message=key)\nexcept ToolError:\n    pass\n\
         raise Sesame(key)"
    );
    for format in ["human", "json"] {
        let arguments = ["--log", "trace", "--log-format", format];
        let stderr = stderr_of(&home, &arguments, &[&program]);
        assert!(stderr.contains("a program ended") && stderr.contains("error"), "{stderr}");
        assert!(!stderr.to_lowercase().contains("sesame"), "{stderr}");
    }
}

#[test]
fn a_format_that_does_not_exist_is_refused() {
    let ended = finish(home().onecall(&["check", "--log-format", "xml"]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("[possible values: human, json]"), "{}", ended.stderr);
}
