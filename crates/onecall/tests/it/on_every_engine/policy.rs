//! Which tools a program may call, and what happens with the others.

use serde_json::{Value, json};

use crate::support::{Gateway, fixture};

/// Two servers with the same tools, and a policy.
fn gateway(tools: &Value) -> Gateway {
    let servers = [fixture("fixture", &[]), fixture("other-one", &[])];
    Gateway::with_config(&json!({ "servers": servers, "tools": tools }))
}

fn is_listed(gateway: &mut Gateway, names: &[&str]) -> Vec<bool> {
    let listed = gateway.callable_tools();
    names.iter().map(|name| listed.iter().any(|listed| listed == name)).collect()
}

#[test]
fn everything_is_allowed_by_default() {
    let mut gateway = gateway(&json!({}));
    assert_eq!(gateway.callable_tools().len(), 70);
    let code = "print(await mcp__fixture__add(1, 2), await mcp__other_one__add(3, 4))";
    assert_eq!(gateway.prints(code), "3 7\n");
}

#[test]
fn allow_admits_only_what_it_names() {
    let patterns = ["mcp__fixture__add", "mcp__other_*__big*", "*nothing"];
    let mut gateway = gateway(&json!({ "allow": patterns }));
    assert_eq!(
        gateway.callable_tools(),
        [
            "mcp__fixture__add",
            "mcp__fixture__nothing",
            "mcp__other_one__big",
            "mcp__other_one__bigint",
            "mcp__other_one__nothing",
        ]
    );
    assert_eq!(gateway.prints("print(await mcp__fixture__add(1, 2))"), "3\n");
    let code = "
        try:
            await mcp__other_one__add(1, 2)
        except ToolError as error:
            print(error)
    ";
    assert_eq!(gateway.prints(code), "'mcp__other_one__add' is not available in execute_program\n");
}

#[test]
fn an_empty_allow_admits_nothing() {
    let mut gateway = gateway(&json!({ "allow": [] }));
    assert_eq!(gateway.callable_tools(), [""; 0]);
    let reason = gateway.fails("await mcp__fixture__add(1, 2)");
    let expected = "ToolError: 'mcp__fixture__add' is not available in execute_program";
    assert!(reason.lines().any(|line| line == expected), "{reason}");
}

#[test]
fn block_takes_away_what_it_names() {
    let mut gateway = gateway(&json!({ "block": ["mcp__fixture__a*", "mcp__*__crash"] }));
    assert_eq!(gateway.callable_tools().len(), 70 - 4);
    let names = [
        "mcp__fixture__add",
        "mcp__fixture__args",
        "mcp__fixture__crash",
        "mcp__other_one__crash",
        "mcp__fixture__echo",
        "mcp__other_one__add",
    ];
    assert_eq!(is_listed(&mut gateway, &names), [false, false, false, false, true, true]);
    let code = "print(await mcp__other_one__add(1, 2), await mcp__fixture__echo(value=5))";
    assert_eq!(gateway.prints(code), "3 5\n");
}

#[test]
fn a_blocked_tool_raises_a_tool_error_that_can_be_caught() {
    let mut gateway = gateway(&json!({ "block": ["mcp__fixture__add"] }));
    let code = "
        import asyncio
        caught = []
        try:
            await mcp__fixture__add(a=1, b=2)
        except NameError:
            print('NameError')
        except ToolError as error:
            caught.append(error)
        caught += await asyncio.gather(mcp__other_one__nothing(), return_exceptions=True)
        for call in (lambda: mcp__fixture__add(), lambda: mcp__fixture__add(1, 2, 3, 4, 5)):
            try:
                await call()
            except ToolError as error:
                caught.append(error)
        print(*caught, sep='\\n')
    ";
    let text = "'mcp__fixture__add' is not available in execute_program";
    assert_eq!(gateway.prints(code), format!("{text}\nNone\n{text}\n{text}\n"));
}

#[test]
fn a_blocked_tool_can_be_one_of_many() {
    let mut gateway = gateway(&json!({ "block": ["mcp__fixture__add"] }));
    let code = "
        import asyncio
        results = await asyncio.gather(
            mcp__other_one__add(1, 2), mcp__fixture__add(3, 4), return_exceptions=True)
        print(*map(repr, results), sep='\\n')
    ";
    assert_eq!(
        gateway.prints(code),
        "3\nToolError(\"'mcp__fixture__add' is not available in execute_program\")\n",
        "as any other call that fails does"
    );
}

#[test]
fn a_blocked_tool_is_blocked_uncaught_too() {
    let mut gateway = gateway(&json!({ "block": ["mcp__fixture__add"] }));
    insta::assert_snapshot!(gateway.fails("x = 1\nprint(await mcp__fixture__add(a=1, b=2))"), @r#"
    [Nothing was executed]
      File "<program>", line 2
        print(await mcp__fixture__add(a=1, b=2))
    ToolError: 'mcp__fixture__add' is not available in execute_program
    "#);
}

#[test]
fn a_blocked_tool_is_neither_shown_nor_suggested() {
    let mut gateway = gateway(&json!({ "block": ["mcp__fixture__weather"] }));
    let mut inspect = |name: &str| {
        let answer = gateway.session.call_tool("inspect_tool", json!({ "tool_name": name }));
        (answer.is_error, answer.text)
    };
    let (is_error, text) = inspect("mcp__fixture__weather");
    let first = text.lines().next().unwrap();
    assert_eq!(
        (is_error, first),
        (true, "[Tool not found] 'mcp__fixture__weather' is not available in execute_program")
    );
    for misspelt in ["mcp__fixture__weathr", "mcp__fixture__wether"] {
        assert!(!inspect(misspelt).1.contains("'mcp__fixture__weather'"));
    }
    let reason = gateway.fails("await mcp__fixture__weathr(city='Rome')");
    assert!(reason.contains("NameError: name 'mcp__fixture__weathr' is not defined"), "{reason}");
    assert!(!reason.contains("'mcp__fixture__weather'"), "{reason}");
}

#[test]
fn odd_names_are_callable_and_shadow_nothing() {
    let mut gateway = gateway(&json!({}));
    let code = "
        import builtins
        print(await mcp__fixture__weird_name_tool())
        print(await mcp__fixture__class())
        print(await mcp__fixture__print())
        print(print is builtins.print)
        class Thing: pass
        print(Thing.__name__)
    ";
    assert_eq!(gateway.prints(code), "ok\nok\nok\nTrue\nThing\n");
    let names = [
        "mcp__fixture__weird_name_tool",
        "mcp__fixture__class",
        "mcp__fixture__print",
        "mcp__other_one__print",
        "mcp__other-one__print",
        "mcp__fixture__weird-name.tool",
    ];
    assert_eq!(is_listed(&mut gateway, &names), [true, true, true, true, false, false]);
}

#[test]
fn a_program_may_use_a_tools_name_for_itself() {
    let mut gateway = gateway(&json!({ "block": ["mcp__fixture__add"] }));
    let code = "
        def mcp__fixture__add(a, b):
            return a * b
        mcp__fixture__echo = 5
        print(mcp__fixture__add(3, 4), mcp__fixture__echo)
    ";
    assert_eq!(gateway.prints(code), "12 5\n");
}
