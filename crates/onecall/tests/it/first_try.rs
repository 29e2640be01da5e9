//! What a program learns from its first try: what a tool without a declared result type returned, and
//! what it meant by a wrong argument.

use crate::support::{Gateway, failed, printed};

const ROWS: &str = r#"[{'country': 'DE', 'total': 3}]"#;

#[test]
fn a_failure_on_an_undeclared_value_names_what_the_tool_returned() {
    let mut gateway = Gateway::new();
    let last = |text: &str| text.lines().find(|it| it.contains(" returned ")).map(str::to_owned);
    let python =
        format!("rows = await mcp__fixture__echo(value=\"{ROWS}\")\nprint(rows[0]['country'])");
    assert_eq!(
        last(&failed(&gateway.execute(&python))).as_deref(),
        Some(
            "[mcp__fixture__echo returned str: \"[{'country': 'DE', 'total': 3}]\"; it is a Python \
             literal, not JSON: ast.literal_eval(text) reads it]"
        )
    );
    let typescript = format!(
        "const rows = await mcp__fixture__echo({{ value: \"{ROWS}\" }});\nconsole.log(rows[0].country.length)"
    );
    assert_eq!(
        last(&failed(&gateway.execute_typescript(&typescript))).as_deref(),
        Some(
            "[mcp__fixture__echo returned a string: \"[{'country': 'DE', 'total': 3}]\"; it is a \
             Python literal, not JSON: parsePythonLiteral(text) reads it]"
        )
    );
    let missing = "rows = await mcp__fixture__rows(count=1)\nrows['total']";
    let named = last(&failed(&gateway.execute(missing))).unwrap_or_default();
    assert!(named.starts_with("[mcp__fixture__rows returned list: [{"), "{named}");
    // A program that does what the remark says, for a tool that answers something else this time.
    let text = "Database error: no such table";
    for code in [
        format!("import ast\nast.literal_eval(await mcp__fixture__echo(value='{text}'))"),
        format!(
            "import ast, asyncio\nasync def read():\n    ast.literal_eval(await \
             mcp__fixture__echo(value='{text}'))\nasync with asyncio.TaskGroup() as group:\n    \
             group.create_task(read())"
        ),
    ] {
        let named = last(&failed(&gateway.execute(&code))).unwrap_or_default();
        assert_eq!(named, format!("[mcp__fixture__echo returned str: \"{text}\"]"));
    }
    let code = format!("parsePythonLiteral(await mcp__fixture__echo({{ value: '{text}' }}))");
    let named = last(&failed(&gateway.execute_typescript(&code))).unwrap_or_default();
    assert_eq!(named, format!("[mcp__fixture__echo returned a string: \"{text}\"]"));
    // A failure that has nothing to do with values, and a tool that declares its result.
    for code in [
        "await mcp__fixture__echo(value=1)\nraise RuntimeError('x')",
        "(await mcp__fixture__add(1, 2))['x']",
    ] {
        assert_eq!(last(&failed(&gateway.execute(code))), None, "{code}");
    }
}

#[test]
fn both_languages_can_read_what_python_printed() {
    let mut gateway = Gateway::new();
    let python = format!(
        "import ast\nprint(ast.literal_eval(await mcp__fixture__echo(value=\"{ROWS}\"))[0]['country'])"
    );
    assert_eq!(printed(&gateway.execute(&python)), "DE\n");
    let code = r#"
        const parse = parsePythonLiteral;
        console.log(parse("[{'a': 'it\\'s', \"b\": (1, -2.5e3, None)}, True, {'x'}, ()]"));
        console.log(parse("'\\u00fc\\x41\\n'"), parse(" {1: {}, 'k': [ ]} "), parse("(7)"), parse("(7,)"));
        for (const bad of ["[1", "{'a'}x", "open('x')", "", "['a' 'b']"]) {
            try { console.log(parse(bad)) } catch (error) { console.log(`${error}`) }
        }
    "#;
    assert_eq!(
        printed(&gateway.execute_typescript(code)),
        "[ { a: \"it's\", b: [ 1, -2500, null ] }, true, [ 'x' ], [] ]\n\
         üA\n { '1': {}, k: [] } 7 [ 7 ]\n\
         SyntaxError: Not a Python literal: expected \",\" or \"]\" at position 2\n\
         SyntaxError: Not a Python literal: expected the end at position 5\n\
         SyntaxError: Not a Python literal: expected a value at position 0\n\
         SyntaxError: Not a Python literal: expected a value at position 0\n\
         SyntaxError: Not a Python literal: expected \",\" or \"]\" at position 5\n"
    );
}

#[test]
fn an_unknown_argument_is_named_with_the_one_that_was_meant() {
    let mut gateway = Gateway::new();
    let meant = "'path' is missing, and there is no parameter 'file': did you mean 'path'?";
    for code in [
        "await mcp__fixture__read_text(file='a')",
        "if True:\n    await mcp__fixture__read_text(file='a')",
    ] {
        let text = failed(&gateway.execute(code));
        assert!(text.contains(meant) && text.contains("(path: str) -> Any"), "{text}");
    }
    for code in [
        "await mcp__fixture__read_text({ file: 'a' })",
        "if (true) await mcp__fixture__read_text({ file: 'a' })",
    ] {
        let text = failed(&gateway.execute_typescript(code));
        assert!(text.contains(meant), "{text}");
        assert!(text.contains("await mcp__fixture__read_text({ path: string })"), "{text}");
    }
}

#[test]
fn typescript_that_prints_nothing_learns_the_type_of_its_last_expression() {
    let mut gateway = Gateway::new();
    for (code, kind) in [
        ("const rows = await mcp__fixture__rows({ count: 1 });\nrows", Some("Array")),
        ("return 'x'", Some("string")),
        ("mcp__fixture__add({ a: 1, b: 2 })", Some("Promise")),
        ("await mcp__fixture__add({ a: 1, b: 2 })", Some("number")),
        ("new Map()", Some("Map")),
        ("const x = 1;", None),
        ("undefined", None),
        ("null", None),
    ] {
        let mut expected = "(no output)".to_owned();
        if let Some(kind) = kind {
            expected += &format!(
                "\nOnly what is printed comes back; the last expression has a value of type {kind}."
            );
        }
        assert_eq!(printed(&gateway.execute_typescript(code)), expected, "{code}");
    }
}

#[test]
fn a_learned_python_literal_is_named_in_signatures() {
    let mut gateway = Gateway::new();
    gateway.prints(&format!("print(await mcp__fixture__echo(value=\"{ROWS}\"))"));
    let code = "
        import asyncio
        for _ in range(500):
            [found] = tools.search('mcp__fixture__echo', limit=1)
            if 'literal' in found['signature']: break
            await asyncio.sleep(0.01)
        print(found['signature'])
    ";
    assert_eq!(
        gateway.prints(code),
        "await mcp__fixture__echo(value: Any) -> str  # a Python literal, not JSON: read it with \
         ast.literal_eval; observed in 1 call\n"
    );
}
