//! What a program's author reads when it fails: CPython's words, the program's
//! own lines, and no frame of ours.

use insta::assert_snapshot;

use crate::support::Gateway;

/// What is said about a failing program.
fn failure(code: &str) -> String {
    Gateway::new().fails(code)
}

/// The traceback of a program without the frames of the standard library, whose lines can change.
fn own_lines(code: &str) -> String {
    let text = failure(code);
    let is_library = |line: &&str| line.contains("  File \"") && !line.contains("\"<program>\"");
    text.lines().filter(|line| !is_library(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn nested_functions() {
    let code = r#"
        import json

        def total(text):
            return json.loads(text)["total"]

        def report(rows):
            return [total(row) for row in rows]

        report(['{"total": 1}', '{"sum": 2}'])
    "#;
    assert_snapshot!(failure(code), @r#"
    Traceback (most recent call last):
      File "<program>", line 9, in <module>
        report(['{"total": 1}', '{"sum": 2}'])
        ~~~~~~^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      File "<program>", line 7, in report
        return [total(row) for row in rows]
                ~~~~~^^^^^
      File "<program>", line 4, in total
        return json.loads(text)["total"]
               ~~~~~~~~~~~~~~~~^^^^^^^^^
    KeyError: 'total'
    "#);
}

#[test]
fn an_awaited_coroutine() {
    let code = "
        async def inner():
            value = await mcp__fixture__add(a=1, b=2)
            return value / 0

        async def outer():
            return await inner()

        print(await outer())
    ";
    assert_snapshot!(failure(code), @r#"
    Traceback (most recent call last):
      File "<program>", line 8, in <module>
        print(await outer())
              ^^^^^^^^^^^^^
      File "<program>", line 6, in outer
        return await inner()
               ^^^^^^^^^^^^^
      File "<program>", line 3, in inner
        return value / 0
               ~~~~~~^~~
    ZeroDivisionError: division by zero
    [Tool calls completed: 1]
    "#);
}

#[test]
fn gather() {
    let code = "
        import asyncio

        async def pick(n):
            await asyncio.sleep(0)
            return [1, 2][n]

        await asyncio.gather(pick(0), pick(5))
    ";
    assert_snapshot!(failure(code), @r#"
    Traceback (most recent call last):
      File "<program>", line 7, in <module>
        await asyncio.gather(pick(0), pick(5))
      File "<program>", line 5, in pick
        return [1, 2][n]
               ~~~~~~^^^
    IndexError: list index out of range
    "#);
}

#[test]
fn asyncio_run() {
    let code = "
        import asyncio

        async def main():
            await mcp__fixture__fail(message='no')

        asyncio.run(main())
    ";
    assert_snapshot!(own_lines(code), @r#"
    Traceback (most recent call last):
      File "<program>", line 6, in <module>
        asyncio.run(main())
        ~~~~~~~~~~~^^^^^^^^
      File "<program>", line 4, in main
        await mcp__fixture__fail(message='no')
    ToolError: 'mcp__fixture__fail' failed: no
    "#);
}

#[test]
fn chained_exceptions() {
    let code = r#"
        def port(settings):
            try:
                return settings["port"]
            except KeyError as error:
                raise ValueError("no port configured") from error

        try:
            port({})
        except ValueError:
            int("x")
    "#;
    assert_snapshot!(failure(code), @r#"
    Traceback (most recent call last):
      File "<program>", line 3, in port
        return settings["port"]
               ~~~~~~~~^^^^^^^^
    KeyError: 'port'

    The above exception was the direct cause of the following exception:

    Traceback (most recent call last):
      File "<program>", line 8, in <module>
        port({})
        ~~~~^^^^
      File "<program>", line 5, in port
        raise ValueError("no port configured") from error
    ValueError: no port configured

    During handling of the above exception, another exception occurred:

    Traceback (most recent call last):
      File "<program>", line 10, in <module>
        int("x")
        ~~~^^^^^
    ValueError: invalid literal for int() with base 10: 'x'
    "#);
}

#[test]
fn a_tool_error_as_a_cause() {
    let code = "
        try:
            await mcp__fixture__fail(message='no rows')
        except ToolError as error:
            raise RuntimeError('no report') from error
    ";
    assert_snapshot!(failure(code), @r#"
    Traceback (most recent call last):
      File "<program>", line 2, in <module>
        await mcp__fixture__fail(message='no rows')
    ToolError: 'mcp__fixture__fail' failed: no rows

    The above exception was the direct cause of the following exception:

    Traceback (most recent call last):
      File "<program>", line 4, in <module>
        raise RuntimeError('no report') from error
    RuntimeError: no report
    "#);
}

#[test]
fn an_exception_group() {
    let code = "
        import asyncio

        async def bad(text):
            raise ValueError(text)

        async with asyncio.TaskGroup() as group:
            group.create_task(bad('first'))
            group.create_task(mcp__fixture__fail(message='second'))
    ";
    assert_snapshot!(own_lines(code), @r#"
      + Exception Group Traceback (most recent call last):
      |   File "<program>", line 6, in <module>
      |     async with asyncio.TaskGroup() as group:
      |                ~~~~~~~~~~~~~~~~~^^
      | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
      +-+---------------- 1 ----------------
        | Traceback (most recent call last):
        |   File "<program>", line 4, in bad
        |     raise ValueError(text)
        | ValueError: first
        +------------------------------------
    "#);
}
