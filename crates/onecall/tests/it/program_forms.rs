//! Programs as models send them: with a `return` at the top level, indented as a whole, in a
//! Markdown fence, and with the names of tools in strings.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::mcp::ToolAnswer;

use crate::support::{Gateway, Home, dedent, failed, finish, fixture, has_system_python, printed};

/// The Python engines that this machine has.
fn engines() -> Vec<&'static str> {
    if has_system_python() { vec!["python", "cpython"] } else { vec!["python"] }
}

/// Runs a program exactly as it is written here.
fn send(gateway: &mut Gateway, engine: &str, code: &str) -> ToolAnswer {
    gateway.session.call_tool("execute_program", json!({ "code": code, "engine": engine }))
}

/// What a program prints that must succeed on every engine, and say the same.
fn prints(code: &str) -> String {
    let mut gateway = Gateway::new();
    let code = dedent(code);
    let mut said: Vec<String> =
        engines().iter().map(|engine| printed(&send(&mut gateway, engine, &code))).collect();
    said.dedup();
    assert_eq!(said.len(), 1, "{said:#?}");
    said.remove(0)
}

/// What the outcome of a program has as its value, on each engine.
fn values(code: &str) -> Vec<Value> {
    let home = Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }));
    let file = home.write("program.py", dedent(code)).display().to_string();
    let value = |engine: &&str| {
        let ended = finish(home.onecall_with_config(&["run", "--json", "--engine", engine, &file]));
        let mut outcome: Value = serde_json::from_str(&ended.stdout).expect("an outcome");
        assert_eq!(outcome["error"], Value::Null);
        outcome["return_value"].take()
    };
    engines().iter().map(value).collect()
}

