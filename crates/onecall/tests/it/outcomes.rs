//! Everything about a run, as JSON for those who embed us.

use serde_json::{Value, json};

use crate::support::{CommandResult, Gateway, Home, failed, finish, fixture};

fn home() -> Home {
    Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }))
}

fn run(home: &Home, code: &str, options: &[&str]) -> (Value, CommandResult) {
    let path = home.write("program.py", code).display().to_string();
    let mut arguments = vec!["run", "--json"];
    arguments.extend(options);
    arguments.push(&path);
    let ended = finish(home.onecall_with_config(&arguments));
    (serde_json::from_str(&ended.stdout).unwrap_or(Value::Null), ended)
}

/// Times differ from run to run.
fn without_times(mut outcome: Value) -> Value {
    assert!(outcome["execution_time_seconds"].take().as_f64().unwrap() > 0.0);
    for call in outcome["tool_calls"].as_array_mut().unwrap() {
        assert!(call["start_seconds"].take().is_f64());
        assert!(call["duration_seconds"].take().is_f64());
    }
    outcome
}

#[test]
fn a_success_says_everything() {
    let code = "
import sys
print('out')
print('err', file=sys.stderr)
total = await mcp__fixture__add(a=1, b=2)
try:
    await mcp__fixture__fail(message='no')
except ToolError:
    pass
{'total': total, 'big': 2**70, 'pair': (1, None)}
";
    let home = home();
    let (outcome, ended) = run(&home, code, &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains(r#""big":1180591620717411303424"#), "{}", ended.stdout);
    let failure = "'mcp__fixture__fail' failed: no";
    let mut outcome = without_times(outcome);
    outcome["return_value"]["big"].take();
    assert_eq!(
        outcome,
        json!({
            "success": true,
            "execution_time_seconds": null,
            "timeout_limit_seconds": 120.0,
            "stdout": "out\n",
            "stderr": "err\n",
            "tool_calls": [
                { "tool_name": "mcp__fixture__add", "args": { "a": 1, "b": 2 },
                  "tool_call_id": "call_1", "parsed": true, "has_error": false,
                  "start_seconds": null, "duration_seconds": null },
                { "tool_name": "mcp__fixture__fail", "args": { "message": "no" },
                  "tool_call_id": "call_2", "parsed": true, "has_error": true,
                  "start_seconds": null, "duration_seconds": null },
            ],
            "tool_results": [
                { "tool_call_id": "call_1", "observation": 3, "has_error": false },
                { "tool_call_id": "call_2", "observation": failure, "has_error": true },
            ],
            "return_value": { "total": 3, "big": null, "pair": [1, null] },
            "error": null,
            "file_path": home.text_path("program.py"),
            "displayed": [],
        })
    );
}

#[test]
fn a_failure_has_kind_message_line_and_traceback() {
    let home = home();
    let (outcome, ended) = run(&home, "x = 1\n\nraise ValueError('no such thing')\n", &[]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(outcome["success"], false);
    let traceback = "Traceback (most recent call last):\n  File \"program.py\", line 3, in <module>\n    \
                     raise ValueError('no such thing')\nValueError: no such thing";
    let expected = json!({
        "type": "ValueError", "message": "no such thing", "traceback": traceback, "line": 3
    });
    assert_eq!(outcome["error"], expected);
}

#[test]
fn every_way_to_fail_has_a_kind() {
    let home = home();
    let cases = [
        ("x = (1", &[][..], "SyntaxError", 1),
        ("await mcp__fixture__ad()", &[], "NameError", 1),
        ("\nmcp__fixture__add(a=1, b=2)", &[], "RuntimeError", 2),
        ("import sys\nsys.exit(3)", &[], "SystemExit", 0),
        ("while True: pass", &["--timeout", "0.5"], "TimeoutError", 0),
        ("import os\nos._exit(1)", &[], "WorkerDied", 0),
    ];
    for (code, options, kind, line) in cases {
        let (outcome, _) = run(&home, code, options);
        let line = if line == 0 { Value::Null } else { json!(line) };
        assert_eq!([&outcome["error"]["type"], &outcome["error"]["line"]], [&json!(kind), &line]);
    }
}

#[test]
fn only_plain_data_is_a_value() {
    let home = home();
    let cases = [
        ("1 + 1", json!(2)),
        ("x = 5", Value::Null),
        ("object()", Value::Null),
        ("{1: 2}", Value::Null),
        ("float('nan')", Value::Null),
        ("await mcp__fixture__add(1, 2)", json!(3)),
        ("if True:\n    7", Value::Null),
        ("'x' * 2_000_000", Value::Null),
        ("print('a'); 'é'", json!("é")),
    ];
    for (code, expected) in cases {
        let (outcome, ended) = run(&home, code, &[]);
        assert_eq!((&outcome["return_value"], ended.code), (&expected, Some(0)), "{code}");
    }
}

#[test]
fn an_agent_gets_the_same_where_that_is_configured() {
    let config = json!({
        "servers": [fixture("fixture", &[])],
        "optional_tools": ["programmatic_tool_calling"],
    });
    let mut gateway = Gateway::with_config(&config);
    let code = "print('a')\nawait mcp__fixture__add(1, 2)";
    let answer = gateway.session.call_tool("programmatic_tool_calling", json!({ "code": code }));
    let outcome: Value = serde_json::from_str(&answer.text).unwrap();
    assert!(!answer.is_error);
    assert_eq!(answer.raw["structuredContent"], outcome);
    assert_eq!([&outcome["return_value"], &outcome["stdout"]], [&json!(3), &json!("a\n")]);
    assert_eq!(outcome["file_path"], Value::Null);

    let wanted = "programmatic_tool_calling: 'timeout' must be a number of seconds above 0 and at \
                  most 120";
    for timeout in [json!(0), json!(-1), json!(1e300), json!("5"), json!(121)] {
        let arguments = json!({ "code": code, "timeout": timeout });
        let answer = gateway.session.call_tool("programmatic_tool_calling", arguments);
        assert_eq!(failed(&answer), wanted);
    }
}

#[test]
fn an_agent_is_not_shown_it_otherwise() {
    let mut gateway = Gateway::new();
    let call = json!({ "name": "programmatic_tool_calling", "arguments": { "code": "1" } });
    let error = gateway.session.client().try_request("tools/call", call).unwrap_err();
    let expected = "unknown tool 'programmatic_tool_calling'; this server has execute_program, \
                    search_tools, list_callable_tools, inspect_tool, proxy";
    assert_eq!(error.message, expected);
}

#[test]
fn a_program_can_be_kept_in_the_workspace() {
    let home = Home::new();
    let folder = home.path("files");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(home.path("outside"), folder.join("link.py")).unwrap();
    let config = json!({
        "workspace": { "path": folder, "mode": "read-write" },
        "optional_tools": ["programmatic_tool_calling"],
    });
    home.write("config.json", config.to_string());
    let mut gateway = Gateway::in_home(home);
    let mut save = |name: &str| {
        let arguments = json!({ "code": "1 + 1", "filename": name });
        gateway.session.call_tool("programmatic_tool_calling", arguments)
    };
    for name in ["sum.py", "link.py"] {
        let outcome: Value = serde_json::from_str(&save(name).text).unwrap();
        assert_eq!(outcome["file_path"], folder.join(name).display().to_string());
        assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), "1 + 1");
    }
    let refused = "'filename' must be a plain name of letters, digits, '-', '_' and '.' with at \
                   most 100 characters";
    for name in ["../a.py", "/etc/a", ".hidden", "", "a\0b", &"n".repeat(300)] {
        assert_eq!(failed(&save(name)), refused);
    }
    let run_by_others = "'filename' is 'package.json', a name of files that other programs run; \
                         choose another name";
    assert_eq!(failed(&save("package.json")), run_by_others);
    assert!(!gateway.home.path("outside").exists());
}

/// A gateway that keeps programs, in a workspace with room for so many bytes.
fn gateway_with_workspace(max_bytes: u64) -> Gateway {
    let workspace = json!({ "path": "files", "mode": "read-write", "max_bytes": max_bytes });
    let config = json!({ "workspace": workspace, "optional_tools": ["programmatic_tool_calling"] });
    let home = Home::with_config(&config);
    std::fs::create_dir(home.path("files")).unwrap();
    Gateway::in_home(home)
}

fn stored_program_count(gateway: &Gateway) -> usize {
    std::fs::read_dir(gateway.home.path("files")).unwrap().count()
}

#[test]
fn programs_that_are_kept_count_against_the_quota() {
    // A file takes a block of 4,096 bytes at least.
    let mut gateway = gateway_with_workspace(3 * 4096);
    let mut save = |name: &str, code: &str| {
        let arguments = json!({ "code": code, "filename": name });
        gateway.session.call_tool("programmatic_tool_calling", arguments)
    };
    let large = format!("# {}\n1", "x".repeat(12_288));
    let refused = |name: &str, left: u64, bytes: usize, needed: usize| {
        format!(
            "cannot keep the program as '{name}': the workspace has {left} bytes left of its quota \
             of 12288 (max_bytes), and a new file of {bytes} bytes takes {needed}; remove files \
             or raise the quota"
        )
    };
    assert_eq!(failed(&save("large.py", &large)), refused("large.py", 12_288, 12_292, 12_292));
    for name in ["a.py", "b.py", "c.py"] {
        assert!(!save(name, "1").is_error);
    }
    assert_eq!(failed(&save("d.py", "1")), refused("d.py", 0, 1, 4096));
    assert_eq!(stored_program_count(&gateway), 3);
    std::fs::remove_file(gateway.home.path("files/a.py")).unwrap();
    let arguments = json!({ "code": "1", "filename": "d.py" });
    assert!(!gateway.session.call_tool("programmatic_tool_calling", arguments).is_error);
}

#[test]
fn programs_that_are_kept_at_once_do_not_exceed_the_quota_together() {
    let mut gateway = gateway_with_workspace(5 * 4096);
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let arguments = json!({ "code": "1", "filename": format!("{number}.py") });
            gateway.session.start_call("programmatic_tool_calling", arguments)
        })
        .collect();
    let answers: Vec<_> = calls.into_iter().map(|call| gateway.session.finish_call(call)).collect();
    assert_eq!(answers.iter().filter(|answer| !answer.is_error).count(), 5);
    assert_eq!(stored_program_count(&gateway), 5);
}
