//! What a tool answers, as a program sees it.

use crate::support::{Gateway, check_calls};

const PNG: &str = "{'type': 'image', 'data': 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==', 'mimeType': 'image/png'}";

#[test]
fn what_goes_in_comes_back() {
    // Each of these is its own `repr`.
    let values = [
        "None",
        "True",
        "0",
        "-7",
        "9007199254740993",
        "18446744073709551616",
        "-123456789012345678901234567890",
        "0.1",
        "1.0",
        "-0.0",
        "1e+300",
        "1e+16",
        "5e-324",
        "1.7976931348623157e+308",
        "''",
        "'é€😀漢字'",
        "'a\\n\\t\\x00\\x1f\"\\\\'",
        "'5'",
        "'null'",
        "' [1]'",
        "[]",
        "{}",
        "[[], [[]], {}]",
        "{'b': 1, 'a': {'deep': [1, 2.0, None, True, {'x': 'ü'}]}, '': 0, 'ключ': '\\u2028'}",
    ];
    let calls: Vec<String> = values.iter().map(|value| format!("echo(value={value})")).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    assert_eq!(Gateway::new().outcomes(&calls), values);
}

#[test]
fn every_kind_of_answer() {
    check_calls(&[
        (
            "structured()",
            "{'name': 'fixture', 'tags': ['a', 'b'], 'nested': {'ratio': 0.5, 'ok': True}}",
        ),
        ("wrapped_list()", "[1, 2, 3]"),
        ("add(a=1, b=2)", "3"),
        ("add(a=0.5, b=2)", "2.5"),
        ("bigint()", "{'n': 123456789012345678901234567890, 'f': 0.1}"),
        (
            "rows(count=1)",
            "[{'id': 1, 'region': 'north', 'product': 'keyboard', 'quantity': 1, 'price': 10.1, 'date': '2025-01-01'}]",
        ),
        ("rows(count=0)", "[]"),
        ("big(bytes=3)", "'xxx'"),
        ("big(bytes=0)", "''"),
        ("image()", PNG),
        ("mixed()", "'a red pixel:'"),
        ("nothing()", "None"),
    ]);
}

#[test]
fn a_failed_call_raises() {
    check_calls(&[
        (
            "fail(message='no such city: Zürich')",
            "ToolError: 'mcp__fixture__fail' failed: no such city: Zürich",
        ),
        (
            "rpc_error()",
            "ToolError: 'mcp__fixture__rpc_error' failed: the fixture refuses this request",
        ),
    ]);
    let code = "
        try:
            await mcp__fixture__fail(message='first\\nsecond')
        except ToolError as error:
            print(type(error).__mro__[1:], error.args, sep='\\n')
    ";
    assert_eq!(
        Gateway::new().prints(code),
        "(<class 'Exception'>, <class 'BaseException'>, <class 'object'>)\n\
         (\"'mcp__fixture__fail' failed: first\\nsecond\",)\n"
    );
}

#[test]
fn large_values_travel_whole() {
    let code = "
        text = 'ü' * 2_000_000
        print(await mcp__fixture__echo(value=text) == text)
        print(len(await mcp__fixture__big(bytes=20_000_000)))
        rows = await mcp__fixture__rows(count=20_000)
        print(len(rows), sum(row['quantity'] for row in rows), rows[-1]['id'])
    ";
    let expected: u64 = (0..20_000).map(|number| number * 13 % 19 + 1).sum();
    assert_eq!(Gateway::new().prints(code), format!("True\n20000000\n20000 {expected} 20000\n"));
}

/// Keys and short strings that come again are made once; nothing may be taken for another.
#[test]
fn tables_come_back_as_they_are() {
    let code = "
        import json, random
        pick = random.Random(7)
        words = ['', 'a', 'é', 'north', 'ключ', 'x' * 32, 'x' * 33, '5', 'null']
        def text():
            return pick.choice([*words, f'value {pick.randrange(3_000)}'])
        def scalar():
            number = pick.randrange(10 ** pick.randrange(1, 25))
            return pick.choice([text(), number, -number, number / 7, None, True])
        def row(keys):
            return {key: scalar() if pick.random() < 0.9 else row(keys[::-1][:2]) for key in keys}
        few = ['id', 'region', 'Ünïcode', '', 'date']
        many = [f'key {number}' for number in range(400)]
        tables = [
            [row(few) for _ in range(3_000)],
            [row(pick.sample(few, 4)) for _ in range(1_000)],
            [row(many) for _ in range(10)],
            [text() for _ in range(5_000)],
        ]
        for table in tables:
            back = await mcp__fixture__echo(value=table)
            print(json.dumps(back) == json.dumps(table))
    ";
    assert_eq!(Gateway::new().prints(code), "True\n".repeat(4));
}
