//! Commands as tools, without any MCP server.

use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::process::{Process, descendants, marked, unique_mark, wait_until};

use crate::support::{Gateway, Home, TIMEOUT, finish, fixture};

/// A command that shows each of its arguments between brackets.
fn show<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["sh", "-c", "printf '[%s]' \"$@\"", "sh"], arguments].concat()
}

fn gateway(tools: Value) -> Gateway {
    Gateway::with_config(&json!({ "local_tools": tools }))
}

/// A tool that runs a script of the shell; `x` and `y` are strings.
fn script(script: &str) -> Value {
    let properties = json!({ "x": { "type": "string" }, "y": { "type": "string" } });
    json!({
        "command": ["sh", "-c", script, "sh", "{x}", "{y}"],
        "input_schema": { "properties": properties },
    })
}

/// A tool that runs a script of the shell, with more settings.
fn script_with(text: &str, settings: Value) -> Value {
    let mut tool = script(text);
    for (key, value) in settings.as_object().expect("settings") {
        tool[key] = value.clone();
    }
    tool
}

/// What a program says about each of these calls: the value's `repr`, or the
/// exception's kind and text.
fn outcomes(gateway: &mut Gateway, calls: &[&str]) -> Vec<String> {
    let mut code = String::new();
    for call in calls {
        code += &format!(
            "try:\n    print(repr(await mcp__local__{call}))\n\
             except Exception as error:\n    print(f'{{type(error).__name__}}: {{error}}')\n"
        );
    }
    gateway.prints(&code).lines().map(str::to_owned).collect()
}

fn check(gateway: &mut Gateway, cases: &[(&str, &str)]) {
    let (calls, expected): (Vec<&str>, Vec<&str>) = cases.iter().copied().unzip();
    assert_eq!(outcomes(gateway, &calls), expected);
}

#[test]
fn output_becomes_a_value() {
    let says =
        |text: &str, form: &str| json!({ "command": ["printf", "%s", text], "output": form });
    let mut gateway = gateway(json!({
        "number": says("12345678901234567890123", "auto"),
        "object": says("{{\"a\": [1, null]}}\n", "auto"),
        "words": says("12 apples\n", "auto"),
        "text": says("12", "text"),
        "json": says(" [1]\n", "json"),
        "no-json": says("{{", "json"),
        "empty": says("", "auto"),
        "binary": { "command": ["printf", "a\\377"] },
    }));
    check(
        &mut gateway,
        &[
            ("number()", "12345678901234567890123"),
            ("object()", "{'a': [1, None]}"),
            ("words()", "'12 apples\\n'"),
            ("text()", "'12'"),
            ("json()", "[1]"),
            (
                "no_json()",
                "ToolError: 'mcp__local__no_json' failed: its output is not JSON: EOF while \
                 parsing an object at line 1 column 1",
            ),
            ("empty()", "''"),
            (
                "binary()",
                "ToolError: 'mcp__local__binary' failed: its output is not text: byte \
                 1 is not UTF-8",
            ),
        ],
    );
}

#[test]
fn arguments_go_where_their_placeholders_are() {
    let schema = json!({
        "properties": {
            "x": {}, "n": { "type": "integer", "default": 7 }, "must": { "type": "string" },
        },
        "required": ["must"],
    });
    let show = show(&["{must}", "--n={n}", "--x={x}", "{{{must}}}"]);
    let cat = |stdin: &str| json!({ "command": ["cat"], "stdin": stdin, "output": "text", "input_schema": schema });
    let mut gateway = gateway(json!({
        "show": { "command": show, "input_schema": schema },
        "json": cat("json"),
        "text": cat("<{must}|{x}>"),
        "none": { "command": ["cat"] },
    }));
    check(
        &mut gateway,
        &[
            ("show(must='a')", "'[a][--n=7][{a}]'"),
            ("show(must='', x=None, n=12345678901234567890)", "'[][--n=12345678901234567890][{}]'"),
            (
                "show(must='é \\u202e', x=[1, {'k': 'v w'}])",
                "'[é \\u202e][--n=7][--x=[1,{\"k\":\"v w\"}]][{é \\u202e}]'",
            ),
            ("show(must='a', x=True)", "'[a][--n=7][--x=true][{a}]'"),
            (
                "json(must='a', x=10**30)",
                r#"'{"must":"a","n":7,"x":1000000000000000000000000000000}'"#,
            ),
            ("text(must='a\\x00b\\n', x='c')", r"'<a\x00b\n|c>'"),
            ("text(must='a')", "''"),
            ("none()", "''"),
        ],
    );
    let missing = outcomes(&mut gateway, &["show()"]);
    assert_eq!(missing[1], "  'must' is missing");
}

