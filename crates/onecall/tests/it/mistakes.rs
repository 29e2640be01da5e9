//! What a program's author reads after a slip: where it is and what to write.

use insta::assert_snapshot;

use crate::support::Gateway;

/// What is said about a failing program.
fn failure(code: &str) -> String {
    Gateway::new().fails(code)
}

#[test]
fn a_syntax_error() {
    assert_snapshot!(failure("rows = 1\ntotal = (rows\nprint(total)"), @r#"
      File "<program>", line 2
        total = (rows
                ^
    SyntaxError: '(' was never closed
    "#);
    assert_snapshot!(failure("if True:\nprint(1)"), @r#"
      File "<program>", line 2
        print(1)
        ^^^^^
    IndentationError: expected an indented block after 'if' statement on line 1
    "#);
}

#[test]
fn a_tool_error() {
    let code = "
        async def fetch():
            return await mcp__fixture__fail(message='the city is unknown')

        await mcp__fixture__add(1, 2)
        await fetch()
    ";
    assert_snapshot!(failure(code), @r#"
    Traceback (most recent call last):
      File "<program>", line 5, in <module>
        await fetch()
      File "<program>", line 2, in fetch
        return await mcp__fixture__fail(message='the city is unknown')
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    ToolError: 'mcp__fixture__fail' failed: the city is unknown
    [Tool calls completed: 1]
    "#);
}

#[test]
fn a_wrong_argument() {
    assert_snapshot!(failure("rows = [object()]\nawait mcp__fixture__echo(value=rows)"), @r#"
    Traceback (most recent call last):
      File "<program>", line 2, in <module>
        await mcp__fixture__echo(value=rows)
    TypeError: argument 'value[0]' is object, which JSON cannot carry; pass str, int, float, bool, None, list or dict
    "#);
}

#[test]
fn a_misspelt_tool() {
    assert_snapshot!(failure("def ask():\n    return mcp__fixture__ech(value=1)\nawait ask()"), @r#"
    [Nothing was executed]
      File "<program>", line 2
        return mcp__fixture__ech(value=1)
    NameError: name 'mcp__fixture__ech' is not defined. Did you mean: 'mcp__fixture__echo'?
    "#);
    assert_snapshot!(failure("print(nothing_like_it)"), @r#"
    Traceback (most recent call last):
      File "<program>", line 1, in <module>
        print(nothing_like_it)
              ^^^^^^^^^^^^^^^
    NameError: name 'nothing_like_it' is not defined
    "#);
}

#[test]
fn a_call_that_nobody_awaits() {
    assert_snapshot!(failure("print('a')\nmcp__fixture__add(a=1, b=2)\nprint('b')"), @r#"
    [Nothing was executed]
      File "<program>", line 2
        mcp__fixture__add(a=1, b=2)
    RuntimeError: mcp__fixture__add() is never awaited, so it does not run
        await mcp__fixture__add(a: float, b: float) -> float
    "#);
}

#[test]
fn a_call_that_perhaps_nobody_awaits() {
    let code = "print('a')\nif True:\n    mcp__fixture__add(a=1, b=2)\nprint('b')";
    assert_snapshot!(failure(code), @"
    RuntimeError: mcp__fixture__add() on line 3 was never awaited, so it did not run
        mcp__fixture__add(a=1, b=2)
    Write: await mcp__fixture__add(...)
    [Output before the failure]
    a
    b
    ");
}

#[test]
fn a_call_that_nobody_awaits_and_what_came_of_it() {
    assert_snapshot!(failure("total = mcp__fixture__add(a=1, b=2)\nprint(total + 1)"), @r#"
    Traceback (most recent call last):
      File "<program>", line 2, in <module>
        print(total + 1)
              ~~~~~~^~~
    TypeError: unsupported operand type(s) for +: 'coroutine' and 'int'
    RuntimeError: mcp__fixture__add() on line 1 was never awaited, so it did not run
        total = mcp__fixture__add(a=1, b=2)
    Write: await mcp__fixture__add(...)
    "#);
}

#[test]
fn a_coroutine_that_nobody_awaits_makes_no_call() {
    let code = "
        import asyncio
        calls = [mcp__fixture__add(n, n) for n in range(7)]
        print(await calls[0])
    ";
    assert_snapshot!(failure(code), @"
    RuntimeError: mcp__fixture__add() on line 2 was never awaited, so it did not run
        calls = [mcp__fixture__add(n, n) for n in range(7)]
    Write: await mcp__fixture__add(...)
    RuntimeError: mcp__fixture__add() on line 2 was never awaited, so it did not run
        calls = [mcp__fixture__add(n, n) for n in range(7)]
    Write: await mcp__fixture__add(...)
    RuntimeError: mcp__fixture__add() on line 2 was never awaited, so it did not run
        calls = [mcp__fixture__add(n, n) for n in range(7)]
    Write: await mcp__fixture__add(...)
    RuntimeError: mcp__fixture__add() on line 2 was never awaited, so it did not run
        calls = [mcp__fixture__add(n, n) for n in range(7)]
    Write: await mcp__fixture__add(...)
    RuntimeError: mcp__fixture__add() on line 2 was never awaited, so it did not run
        calls = [mcp__fixture__add(n, n) for n in range(7)]
    Write: await mcp__fixture__add(...)
    ... and 1 more calls that were never awaited
    [Output before the failure]
    0
    [Tool calls completed: 1]
    ");
}
