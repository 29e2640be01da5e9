//! Errors that are found before a program runs, and the output of a dry run.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::{Gateway, Home, finish, fixture};

#[test]
fn all_mistakes_are_told_at_once_and_nothing_is_executed() {
    let (mut gateway, received) = Gateway::with_message_log(&json!({}));
    let code = "
        print('starting')
        total = await mcp__fixture__add(a=1, b='two')
        await mcp__fixture__ad(a=1, b=2)
        await mcp__fixture__echo(1, 2, 3)
        rows = mcp__fixture__rows(count=3)
        print(rows[0])
        tools.add(a=1)
        tools.nothing_like_it()
    ";
    assert_snapshot!(gateway.fails(code), @r#"
    [Nothing was executed]
      File "<program>", line 2
        total = await mcp__fixture__add(a=1, b='two')
    TypeError: mcp__fixture__add(): b: "two" is of type string, not number
        await mcp__fixture__add(a: float, b: float) -> float
      File "<program>", line 3
        await mcp__fixture__ad(a=1, b=2)
    NameError: name 'mcp__fixture__ad' is not defined. Did you mean: 'mcp__fixture__add'?
      File "<program>", line 4
        await mcp__fixture__echo(1, 2, 3)
    TypeError: mcp__fixture__echo(): it takes 1 positional arguments but 3 were given
        await mcp__fixture__echo(value: Any) -> Any
      File "<program>", line 6
        print(rows[0])
    TypeError: the result of mcp__fixture__rows() is used and was never awaited; write (await mcp__fixture__rows(...))
        await mcp__fixture__rows(count: int) -> Any
      File "<program>", line 7
        tools.add(a=1)
    TypeError: mcp__fixture__add(): 'b' is missing
        await mcp__fixture__add(a: float, b: float) -> float
      File "<program>", line 8
        tools.nothing_like_it()
    AttributeError: there is no tool 'nothing_like_it'
    "#);
    assert_eq!(received.calls("add"), 0);
}

#[test]
fn what_cannot_be_known_is_let_through() {
    let mut gateway = Gateway::new();
    let code = "
        name = 'add'
        value = '2'
        try:
            await mcp__fixture__ad(1, 2)
        except NameError as error:
            print(type(error).__name__)
        if value == 3:
            await mcp__fixture__add()
        print(await getattr(tools.aio, name)(1, int(value)))
        print(getattr(tools, 'no_such_tool', None))
    ";
    assert_eq!(gateway.prints(code), "NameError\n3\nNone\n");
}

#[test]
fn a_name_of_the_program_is_no_tool() {
    let mut gateway = Gateway::new();
    let code = "
        tools = []
        tools.append(1)
        print(tools)
    ";
    assert_eq!(gateway.prints(code), "[1]\n");
}

#[test]
fn a_dry_run_lists_the_tools_and_runs_nothing() {
    let (mut gateway, received) = Gateway::with_message_log(&json!({}));
    let code = "
rows = await mcp__fixture__rows(count=3)
for row in rows:
    await mcp__fixture__echo(value=row)
print(tools.add(1, 2), await mcp__fixture__add(1, 2), await tools.async_add(1, 2))
";
    let dry_run = |gateway: &mut Gateway, code: &str| {
        let arguments = json!({ "code": code, "dry_run": true });
        gateway.session.call_tool("execute_program", arguments)
    };
    let answer = dry_run(&mut gateway, code);
    assert!(!answer.is_error);
    assert_snapshot!(answer.text, @"
    [Dry run: nothing was executed]
    mcp__fixture__add: read-only; at most 3 times, line 5
    mcp__fixture__echo: read-only; any number of times, line 4
    mcp__fixture__rows: read-only; at most once, line 2
    ");
    assert_eq!(received.calls("rows"), 0);
    assert_snapshot!(dry_run(&mut gateway, "print(1)").text, @"
    [Dry run: nothing was executed]
    It calls no tools.
    ");
    assert_snapshot!(dry_run(&mut gateway, "f = getattr(tools, input())").text, @"
    [Dry run: nothing was executed]
    It may call any tool: it computes names or hands `tools` on.
    ");
    let answer = dry_run(&mut gateway, "x = (1");
    assert!(answer.is_error);
    assert_snapshot!(answer.text, @r#"
    [Dry run: nothing was executed]
    [It would not run]
      File "<program>", line 1
        x = (1
    SyntaxError: unexpected EOF while parsing
    "#);
}

#[test]
fn a_dry_run_of_typescript_says_the_same() {
    let (mut gateway, received) = Gateway::with_message_log(&json!({}));
    let dry_run = |gateway: &mut Gateway, code: &str| {
        let arguments = json!({ "code": code, "dry_run": true, "language": "typescript" });
        gateway.session.call_tool("execute_program", arguments)
    };
    let code = "
import { rows as list } from './servers/fixture';
class Total { constructor(public sum: number) {} }
const after: Function = () => 1;
const rows = await list({ count: 3 });
for (const row of rows) await mcp__fixture__echo({ value: row });
console.log(await tools.add(1, 2), await mcp__fixture__add(1, 2), new Total(1).constructor.name, after);
const echo = async (value) => await mcp__fixture__echo({ value });
";
    let answer = dry_run(&mut gateway, code);
    assert!(!answer.is_error);
    assert_snapshot!(answer.text, @"
    [Dry run: nothing was executed]
    mcp__fixture__add: read-only; at most 2 times, line 7
    mcp__fixture__echo: read-only; any number of times, lines 6, 8
    mcp__fixture__rows: read-only; at most once, line 5
    ");
    assert_eq!(received.calls("rows"), 0);
    assert_snapshot!(dry_run(&mut gateway, "console.log(1)").text, @"
    [Dry run: nothing was executed]
    It calls no tools.
    ");
    let any = "[Dry run: nothing was executed]\n\
               It may call any tool: it computes names or hands `tools` on.";
    for code in ["const f = tools[name]", "new Function('return 1')()"] {
        assert_eq!(dry_run(&mut gateway, code).text, any, "{code}");
    }
    let refused = "await mcp__fixture__add({ a: 1 });\nawait mcp__fixture__ech({ value: 1 });";
    assert_snapshot!(dry_run(&mut gateway, refused).text, @r"
    [Dry run: nothing was executed]
    mcp__fixture__add: read-only; at most once, line 1
    mcp__fixture__ech: cannot be called; at most once, line 2
    [It would not run]
    [Nothing was executed]
    <program>:1:7
        await mcp__fixture__add({ a: 1 });
    TypeError: mcp__fixture__add(): 'b' is missing
        await mcp__fixture__add({ a: number; b: number }): Promise<number>
    <program>:2:7
        await mcp__fixture__ech({ value: 1 });
    ReferenceError: mcp__fixture__ech is not defined. Did you mean: 'mcp__fixture__echo'?
    ");
}

#[test]
fn the_command_line_has_dry_runs_too() {
    let home = Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }));
    let path = home.write("program.py", "await mcp__fixture__add(1)").display().to_string();
    let ended = finish(home.onecall_with_config(&["run", "--dry-run", &path]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    assert_snapshot!(ended.stdout, @r#"
    [Dry run: nothing was executed]
    mcp__fixture__add: read-only; at most once, line 1
    [It would not run]
    [Nothing was executed]
      File "program.py", line 1
        await mcp__fixture__add(1)
    TypeError: mcp__fixture__add(): 'b' is missing
        await mcp__fixture__add(a: float, b: float) -> float
    "#);
}

#[test]
fn a_failure_names_the_calls_that_may_have_had_effects() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 4 }));
    let code = "
        await mcp__fixture__add(1, 2)
        for n in range(3):
            await mcp__fixture__counter()
        await mcp__fixture__hang()
    ";
    assert_snapshot!(gateway.fails(code), @r#"
    TimeoutError: Execution exceeded 4s limit
    [Tool calls that may have had effects]
    mcp__fixture__counter({}), 3 times
    [Tool calls completed: 4]
    "#);
}
