//! What is remembered of runs, and how it is shown and run again.

use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::process::{is_alive, wait_until};
use testkit::rpc::Client;

use crate::support::{CommandResult, Gateway, Home, TIMEOUT, finish, fixture, printed};

const SECRET: &str = "sk-very-secret-1";

/// A gateway that records like this, with a secret in the environment of its server.
fn recording(records: &str) -> Gateway {
    Gateway::in_home(home(records, json!({})))
}

fn home(records: &str, more: Value) -> Home {
    let mut server = fixture("fixture", &[]);
    server["env"] = json!({ "API_KEY": SECRET });
    let mut config = json!({ "servers": [server], "records": records });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Home::with_config(&config)
}

/// Runs a command on the recorded runs.
fn onecall(home: &Home, arguments: &[&str]) -> CommandResult {
    finish(home.onecall_with_config(arguments))
}

fn parsed(ended: &CommandResult) -> Value {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).expect("JSON on stdout")
}

/// The runs, oldest first, once there are so many.
fn recorded(home: &Home, count: usize) -> Vec<Value> {
    let mut runs = Vec::new();
    let there = wait_until(TIMEOUT, || {
        let listed = parsed(&onecall(home, &["runs", "--json"]));
        runs = listed.as_array().expect("a list of runs").clone();
        runs.len() >= count
    });
    assert!(there && runs.len() == count, "{count} runs were to be recorded: {runs:#?}");
    runs.reverse();
    runs
}

fn id(run: &Value) -> &str {
    run["id"].as_str().expect("an id")
}

fn show_run(home: &Home, run: &Value) -> Value {
    parsed(&onecall(home, &["runs", "show", id(run), "--json"]))
}

/// The only run of a home, with everything.
fn only(home: &Home) -> Value {
    show_run(home, &recorded(home, 1)[0])
}

/// Puts something fixed in the place of what is different each time.
fn masked(value: &Value) -> Value {
    let is_volatile = |key: &str| key.ends_with("_seconds") || key == "started" || key == "id";
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| match value {
                Value::Null => (key.clone(), Value::Null),
                _ if is_volatile(key) => (key.clone(), json!("…")),
                _ => (key.clone(), masked(value)),
            })
            .collect(),
        Value::Array(items) => items.iter().map(masked).collect(),
        value => value.clone(),
    }
}

/// Whether a text is anywhere in what is stored.
fn is_stored(home: &Home, text: &str) -> bool {
    let files = home.state_files();
    assert!(!files.is_empty(), "nothing is stored at all");
    let has_it = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    files.into_iter().any(|file| has_it(&std::fs::read(file).unwrap()))
}

const PROGRAM: &str = "
    import asyncio
    key = 'sk-very-secret-1'
    print(await mcp__fixture__echo(value='argument-of-mine'))
    await asyncio.gather(mcp__fixture__add(1, b=2), mcp__fixture__add(a=3, b=4))
    try:
        await mcp__fixture__fail(message='sk-very-secret-1 is wrong')
    except ToolError:
        print('it failed')
";

#[test]
fn a_record_says_which_rule_denied_a_call() {
    let block = json!({ "tools": { "block": ["mcp__fixture__add"] } });
    let mut gateway = Gateway::in_home(home("metadata", block));
    // By a name that the check before the run does not see.
    let python = "
        for name in ['mcp__fixture__add', 'mcp__fixture__echo']:
            try:
                print(await globals()[name](value='x'))
            except ToolError as error:
                print(error)
    ";
    let denied = "'mcp__fixture__add' is not available in execute_program\nx\n";
    assert_eq!(gateway.prints(python), denied);
    let typescript = "
        for (const name of ['mcp__fixture__add', 'mcp__fixture__echo']) {
          await globalThis[name]({ value: 'x' }).then(console.log, (error) => console.log(error.message));
        }
    ";
    assert_eq!(printed(&gateway.execute_typescript(typescript)), denied);
    let expected =
        [(json!("mcp__fixture__add"), json!("tools")), (json!("mcp__fixture__echo"), Value::Null)];
    for run in recorded(&gateway.home, 2) {
        let run = show_run(&gateway.home, &run);
        let calls = run["tool_calls"].as_array().unwrap().iter();
        let rules: Vec<_> =
            calls.map(|call| (call["name"].clone(), call["denied_by"].clone())).collect();
        assert_eq!(rules, expected);
    }
}