#[test]
fn a_return_leaves_everything_as_it_does_in_a_function() {
    let code = "
        import asyncio

        class Room:
            def __enter__(self): print('enter')
            def __exit__(self, *why): print('exit', why)

        async def child():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            print('the child has ended', await mcp__fixture__add(a=1, b=2))

        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            for number in range(3):
                with Room():
                    try:
                        if number == 1:
                            return number
                    except BaseException as error:
                        print('it is no exception', error)
                    else:
                        print('else', number)
                    finally:
                        print('finally', number)
        print('not reached')
    ";
    assert_snapshot!(prints(code), @r"
    enter
    else 0
    finally 0
    exit (None, None, None)
    enter
    finally 1
    exit (None, None, None)
    the child has ended 3
    ");
}

#[test]
fn a_program_that_returns_is_a_module_all_the_same() {
    let code = r#"
        """What it is for."""
        import os.path as paths
        from math import *
        from dataclasses import dataclass

        limit: int = 5
        names: "list of names"
        (also): int = 6

        @dataclass
        class Point:
            x: int
            y: int = limit

        def count(step=(default := 2)):
            global counter
            counter = limit + step
            return counter

        [last := seen for seen in range(3) if (odd := seen % 2) or True]
        try:
            1 / 0
        except ZeroDivisionError as error:
            kept = str(error)
        match {"first": [1, 2, 3], "other": 4}:
            case {"first": [head, *tail], **others}:
                pass
        limit += 1
        gone = 1
        del gone
        exec("made = 7")
        print(__doc__, locals()["limit"], globals()["limit"], made, sqrt(pi ** 2) == pi)
        print(Point(1), Point.__qualname__, count(), counter, count.__qualname__, default)
        print(last, odd, kept, head, tail, others, also, paths.basename("a/b"))
        print("error" in globals(), "gone" in globals(), "names" in globals(), "seen" in globals())
        print(sorted(name for name in dir() if name.startswith("<")))
        return
    "#;
    assert_snapshot!(prints(code), @r"
    What it is for. 6 6 7 True
    Point(x=1, y=5) Point 8 8 count 2
    2 0 division by zero 1 [2, 3] {'other': 4} 6 b
    False False False False
    []
    ");
}

#[test]
fn what_is_returned_is_the_value() {
    let cases = [
        ("return {'total': 3}", json!({ "total": 3 })),
        ("if True:\n    return await mcp__fixture__add(1, 2)\n4", json!(3)),
        ("if False:\n    return 1\n4", json!(4)),
        ("if False:\n    return 1\nx = 4", Value::Null),
        ("return", Value::Null),
        ("return object()", Value::Null),
        ("import asyncio\nasync def f():\n    return 5\nreturn asyncio.run(f())", json!(5)),
    ];
    for (code, expected) in cases {
        assert_eq!(values(code), vec![expected; engines().len()], "{code}");
    }
}

#[test]
fn annotations_are_kept_where_they_are_evaluated_at_once() {
    if !has_system_python() {
        return;
    }
    let mut gateway = Gateway::new();
    // From Python 3.14 on, annotations cannot be read by this name.
    let code = "import sys\nx: int = 1\nif sys.version_info >= (3, 14):\n    __annotations__ = {'x': int}\n\
                print(__annotations__)\nreturn";
    assert_eq!(printed(&send(&mut gateway, "cpython", code)), "{'x': <class 'int'>}\n");
    let code = "from __future__ import annotations\nx: nothing = 1\nprint(x)\nreturn";
    for engine in engines() {
        assert_eq!(printed(&send(&mut gateway, engine, code)), "1\n");
    }
}

#[test]
fn other_mistakes_stay_mistakes() {
    let mut gateway = Gateway::new();
    let cases = [
        ("class A:\n    return 1\nreturn", "SyntaxError: 'return' outside function"),
        ("x = 1\nyield x\nreturn", "SyntaxError: 'yield' outside function"),
        ("from nothing_like_it import *\nreturn", "No module named 'nothing_like_it'"),
        ("x = 1\nreturn x +", "SyntaxError: invalid syntax"),
    ];
    for engine in engines() {
        for (code, expected) in cases {
            let text = failed(&send(&mut gateway, engine, code));
            let is_there = text.lines().any(|line| line.ends_with(expected));
            assert!(is_there, "{engine}: {code}\n{text}");
        }
    }
}

#[test]
fn a_session_keeps_what_programs_defined_before_they_returned() {
    let mut gateway = Gateway::new();
    for engine in engines() {
        let mut run = |code: &str| {
            let arguments = json!({ "code": code, "engine": engine, "session": engine });
            gateway.session.call_tool("execute_program", arguments)
        };
        let first = "total: int = 1\ndef double():\n    return total * 2\nif total:\n    return";
        assert_eq!(printed(&run(first)), "(no output)");
        let second = "```python\ntotal += 1\nprint(double(), globals()['total'])\nreturn\n```";
        assert_eq!(printed(&run(second)), "4 2\n");
        let third = failed(&run("  print(total)\n  return [][total]\n"));
        insta::allow_duplicates!(assert_snapshot!(third, @r#"
        Traceback (most recent call last):
          File "<program 3>", line 2, in <module>
            return [][total]
                   ~~^^^^^^^
        IndexError: list index out of range
        [Output before the failure]
        2
        "#));
    }
}

#[test]
fn a_fence_is_no_part_of_a_program_and_lines_keep_their_numbers() {
    let mut gateway = Gateway::new();
    let cases = [
        "\n```python\nprint('ran')\n```\n",
        "~~~py\r\nprint('ran')\r\n~~~\r\n",
        "    ```\n    if True:\n        print('ran')\n    ```",
        "\tif True:\n\t\tprint('ran')",
        "    text = '''\nran'''\n    print(text.strip())",
    ];
    for engine in engines() {
        for code in cases {
            assert_eq!(printed(&send(&mut gateway, engine, code)), "ran\n", "{code}");
        }
        let code = "```python\n    x = 1\n    return [][x]\n```";
        let text = failed(&send(&mut gateway, engine, code));
        insta::allow_duplicates!(assert_snapshot!(text, @r#"
        Traceback (most recent call last):
          File "<program>", line 3, in <module>
            return [][x]
                   ~~^^^
        IndexError: list index out of range
        "#));
    }
}

#[test]
fn the_check_before_the_run_reads_the_same_program() {
    let mut gateway = Gateway::new();
    let code = "```python\n    x = 1\n    await mcp__fixture__ad(a=1)\n    return x\n```";
    assert_snapshot!(failed(&send(&mut gateway, "python", code)), @r#"
    [Nothing was executed]
      File "<program>", line 3
        await mcp__fixture__ad(a=1)
    NameError: name 'mcp__fixture__ad' is not defined. Did you mean: 'mcp__fixture__add'?
    "#);
    // Nothing after a return is certain to run.
    let code = "if True:\n    return\nawait mcp__fixture__ad(a=1)";
    assert_eq!(printed(&send(&mut gateway, "python", code)), "(no output)");
    let arguments = json!({ "code": "  ```\n  tools.add(1, 2)\n  return\n  ```", "dry_run": true });
    assert_snapshot!(gateway.session.call_tool("execute_program", arguments).text, @r"
    [Dry run: nothing was executed]
    mcp__fixture__add: read-only; at most once, line 2
    ");
}

#[test]
fn tools_are_found_by_names_in_strings() {
    let code = "
        import timeit

        name = 'add'
        print(await globals()[f'mcp__fixture__{name}'](a=1, b=2))
        print(await globals().get('mcp__fixture__add')(a=1, b=3), globals().get('mcp__fixture__ad', 5))
        print(['mcp__fixture__add' in globals(), 'mcp__fixture__ad' in globals(), 'len' in globals()])
        print(eval('mcp__fixture__add').__name__, await eval('mcp__fixture__add(a=1, b=4)'))
        print(getattr(tools, 'mcp__fixture__add')(1, 5), await getattr(tools.aio, name)(1, 6))
        for look_up in [
            lambda: globals()['mcp__fixture__ad'],
            lambda: eval('mcp__fixture__ad'),
            lambda: getattr(tools, 'ad_'),
        ]:
            try:
                look_up()
            except Exception as error:
                print(f'{type(error).__name__}: {error}')
        namespace = {}
        exec('found = mcp__fixture__add', namespace)
        exec('also = found', globals() | namespace, globals())
        print(also.__name__, timeit.timeit('name', number=1, globals=globals()) >= 0)
    ";
    assert_snapshot!(prints(code), @r#"
    3
    4 5
    [True, False, False]
    mcp__fixture__add 5
    6 7
    KeyError: "name 'mcp__fixture__ad' is not defined. Did you mean: 'mcp__fixture__add'?"
    NameError: name 'mcp__fixture__ad' is not defined. Did you mean: 'mcp__fixture__add'?
    AttributeError: there is no tool 'ad_'. Did you mean: 'mcp__fixture__add'?
    mcp__fixture__add True
    "#);
}

#[test]
fn globals_are_the_variables_themselves() {
    let code = "
        first = 1
        globals()['second'] = 2

        def inner():
            third = 3
            exec('third = 4; fourth = 5')
            return [first, second, third, eval('third'), 'fourth' in globals(), 'third' in globals()]

        print(inner(), globals() is globals(), isinstance(globals(), dict))
        exec('third = first + second', globals())
        print(third, eval('third + 1', globals()), eval('third + 1'))
        globals().update(fourth=4)
        print(fourth, globals().pop('fourth'), 'fourth' in globals(), {**globals()}['third'])
        print(sorted(name for name in globals() if not name.startswith(('_', 'mcp__'))))
        class Inner:
            exec('attribute = third')
        print(Inner.attribute)
        del globals()['first']
        try:
            first
        except NameError as error:
            print(error)
    ";
    assert_snapshot!(prints(code), @r"
    [1, 2, 3, 3, False, False] True True
    3 4 4
    4 4 False 3
    ['first', 'inner', 'second', 'third']
    3
    name 'first' is not defined
    ");
}

#[test]
fn a_blocked_tool_stays_blocked_by_whatever_name() {
    let mut gateway = Gateway::with_config(&json!({
        "servers": [fixture("fixture", &[])],
        "tools": { "block": ["mcp__fixture__add"] },
    }));
    let code = "
        for look_up in [
            lambda: globals()['mcp__fixture__add'],
            lambda: globals().get('mcp__fixture__add'),
            lambda: eval('mcp__fixture__add'),
        ]:
            try:
                await look_up()(a=1, b=2)
            except ToolError as error:
                print(error)
        return
    ";
    let refused = "'mcp__fixture__add' is not available in execute_program\n";
    for engine in engines() {
        assert_eq!(printed(&gateway.execute_on(engine, code)), refused.repeat(3));
    }
}

#[test]
fn typescript_returns_too() {
    let mut gateway = Gateway::new();
    let code = "
        import { add } from './servers/fixture';
        const sum: number = await add({ a: 1, b: 2 });
        for (const it of [1, 2]) {
          try {
            if (it === sum - 2) return { sum };
          } finally {
            console.log('finally', it, later());
          }
        }
        console.log('not reached');
        function later() { return await_(); }
        function await_() { return sum; }
    ";
    assert_eq!(printed(&gateway.execute_typescript(code)), "finally 1 3\n");
    let fenced =
        "```ts\nconst it: number = 1; if (it > 5) return; (null as any).x;\nreturn it;\n```";
    assert_snapshot!(failed(&gateway.execute_typescript(fenced)), @r"
    <program>:2:44
    const it: number = 1; if (it > 5) return; (null as any).x;
                                               ^
    TypeError: cannot read property 'x' of null
        at <program>:2:44
    ");
    let unfenced = "const it = 1; if (it > 5) return; null.x;";
    assert_snapshot!(failed(&gateway.execute_typescript(unfenced)), @r"
    <program>:1:34
    const it = 1; if (it > 5) return; null.x;
                                     ^
    TypeError: cannot read property 'x' of null
        at <program>:1:34
    ");
    let twice = "const it = 1; return it;\nconst it = 2;";
    assert_snapshot!(failed(&gateway.execute_typescript(twice)), @r"
    <program>:1:7
    const it = 1; return it;
          ^
    SyntaxError: Identifier `it` has already been declared
    ");
    let exported = "export const it = 1;\nreturn it;";
    assert_snapshot!(failed(&gateway.execute_typescript(exported)), @r"
    <program>:2:1
    return it;
    ^
    SyntaxError: A 'return' statement can only be used within a function body.
    ");
}