#[test]
fn nothing_is_taken_for_shell_or_options() {
    let schema = json!({ "properties": { "x": { "type": "string" } } });
    let tool = |rest: &[&str]| json!({ "command": show(rest), "input_schema": schema });
    let mut gateway = gateway(json!({
        "bare": tool(&["{x}"]),
        "after": tool(&["--", "{x}"]),
        "option": tool(&["--x={x}"]),
    }));
    let dash = "ToolError: 'mcp__local__bare' failed: 'x' must not begin with '-', or the command \
                could take it for an option (where that is wanted, the tool's configuration has \
                \"--\" before \"{x}\", or \"--option={x}\")";
    let nul = "failed: 'x' holds a NUL character, which no command can take";
    check(
        &mut gateway,
        &[
            ("bare('; touch pwned')", "'[; touch pwned]'"),
            ("bare('$(touch pwned) `touch pwned`')", "'[$(touch pwned) `touch pwned`]'"),
            ("bare('a\\nb && c | d > e')", "'[a\\nb && c | d > e]'"),
            ("bare('{x} {{ %s')", "'[{x} {{ %s]'"),
            ("bare('\"\\' \\\\')", r#"'["\' \\]'"#),
            ("bare('-rf')", dash),
            ("bare('--')", dash),
            ("bare('a\\x00b')", &format!("ToolError: 'mcp__local__bare' {nul}")),
            ("option('\\x00')", &format!("ToolError: 'mcp__local__option' {nul}")),
            ("after('-rf')", "'[--][-rf]'"),
            ("option('-rf')", "'[--x=-rf]'"),
            (
                "bare('x' * 1_000_000)",
                "ToolError: 'mcp__local__bare' failed: the arguments are too long for a command \
                 line; the tool's configuration can pass them with 'stdin'",
            ),
        ],
    );
    assert!(!gateway.home.path("work/pwned").exists());
}

#[test]
fn a_failure_says_what_the_command_said() {
    let home = Home::new();
    let plain = home.write("plain.txt", "");
    let config = json!({ "local_tools": {
        "code": script("echo out; echo 'no such thing' >&2; exit 3"),
        "quiet": script("exit 4"),
        "stdout": script("echo 'told here'; exit 1"),
        "colours": script("printf '\\033[31mred\\033[0m\\a\\ntwo\\n' >&2; exit 1"),
        "signal": script("kill -KILL $$"),
        "missing": { "command": ["onecall-no-such-command"] },
        "plain": { "command": [plain] },
        "nowhere": { "command": ["true"], "cwd": "/onecall/nowhere" },
        "long": script("i=0; while [ $i -lt 5000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1"),
    }});
    home.write("config.json", config.to_string());
    let plain = plain.display().to_string();
    let mut gateway = Gateway::in_home(home);
    check(
        &mut gateway,
        &[
            ("code()", "ToolError: 'mcp__local__code' failed: exit code 3: no such thing"),
            ("quiet()", "ToolError: 'mcp__local__quiet' failed: exit code 4"),
            ("stdout()", "ToolError: 'mcp__local__stdout' failed: exit code 1: told here"),
            ("signal()", "ToolError: 'mcp__local__signal' failed: it was ended by signal 9"),
            (
                "missing()",
                "ToolError: 'mcp__local__missing' failed: command 'onecall-no-such-command' was \
                 not found; check that it is installed and on PATH, or give its full path",
            ),
            (
                "plain()",
                &format!(
                    "ToolError: 'mcp__local__plain' failed: command '{plain}' may not be \
                     executed; check its permissions"
                ),
            ),
            (
                "nowhere()",
                "ToolError: 'mcp__local__nowhere' failed: its working directory \
                 '/onecall/nowhere' does not exist; check 'cwd'",
            ),
        ],
    );
    let said = "try:\n    await mcp__local__colours()\nexcept ToolError as error:\n    print(repr(str(error)))";
    let expected = r#""'mcp__local__colours' failed: exit code 1: red\\u{7}\ntwo""#;
    assert_eq!(gateway.prints(said).trim_end(), expected);
    let said = "try:\n    await mcp__local__long()\nexcept ToolError as error:\n    print(str(error)[-9:], len(str(error)) < 2100)";
    assert_eq!(gateway.prints(said), "line 4999 True\n");
}

#[test]
fn a_command_sees_only_the_environment_it_is_given() {
    let home = Home::new();
    std::fs::create_dir(home.path("sub")).unwrap();
    let config = json!({ "local_tools": {
        "env": { "command": ["env"], "env": { "GIVEN": "${TOKEN:-none}" } },
        "pwd": { "command": ["pwd"], "cwd": "sub" },
        "relative": { "command": ["./bin/here"] },
    }});
    home.write("config.json", config.to_string());
    let here = home.write("bin/here", "#!/bin/sh\necho found\n");
    Command::new("chmod").arg("+x").arg(here).status().unwrap();
    let sub = home.text_path("sub");
    let mut gateway = Gateway::in_home(home);
    let code = "
        env = await mcp__local__env()
        print(sorted(line.split('=')[0] for line in env.splitlines()), 'GIVEN=none' in env)
        print(await mcp__local__pwd(), await mcp__local__relative(), end='')
    ";
    let expected = format!(
        "['GIVEN', 'HOME', 'PATH', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME'] True\n{sub}\n found\n"
    );
    assert_eq!(gateway.prints(code), expected);
}

/// A tool that starts children which go on for ever and can be found by their mark.
fn tool_with_children(mark: &str, settings: Value) -> Value {
    let mut tool = script_with("sleep 600 & sleep 600 & echo on >&2; sleep 600", settings);
    tool["env"] = json!({ "MARK": mark });
    tool
}

fn is_gone(mark: &str) -> bool {
    wait_until(TIMEOUT, || marked(mark).is_empty())
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_its_children() {
    let mark = unique_mark();
    let mut gateway = gateway(json!({
        "slow": tool_with_children(&mark, json!({ "timeout_seconds": 0.5 })),
        "deaf": script_with("trap '' TERM INT HUP; while :; do :; done", json!({
            "timeout_seconds": 0.5, "env": { "MARK": mark },
        })),
        "unread": { "command": ["sleep", "600"], "stdin": "json", "timeout_seconds": 0.5,
            "env": { "MARK": mark }, "input_schema": {} },
        "quick": script("echo quick"),
    }));
    check(
        &mut gateway,
        &[
            (
                "slow()",
                "ToolError: 'mcp__local__slow' failed: it did not end within 0.5s, so onecall killed it",
            ),
            (
                "deaf()",
                "ToolError: 'mcp__local__deaf' failed: it did not end within 0.5s, so onecall killed it",
            ),
            (
                "unread(x='x' * 1_000_000)",
                "ToolError: 'mcp__local__unread' failed: it did not end within 0.5s, so onecall killed it",
            ),
            ("quick()", "'quick\\n'"),
        ],
    );
    assert!(is_gone(&mark), "{:#?}", marked(&mark));
    let gateway = gateway.pid();
    let zombies = || descendants(gateway).into_iter().filter(Process::is_zombie).count();
    assert!(wait_until(TIMEOUT, || zombies() == 0), "{:#?}", descendants(gateway));
}

#[test]
fn what_a_command_leaves_behind_ends_with_it() {
    let (mark, away) = (unique_mark(), unique_mark());
    let env = |mark: &str| json!({ "env": { "MARK": mark } });
    let mut gateway = gateway(json!({
        "leaves": script_with("sleep 600 & echo done", env(&mark)),
        "ignores": script_with("exec true", json!({ "stdin": "{x}", "env": { "MARK": mark } })),
        // A process that leaves the process group is not ended, but the call does not wait for it.
        "flees": script_with("setsid sleep 600 & echo done", env(&away)),
    }));
    let large = "ignores(y='z', x='x')";
    check(&mut gateway, &[("leaves()", "'done\\n'"), (large, "''"), ("flees()", "'done\\n'")]);
    assert!(is_gone(&mark), "{:#?}", marked(&mark));
    for process in marked(&away) {
        Command::new("kill").arg("-KILL").arg(process.pid.to_string()).status().unwrap();
    }
}

#[test]
fn endless_output_ends_and_takes_no_memory() {
    let mark = unique_mark();
    let env = json!({ "MARK": mark });
    let mut gateway = gateway(json!({
        "yes": { "command": ["yes"], "env": env },
        "errors": script_with("exec yes >&2", json!({ "timeout_seconds": 1, "env": env })),
        "small": { "command": ["printf", "12345"], "max_output_bytes": 5 },
        "over": { "command": ["printf", "123456"], "max_output_bytes": 5 },
    }));
    gateway.prints("print(await mcp__local__small())");
    let process = Process::read(gateway.pid()).unwrap();
    let before = process.peak_bytes().unwrap();
    check(
        &mut gateway,
        &[
            (
                "yes()",
                "ToolError: 'mcp__local__yes' failed: its output is longer than 4194304 bytes, so onecall killed it; ask for less at a time",
            ),
            (
                "errors()",
                "ToolError: 'mcp__local__errors' failed: it did not end within 1s, so onecall killed it",
            ),
            ("small()", "12345"),
            (
                "over()",
                "ToolError: 'mcp__local__over' failed: its output is longer than 5 bytes, so onecall killed it; ask for less at a time",
            ),
        ],
    );
    assert!(is_gone(&mark));
    let grown = process.peak_bytes().unwrap().saturating_sub(before);
    assert!(grown < 64 << 20, "the gateway has grown by {grown} bytes");
}

#[test]
fn a_cancelled_program_kills_its_commands() {
    let mark = unique_mark();
    let mut gateway = gateway(json!({ "slow": tool_with_children(&mark, json!({})) }));
    let program = gateway.start("await mcp__local__slow()");
    assert!(wait_until(TIMEOUT, || marked(&mark).len() == 4), "{:#?}", marked(&mark));
    gateway.session.cancel(program);
    assert!(is_gone(&mark), "{:#?}", marked(&mark));

    let given_up = "
        import asyncio
        try:
            await asyncio.wait_for(mcp__local__slow(), 0.5)
        except TimeoutError:
            print('gave up')
    ";
    assert_eq!(gateway.prints(given_up), "gave up\n");
    assert!(is_gone(&mark), "{:#?}", marked(&mark));
}

#[test]
fn a_gateway_that_ends_leaves_no_command_behind() {
    for signal in ["-TERM", "-KILL"] {
        let mark = unique_mark();
        let mut gateway = gateway(json!({ "slow": tool_with_children(&mark, json!({})) }));
        let _program = gateway.start("await mcp__local__slow()");
        assert!(wait_until(TIMEOUT, || marked(&mark).len() == 4), "{:#?}", marked(&mark));
        let pid = gateway.pid().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert!(is_gone(&mark), "{signal}: {:#?}", marked(&mark));
    }
}

#[test]
fn calls_run_side_by_side_within_the_limits() {
    let home = Home::with_config(&json!({
        "local_tools": { "meet": script("touch \"$1\"; until [ -e \"$2\" ]; do :; done; echo met") },
        "execution": { "max_tool_calls": 2 },
        "tools": { "block": ["mcp__local__other*"] },
    }));
    let (one, other) = (home.text_path("one"), home.text_path("other"));
    let mut gateway = Gateway::in_home(home);
    let code = format!(
        "import asyncio
print(await asyncio.gather(mcp__local__meet(x='{one}', y='{other}'), mcp__local__meet(x='{other}', y='{one}')))
try:
    await mcp__local__meet()
except ToolError as error:
    print(error)"
    );
    let expected = "['met\\n', 'met\\n']\n'mcp__local__meet' was not called: the limit of 2 tool calls \
                    per program is reached\n";
    assert_eq!(gateway.prints(&code), expected);
}

fn commits() -> Value {
    json!({
        "name": "git-log",
        "description": "The last commits of the project.",
        "command": ["git", "log", "--max-count={count}", "--", "{path}"],
        "input_schema": {
            "properties": {
                "path": { "type": "string", "description": "File or folder" },
                "count": { "type": "integer", "default": 10 },
            },
            "required": ["path"],
        },
        "read_only": true,
    })
}

#[test]
fn they_are_listed_and_inspected_like_any_other() {
    let remove = json!({ "name": "remove", "command": ["rm", "--", "{x}"],
        "input_schema": { "properties": { "x": { "type": "string" } } } });
    let mut gateway = Gateway::with_config(&json!({
        "servers": [fixture("fixture", &[])],
        "local_tools": [commits(), remove],
        "tools": { "block": ["mcp__local__rem*", "mcp__fixture__*"] },
    }));
    assert_eq!(gateway.callable_tools(), ["mcp__local__git_log"]);
    let inspected =
        gateway.session.call_tool("inspect_tool", json!({ "tool_name": "mcp__local__git_log" }));
    let inspected: Value = serde_json::from_str(&inspected.text).unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&inspected).unwrap(), @r#"
    {
      "name": "mcp__local__git_log",
      "description": "The last commits of the project.",
      "signature": "await mcp__local__git_log(path: str, count: int = 10) -> Any  # not declared; JSON text arrives parsed: print a small result first",
      "typescript": "await mcp__local__git_log({ path: string; count?: number }): Promise<unknown>  // not declared; JSON text arrives parsed: print a small result first",
      "inputSchema": {
        "type": "object",
        "properties": {
          "path": {
            "type": "string",
            "description": "File or folder"
          },
          "count": {
            "type": "integer",
            "default": 10
          }
        },
        "required": [
          "path"
        ],
        "additionalProperties": false
      },
      "outputSchema": null,
      "note": "The server declares no output schema: print a small result first to see its shape. Images and resources beside text are in its .content."
    }
    "#);
    let blocked = outcomes(&mut gateway, &["remove(x='y')"]);
    assert_eq!(blocked, ["ToolError: 'mcp__local__remove' is not available in execute_program"]);
    let found = gateway.prints("print([tool['name'] for tool in tools.search('commits')])");
    assert_eq!(found, "['mcp__local__git_log']\n");
}

#[test]
fn plans_can_use_them() {
    let mut tools = json!({
        "number": script("echo 20"),
        "add": { "command": show(&["{a}", "{b}"]), "input_schema": {
            "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        }},
        "object": script("echo '{{\"a\": 1}}'"),
    });
    tools["object"]["output"] = "json".into();
    let mut gateway = gateway(tools);
    let plan = json!({
        "target_tool": "mcp__local__add",
        "tool_args": { "a": { "__tool__": "mcp__local__number" }, "b": 3 },
        "server_config": { "local": {} },
    });
    let answer = gateway.session.call_tool("proxy", plan);
    assert_eq!((answer.text.as_str(), answer.is_error), ("[20][3]", false));
    let plan = json!({ "target_tool": "object", "tool_args": {} });
    let answer = gateway.session.call_tool("proxy", plan);
    assert_eq!((answer.text.as_str(), answer.is_error), ("{\"a\": 1}", false));
}

#[test]
fn check_and_tools_show_them() {
    let home = Home::with_config(&json!({
        "local_tools": [
            { "name": "fine", "command": ["true"] },
            { "name": "missing", "command": ["onecall-no-such-command"] },
            { "name": "nowhere", "command": ["true"], "cwd": "/onecall/nowhere" },
            { "name": "notes", "builtin": "read_file", "root": "notes" },
        ],
    }));
    let ended = finish(home.onecall_with_config(&["check"]));
    assert_eq!(ended.code, Some(1));
    let said = ended.stdout.replace(&home.text_path(""), "[home]/");
    assert_snapshot!(said, @"
    The configuration [home]/config.json is valid
    SERVER  TRANSPORT  TOOLS  STATE
    local   local          4  need no server
    warning: local tool 'missing' cannot be called: command 'onecall-no-such-command' was not found; check that it is installed and on PATH, or give its full path
    warning: local tool 'nowhere' cannot be called: its working directory '/onecall/nowhere' does not exist; check 'cwd'
    warning: local tool 'notes' cannot be called: the folder that is its root does not exist ('[home]/notes'); check 'root'
    ");
    let ended = finish(home.onecall_with_config(&["tools"]));
    assert_snapshot!(ended.stdout, @"
    mcp__local__fine
    mcp__local__missing
    mcp__local__notes    Reads a text file (UTF-8) of the folder 'notes'.
    mcp__local__nowhere
    ");

    let home = Home::with_config(&json!({ "local_tools": { "fine": { "command": ["true"] } } }));
    let ended = finish(home.onecall_with_config(&["check"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