#[test]
fn a_run_is_recorded_without_its_data() {
    let mut gateway = recording("metadata");
    gateway.prints(PROGRAM);
    let run = only(&gateway.home);
    let mut masked = masked(&run);
    masked["tokens"] = json!("…");
    for call in masked["tool_calls"].as_array_mut().unwrap() {
        call["tokens"] = json!("…");
    }
    assert_snapshot!(format!("{masked:#}"));
    for kept_out in ["argument-of-mine", SECRET] {
        // The program names the argument; no record of the call does.
        let stored = run["tool_calls"].to_string() + &run["output"].to_string();
        assert!(!stored.contains(kept_out), "{stored}");
    }
    assert!(!is_stored(&gateway.home, SECRET));
}

#[test]
fn a_full_record_has_everything_but_secrets() {
    let mut gateway = recording("full");
    gateway.prints(PROGRAM);
    let run = only(&gateway.home);
    assert_eq!(run["output"], "argument-of-mine\nit failed\n");
    let calls = run["tool_calls"].as_array().unwrap();
    assert_eq!(calls[0]["arguments"], r#"{"value":"argument-of-mine"}"#);
    assert_eq!(calls[0]["result"], r#""argument-of-mine""#);
    assert_eq!(calls[3]["arguments"], r#"{"message":"[redacted] is wrong"}"#);
    assert_eq!(calls[3]["error"], "'mcp__fixture__fail' failed: [redacted] is wrong");
    assert!(!is_stored(&gateway.home, SECRET));
}

#[test]
fn nothing_is_recorded_where_nothing_is_wanted() {
    let mut gateway = recording("off");
    gateway.prints("print(await mcp__fixture__add(a=1, b=2))");
    gateway.session.client().close_stdin();
    assert!(gateway.session.client().wait(TIMEOUT).is_some());
    assert!(!is_stored(&gateway.home, "print(await"));
    let listed = onecall(&gateway.home, &["runs"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), "No runs are recorded\n"));
}

#[test]
fn runs_that_fail_are_recorded() {
    let mut gateway =
        Gateway::in_home(home("metadata", json!({ "execution": { "timeout_seconds": 10 } })));
    gateway.fails("raise ValueError('no')");
    gateway.fails("this is no program");
    gateway.fails("while True: pass");
    wait_until(TIMEOUT, || recorded(&gateway.home, 3).len() == 3);
    let cancelled = gateway.start("while True: pass");
    let worker = gateway.busy_worker();
    gateway.session.cancel(cancelled);
    assert!(wait_until(TIMEOUT, || !is_alive(worker)), "its process ends");
    let died = gateway.start("while True: pass");
    let worker = gateway.busy_worker();
    Command::new("kill").args(["-KILL", &worker.to_string()]).status().unwrap();
    gateway.session.finish_call(died);
    let runs = recorded(&gateway.home, 5);
    let mut outcomes: Vec<_> = runs
        .iter()
        .map(|run| (run["outcome"].as_str().unwrap(), run["error"]["type"].as_str().unwrap()))
        .collect();
    outcomes.sort_unstable();
    assert_eq!(
        outcomes,
        [
            ("cancelled", "Cancelled"),
            ("raised", "SyntaxError"),
            ("raised", "ValueError"),
            ("timed_out", "TimeoutError"),
            ("worker_died", "WorkerDied"),
        ]
    );
    let failed = parsed(&onecall(&gateway.home, &["runs", "--failed", "--json"]));
    assert_eq!(failed.as_array().unwrap().len(), 5);
}

#[test]
fn a_program_that_ends_with_its_gateway_is_recorded() {
    let mut gateway = recording("metadata");
    gateway.prints("await mcp__fixture__add(a=1, b=2)");
    recorded(&gateway.home, 1);
    let _ = gateway.start("await mcp__fixture__add(a=1, b=2)\nawait mcp__fixture__hang()");
    let zygote = gateway.zygote().pid;
    assert!(wait_until(TIMEOUT, || !testkit::process::descendants(zygote).is_empty()));
    gateway.session.client().close_stdin();
    assert!(gateway.session.client().wait(TIMEOUT).is_some());
    let outcomes: Vec<_> =
        recorded(&gateway.home, 2).iter().map(|run| run["outcome"].clone()).collect();
    assert_eq!(outcomes, ["ok", "cancelled"]);
}

#[test]
fn plans_and_runs_of_other_hosts_are_recorded() {
    let mut gateway = recording("metadata");
    let inner = json!({ "__tool__": "mcp__fixture__add", "args": { "a": 1, "b": 2 } });
    let plan = json!({ "target_tool": "mcp__fixture__add", "tool_args": { "a": inner, "b": 3 } });
    assert!(!gateway.session.call_tool("proxy", plan).is_error);
    let run = only(&gateway.home);
    let names: Vec<_> =
        run["tool_calls"].as_array().unwrap().iter().map(|call| &call["name"]).collect();
    assert_eq!((&run["kind"], &run["outcome"]), (&json!("plan"), &json!("ok")));
    assert_eq!(names, ["mcp__fixture__add"; 2]);

    let home = home("full", json!({}));
    let mut host = Client::spawn(home.onecall_with_config(&["exec"]));
    assert!(host.receive_line().unwrap().contains("ready"));
    host.send_line(r#"{"type":"execute","id":"1","code":"print(tools.now())"}"#);
    let call: Value = serde_json::from_str(&host.receive_line().unwrap()).unwrap();
    let answer = json!({
        "type": "tool_result", "tool_call_id": call["tool_call_id"], "observation": 5,
        "has_error": false,
    });
    host.send_line(&answer.to_string());
    while !host.receive_line().unwrap().contains("outcome") {}
    let run = only(&home);
    assert_eq!((&run["kind"], &run["outcome"]), (&json!("exec"), &json!("ok")));
    assert_eq!(run["tool_calls"][0]["name"], "now");
    let ended = onecall(&home, &["runs", "replay", id(&run)]);
    assert_eq!((ended.code, &*ended.stdout), (Some(0), "5\n"), "{}", ended.stderr);
}

#[test]
fn runs_are_listed_newest_first_as_wanted() {
    let mut gateway = recording("metadata");
    gateway.prints("await mcp__fixture__add(a=1, b=2)");
    gateway.fails("await mcp__fixture__add(a=1, b=2)\nraise KeyError('a very long story '* 20)");
    gateway.prints("await mcp__fixture__echo(value=1)");
    let runs = recorded(&gateway.home, 3);
    let listed = |arguments: &[&str]| {
        let mut all = vec!["runs", "--json"];
        all.extend(arguments);
        let listed = parsed(&onecall(&gateway.home, &all));
        let place = |run: &Value| runs.iter().position(|known| id(known) == id(run)).unwrap();
        listed.as_array().unwrap().iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), [2, 1, 0]);
    assert_eq!(listed(&["--limit", "1"]), [2]);
    assert_eq!(listed(&["--tool", "add"]), [1, 0]);
    assert_eq!(listed(&["--tool", "add", "--failed"]), [1]);
    assert_eq!(listed(&["--since", "1h"]), [2, 1, 0]);
    assert_eq!(listed(&["--since", "0s"]), [0; 0]);
    let is_client = |run: &Value| run["client"].as_str().is_some_and(|it| it.starts_with("test"));
    assert!(runs.iter().all(is_client), "{runs:#?}");
    for columns in [60, 200] {
        for arguments in [&["runs"][..], &["runs", "show", id(&runs[1])]] {
            let mut command = gateway.home.onecall_with_config(arguments);
            let text = finish({
                command.env("COLUMNS", columns.to_string());
                command
            });
            let widest = text.stdout.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns), "{}", text.stdout);
            assert!(text.stdout.contains("KeyError"), "{}", text.stdout);
        }
    }
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    let mut gateway = recording("metadata");
    gateway.prints("print(1)");
    gateway.prints("print(2)");
    let runs = recorded(&gateway.home, 2);
    let (first, second) = (id(&runs[0]), id(&runs[1]));
    let differ = first.bytes().zip(second.bytes()).position(|(a, b)| a != b).unwrap();
    let beginning = &first[..=differ];
    let said = |arguments: &[&str]| {
        let ended = onecall(&gateway.home, arguments);
        (ended.code, ended.stderr)
    };
    assert_eq!(show_run(&gateway.home, &json!({ "id": beginning }))["id"], first);
    let (code, text) = said(&["runs", "show", &first[..differ]]);
    let expected = format!(
        "error: several runs begin with '{}': {second}, {first}; write more of it\n",
        &first[..differ]
    );
    assert_eq!((code, text), (Some(2), expected));
    let unknown = "error: no run has the id 'zzz'; see `onecall runs`\n".to_owned();
    assert_eq!(said(&["runs", "show", "zzz"]), (Some(2), unknown));
    let (code, text) = said(&["runs", "replay", first]);
    assert_eq!(code, Some(2));
    assert!(text.contains("was recorded without arguments and results"), "{text}");
}

