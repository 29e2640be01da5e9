//! `tools`: the same tools without `await`, and what there is to find out about them.

use serde_json::json;

use crate::support::{Gateway, fixture};

#[test]
fn a_call_gives_the_value_at_once() {
    let mut gateway = Gateway::new();
    let code = "
        print(tools.mcp__fixture__add(1, 2), tools.add(a=3, b=4), tools.add({'a': 5, 'b': 6}))
        rows = [tools.add(number, 1) for number in range(50)]
        print(sum(rows))
        try:
            tools.fail(message='no')
        except ToolError as error:
            print(error)
        try:
            tools.add(1, 2, 3)
        except TypeError as error:
            print(error)
    ";
    let expected = "3 7 11\n1275\n'mcp__fixture__fail' failed: no\n\
                    mcp__fixture__add() takes 2 positional arguments but 3 were given\n";
    assert_eq!(gateway.prints(code), expected);
}

#[test]
fn waiting_calls_and_others_mix() {
    let mut gateway = Gateway::new();
    let code = "
        import asyncio, concurrent.futures
        async def in_the_background():
            return await mcp__fixture__sleep(ms=30)
        task = asyncio.create_task(in_the_background())
        await asyncio.sleep(0)
        print(tools.add(1, 2), await tools.aio.add(3, 4), await task)
        print(await asyncio.gather(tools.aio.add(1, 1), mcp__fixture__add(2, 2)))
        print(await asyncio.to_thread(tools.add, 5, 5))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            print(list(pool.map(lambda number: tools.add(number, 1), range(8))))
        def plain():
            return tools.add(20, 22)
        print(plain())
    ";
    let expected = "3 7 slept\n[2, 4]\n10\n[1, 2, 3, 4, 5, 6, 7, 8]\n42\n";
    assert_eq!(gateway.prints(code), expected);
}

#[test]
fn a_prefix_makes_a_coroutine_of_a_tool() {
    let servers = json!([fixture("fixture", &[])]);
    let tools = json!({ "block": ["mcp__fixture__echo"] });
    let mut gateway = Gateway::with_config(&json!({ "servers": servers, "tools": tools }));
    let code = "
        import asyncio
        calls = [tools.async_add(1, 2), tools.async_mcp__fixture__add(a=3, b=4), tools.aio.async_add(5, 6)]
        print(await asyncio.gather(*calls), tools.mcp_fixture_add(7, 8))
        for name in ('async_ad', 'async_echo', 'async_', 'mcp_fixture_echo'):
            try:
                getattr(tools, name)
            except AttributeError as error:
                print(error)
    ";
    let expected = "[3, 7, 11] 15\n\
                    there is no tool 'async_ad'. Did you mean: 'mcp__fixture__add'?\n\
                    'async_echo' is not available in execute_program\n\
                    there is no tool 'async_'\n\
                    'mcp_fixture_echo' is not available in execute_program\n";
    assert_eq!(gateway.prints(code), expected);
}

#[test]
fn without_any_await_a_program_is_as_plain_as_it_looks() {
    let mut gateway = Gateway::new();
    assert_eq!(gateway.prints("print(tools.add(1, 2))"), "3\n");
}

#[test]
fn tools_tell_about_themselves() {
    let mut gateway = Gateway::new();
    let code = "
        names = dir(tools)
        print('add' in names, 'mcp__fixture__add' in names, 'search' in names, len(names) > 30)
        print(tools.search('convert money', limit=1))
        help(tools.add)
    ";
    let seen = gateway.prints(code);
    let mut lines = seen.lines();
    assert_eq!(lines.next(), Some("True True True True"));
    let found = lines.next().unwrap();
    assert!(found.starts_with("[{'name': 'mcp__fixture__convert', 'description': "), "{found}");
    assert!(found.contains("'signature': 'await mcp__fixture__convert("), "{found}");
    for line in ["    mcp__fixture__add(a: float, b: float) -> float", "    Adds two numbers."] {
        assert!(seen.contains(line), "{seen}");
    }
}

#[test]
fn a_name_that_is_none_is_explained() {
    let servers = [fixture("one", &[]), fixture("two", &[])];
    let policy = json!({ "block": ["mcp__one__crash", "mcp__two__crash"] });
    let mut gateway = Gateway::with_config(&json!({ "servers": servers, "tools": policy }));
    let code = "
        for name in 'mcp__one__ad', 'add', 'crash', 'mcp__one__crash', 'zzzzzzzzzzzz':
            try:
                getattr(tools, name)
            except AttributeError as error:
                print(error)
        print(hasattr(tools, '__len__'))
    ";
    let expected = "there is no tool 'mcp__one__ad'. Did you mean: 'mcp__one__add'?\n\
                    several tools are named 'add'; write 'mcp__one__add' or 'mcp__two__add'\n\
                    'crash' is not available in execute_program\n\
                    'mcp__one__crash' is not available in execute_program\n\
                    there is no tool 'zzzzzzzzzzzz'\nFalse\n";
    assert_eq!(gateway.prints(code), expected);
}

#[test]
fn questions_are_no_calls() {
    let mut gateway = Gateway::with_limits(&json!({ "max_tool_calls": 1 }));
    let code = "
        for _ in range(5):
            tools.search('add'), dir(tools)
        print(tools.add(1, 2))
        tools.add(1, 2)
    ";
    let reason = gateway.fails(code);
    assert!(reason.contains("the limit of 1 tool calls per program is reached"), "{reason}");
    assert!(
        reason.ends_with("[Output before the failure]\n3\n[Tool calls completed: 1]"),
        "{reason}"
    );
}
