//! Programs that are written as the body of a coroutine function, which is what they are on servers
//! that run them in their own process.

use serde_json::json;

use crate::support::{Gateway, failed, has_system_python, printed};

/// Each engine that there is.
fn engines() -> Vec<&'static str> {
    let mut engines = vec!["python"];
    engines.extend(has_system_python().then_some("cpython"));
    engines
}

#[test]
fn helpers_change_variables_of_the_top_level() {
    let code = "
        total, calls = 0, []
        async def add(n):
            nonlocal total
            total = await mcp__fixture__add(total, n)
            def note():
                nonlocal n, calls
                n, calls = -n, [*calls, n]
            note()
            return n
        print(await add(2), await add(3), total, calls)
        return
    ";
    let mut gateway = Gateway::new();
    for engine in engines() {
        assert_eq!(printed(&gateway.execute_on(engine, code)), "-2 -3 5 [2, 3]\n", "{engine}");
        let unbound = "def f():\n    nonlocal nowhere\n";
        let failure = failed(&gateway.execute_on(engine, unbound));
        let last = failure.lines().last().unwrap_or_default();
        assert_eq!(last, "SyntaxError: no binding for nonlocal 'nowhere' found", "{engine}");
    }
}

#[test]
fn helpers_change_variables_of_an_earlier_program_of_the_session() {
    let mut gateway = Gateway::new();
    let mut run = |code: &str| {
        let arguments = json!({ "code": code, "session": "a" });
        printed(&gateway.session.call_tool("execute_program", arguments))
    };
    run("count = 1");
    let code = "def f():\n    nonlocal count\n    count += 1\nf()\nprint(count)";
    assert_eq!((run(code), run("print(count)")), ("2\n".to_owned(), "2\n".to_owned()));
}

#[test]
fn a_program_without_an_await_finds_a_loop_as_it_needs_one() {
    let cases = [
        ("print(asyncio.get_running_loop().is_running())", "True\n"),
        ("task = asyncio.create_task(mcp__fixture__add(1, 2))\nprint(task.done())", "False\n"),
        (
            "loop = asyncio.get_event_loop()\n\
             print(loop.run_until_complete(mcp__fixture__add(1, 2)), loop.is_running())",
            "3 False\n",
        ),
        ("print(asyncio.run(mcp__fixture__add(1, 2)))", "3\n"),
        ("print(asyncio.iscoroutinefunction(mcp__fixture__add))", "True\n"),
    ];
    let mut gateway = Gateway::new();
    for engine in engines() {
        for (code, expected) in cases {
            let code = format!("import asyncio\n{code}");
            assert_eq!(printed(&gateway.execute_on(engine, &code)), expected, "{engine}: {code}");
        }
    }
}

#[test]
fn globals_has_the_names_of_tools() {
    let code = "
        mcp__fixture__echo = 'my own'
        names = [name for name in globals() if name.startswith('mcp__fixture__')]
        tools = dict(item for item in globals().items() if item[0] in names)
        print(names.count('mcp__fixture__echo'), tools['mcp__fixture__echo'])
        print(await tools['mcp__fixture__add'](a=1, b=2), await globals()['mcp__fixture__add'](1, 3))
        print(len(globals()) == len(list(globals())), set(names) < set(globals()))
    ";
    let mut gateway = Gateway::new();
    for engine in engines() {
        let expected = "1 my own\n3 4\nTrue True\n";
        assert_eq!(printed(&gateway.execute_on(engine, code)), expected, "{engine}");
    }
}