/// Removes all servers from the configuration of a home.
fn without_servers(home: &Home) {
    home.write("config.json", json!({ "records": "full" }).to_string());
}

#[test]
fn a_full_record_runs_again_without_a_server() {
    let mut gateway = recording("full");
    let printed = gateway.prints(
        "
        import asyncio
        counts = [await mcp__fixture__counter() for _ in range(3)]
        sums = await asyncio.gather(*(mcp__fixture__add(i, i) for i in range(5)))
        print(counts, sums, tools.add(20, 22), await mcp__fixture__nothing())
        try:
            await mcp__fixture__fail(message='no')
        except ToolError as error:
            print(error)
        ",
    );
    let run = recorded(&gateway.home, 1).remove(0);
    without_servers(&gateway.home);
    let ended = onecall(&gateway.home, &["runs", "replay", id(&run)]);
    let same = format!("onecall: the same output as in run {}\n", id(&run));
    assert_eq!(ended, CommandResult { code: Some(0), stdout: printed, stderr: same });
    assert_eq!(recorded(&gateway.home, 1).len(), 1);
}

#[test]
fn typescript_runs_again_too() {
    let mut gateway = recording("full");
    let answer = gateway.execute_typescript(
        "const sum: number = await mcp__fixture__add({ b: 2, a: 1 }); console.log(sum)",
    );
    assert!(!answer.is_error, "{}", answer.text);
    let run = recorded(&gateway.home, 1).remove(0);
    assert_eq!(run["engine"], "typescript");
    without_servers(&gateway.home);
    let ended = onecall(&gateway.home, &["runs", "replay", id(&run)]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "3\n"), "{}", ended.stderr);
}

#[test]
fn a_replay_tells_what_is_different() {
    let mut gateway = recording("full");
    gateway.prints(
        "
        print('always')
        key = 'sk-very-secret-1'
        try:
            print(await mcp__fixture__echo(value=len(key)))
        except ToolError as error:
            print(error)
        ",
    );
    let run = recorded(&gateway.home, 1).remove(0);
    without_servers(&gateway.home);
    let ended = onecall(&gateway.home, &["runs", "replay", id(&run)]);
    assert_eq!(ended.code, Some(1));
    let output = [ended.stdout, ended.stderr].concat().replace(id(&run), "ID");
    assert_snapshot!(output);
}

#[test]
fn the_arguments_of_a_program_are_recorded_and_replayed() {
    let home = home("full", json!({}));
    let program = home.write("report.py", "import sys\nprint(sys.argv[1:])\n");
    let arguments =
        ["run", &program.display().to_string(), "EU", "two words", &format!("key={SECRET}")];
    assert_eq!(finish(home.onecall_with_config(&arguments)).code, Some(0));
    let run = recorded(&home, 1).remove(0);
    let argv = &show_run(&home, &run)["argv"];
    assert_eq!(argv[0].as_str().map(|name| name.ends_with("report.py")), Some(true), "{argv}");
    assert_eq!(argv.as_array().unwrap()[1..], ["EU", "two words", "key=[redacted]"]);
    let text = onecall(&home, &["runs", "show", id(&run)]).stdout;
    assert!(text.contains("  arguments EU 'two words' 'key=[redacted]'\n"), "{text}");
    let ended = onecall(&home, &["runs", "replay", id(&run)]);
    assert_eq!(ended.stdout, "['EU', 'two words', 'key=[redacted]']\n");
    assert!(ended.stderr.contains("the same output as in run"), "{}", ended.stderr);
    assert_eq!(ended.code, Some(0));
}

#[test]
fn a_program_of_an_agent_has_no_arguments() {
    let mut gateway = recording("full");
    gateway.prints("import sys\nprint(sys.argv)");
    let run = recorded(&gateway.home, 1).remove(0);
    assert_eq!(show_run(&gateway.home, &run)["argv"], json!([]));
    let text = onecall(&gateway.home, &["runs", "show", id(&run)]).stdout;
    assert!(!text.contains("  arguments "), "{text}");
}
