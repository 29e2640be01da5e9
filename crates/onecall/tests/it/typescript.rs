//! Programs in TypeScript: tools, imports, values, and what is said of failures.

use serde_json::json;

use crate::support::{Gateway, Home, failed, finish, fixture, printed};

/// What each of these expressions prints, or the error it throws.
fn outcomes(gateway: &mut Gateway, expressions: &[&str]) -> Vec<String> {
    let mut code = String::new();
    for expression in expressions {
        code += &format!(
            "try {{ console.log({expression}); }} catch (error) {{ console.log(`${{error}}`); }}\n"
        );
    }
    let text = printed(&gateway.execute_typescript(&code));
    text.lines().map(str::to_owned).collect()
}

fn check(cases: &[(&str, &str)]) {
    let (expressions, expected): (Vec<&str>, Vec<&str>) = cases.iter().copied().unzip();
    assert_eq!(outcomes(&mut Gateway::new(), &expressions), expected);
}

#[test]
fn tools_are_called_in_every_way() {
    check(&[
        ("await mcp__fixture__add({ a: 1, b: 2 })", "3"),
        ("await mcp__fixture__add(1, 2)", "3"),
        ("await tools.add({ a: 1, b: 2 })", "3"),
        ("await tools['mcp__fixture__add'](1, 2)", "3"),
        ("await globalThis['mcp__fixture__add'](1, 2)", "3"),
        (
            "typeof mcp__fixture__add, typeof mcp__fixture__ad, 'mcp__fixture__add' in globalThis",
            "function undefined true",
        ),
        ("mcp__fixture__add({ a: 1, b: 2 }) instanceof Promise", "true"),
        ("mcp__fixture__add.name", "mcp__fixture__add"),
        ("await mcp__fixture__positional('x')", "{ first: 'x' }"),
        (
            "await mcp__fixture__add(1, 2, 3)",
            "TypeError: mcp__fixture__add() takes one object, or at most 2 arguments, but 3 were given",
        ),
        (
            "(await tools.search('add two numbers', 1))[0].signature",
            "await mcp__fixture__add({ a: number; b: number }): Promise<number>",
        ),
        ("Object.keys(tools).includes('mcp__fixture__add')", "true"),
        (
            "mcp__fixture__ech",
            "ReferenceError: mcp__fixture__ech is not defined. Did you mean: 'mcp__fixture__echo'?",
        ),
        ("tools.ad", "ReferenceError: there is no tool 'ad'. Did you mean: 'mcp__fixture__add'?"),
    ]);
}

#[test]
fn help_prints_how_to_call_a_tool() {
    let mut gateway = Gateway::new();
    let add =
        "await mcp__fixture__add({ a: number; b: number }): Promise<number>\nAdds two numbers.\n";
    for code in ["help(tools.add)", "help(mcp__fixture__add)", "help('mcp__fixture__add')"] {
        assert_eq!(printed(&gateway.execute_typescript(code)), add, "{code}");
    }
    let read = "await read_resource({ uri: string; server?: string }): Promise<unknown>  \
                // not declared; JSON text arrives parsed: print a small result first\n\
                A resource: its text, or a dict with mimeType and base64 blob.\n";
    for code in ["help(read_resource)", "help('read_resource')", "help(tools.read_resource)"] {
        assert_eq!(printed(&gateway.execute_typescript(code)), read, "{code}");
    }
    for (code, expected) in [
        ("help('xylophone')", "ToolError: help() takes tools; there is no tool 'xylophone'"),
        (
            "help('ad')",
            "ToolError: help() takes tools; there is no tool 'ad'. Did you mean: \
             'mcp__fixture__add'?",
        ),
    ] {
        let text = failed(&gateway.execute_typescript(code));
        assert!(text.lines().any(|line| line == expected), "{text}");
    }
}

#[test]
fn names_that_are_meant_are_said_in_the_same_words_before_and_in_a_run() {
    let mut gateway = Gateway::new();
    let said = |gateway: &mut Gateway, code: &str| {
        let text = failed(&gateway.execute_typescript(code));
        let line = text.lines().find(|line| line.starts_with("ReferenceError: "));
        (line.unwrap_or(&text).to_owned(), text.contains("[Nothing was executed]"))
    };
    for code in ["mcp__fixture__ech", "tools.ech"] {
        let (before, is_refused) = said(&mut gateway, &format!("await {code}({{ value: 1 }})"));
        let (during, is_refused_too) =
            said(&mut gateway, &format!("if (Date.now() > 0) await {code}({{ value: 1 }})"));
        assert_eq!((is_refused, is_refused_too), (true, false), "{code}");
        assert!(before.ends_with("Did you mean: 'mcp__fixture__echo'?"), "{before}");
        assert_eq!(before, during, "{code}");
    }
}

#[test]
fn digests_are_those_of_node() {
    check(&[
        (
            "[...new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode('é')))].length",
            "32",
        ),
        (
            "(await import('node:crypto')).createHash('sha256').update('a').update(new Uint8Array([98])).digest('hex')",
            "fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603",
        ),
        (
            "(await import('crypto')).createHash('sha1').update('abc').digest('hex')",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
        ),
        (
            "(await import('crypto')).createHash('md5').update('abc').digest('base64')",
            "kAFQmDzST7DWlj99KOF/cg==",
        ),
        (
            "(await import('crypto')).createHash('SHA-512').update('').digest('hex').slice(0, 16)",
            "cf83e1357eefb8bd",
        ),
        (
            "(await import('crypto')).createHmac('sha256', 'key').update('The quick brown fox jumps over the lazy dog').digest('hex')",
            "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
        ),
        (
            "(await import('crypto')).createHash('sha3')",
            "Error: there is no hash 'sha3', only md5, sha1, sha224, sha256, sha384 and sha512",
        ),
        (
            "await crypto.subtle.digest('MD5', new Uint8Array(1))",
            "NotSupportedError: Unrecognized algorithm name",
        ),
        (
            "await crypto.subtle.digest('SHA-1', 'text')",
            "TypeError: data must be an ArrayBuffer or a typed array",
        ),
        ("(await import('crypto')).randomBytes(5).length", "5"),
    ]);
}

#[test]
fn type_arguments_are_no_comparisons() {
    // JavaScript reads all of these, and compares.
    let code = "
        const give = (it) => it;
        const [row, a, b] = [3, 1, 5];
        console.log(give<row>(7), give<a, b>(8), give<Map<row>>(9), new Set<row>([1, 2]).size);
        console.log(String.raw<row>`x`, await give<row>(Promise.resolve(4)).then(give));
    ";
    let mut gateway = Gateway::new();
    assert_eq!(printed(&gateway.execute_typescript(code)), "7 8 9 2\nx 4\n");
    for (comparisons, expected) in [
        ("a < b, b > (a), (a < b) > (0), 8 >>> (a)", "true true true 4\n"),
        ("a<b && b>(6), a<b || b>>(1)", "false true\n"),
    ] {
        let code = format!("const [a, b] = [1, 5];\nconsole.log({comparisons});");
        assert_eq!(printed(&gateway.execute_typescript(&code)), expected);
    }
}

#[test]
fn tools_are_imported_from_their_server() {
    let config = json!({ "servers": [fixture("financial-data", &[])] });
    let mut gateway = Gateway::with_config(&config);
    let answer = gateway.execute_typescript(
        "
        import { listEmployees, list_employees, weird_name_tool } from './servers/financial-data';
        import * as all from 'mcp-apis/financial-data/index.ts';
        import everything from '../servers/financialData.js';
        import add, { add as sum } from './servers/financial_data/add';
        import type { Employee } from './servers/nowhere';
        console.log(listEmployees === list_employees || (await listEmployees()).length === 14);
        console.log(await all.add(1, 2), await everything.add(3, 4), await add(5, 6), await sum(7, 8));
        console.log(await weird_name_tool(), typeof all.weirdNameTool);
        const later = await import('./servers/financial-data');
        console.log(await later.add({ a: 1, b: 1 }));
        ",
    );
    assert_eq!(printed(&answer), "true\n3 7 11 15\nok function\n2\n");

    let fails = |gateway: &mut Gateway, code| failed(&gateway.execute_typescript(code));
    assert_eq!(
        fails(
            &mut gateway,
            "import { lisEmployees } from './servers/financial-data';\nlisEmployees();"
        ),
        "<program>:1:10\nimport { lisEmployees } from './servers/financial-data';\n         ^\n\
         SyntaxError: './servers/financial-data' has no tool 'lisEmployees'. Did you mean: \
         'listEmployees' or 'list_employees'?",
    );
    assert_eq!(
        fails(&mut gateway, "const x = 1;\nimport * as it from './servers/sales';\nit;"),
        "<program>:2:21\nimport * as it from './servers/sales';\n                    ^\n\
         SyntaxError: there is no server 'sales' with tools; there are: financial-data",
    );
}

#[test]
fn values_arrive_unchanged_or_the_call_fails() {
    let no = "which JSON cannot carry; pass strings, finite numbers, bigints, booleans, null, arrays \
              or plain objects";
    let refused = |what: &str| format!("TypeError: argument 'value' is {what}, {no}");
    let (nan, promise) = (refused("NaN"), refused("a Promise that was not awaited"));
    let nested = format!("TypeError: argument 'value[0].k' is a function, {no}");
    check(&[
        ("(await mcp__fixture__bigint()).n", "123456789012345678901234567890n"),
        (
            "await mcp__fixture__echo({ value: 123456789012345678901234567890n })",
            "123456789012345678901234567890n",
        ),
        (
            "await mcp__fixture__echo({ value: [9007199254740991, 9007199254740992n, 0.1, -1.5e300] })",
            "[ 9007199254740991, 9007199254740992n, 0.1, -1.5e+300 ]",
        ),
        (
            "await mcp__fixture__raw_arguments({ a: undefined, b: [undefined], d: new Date(0), e: null })",
            "{ b: [ null ], d: '1970-01-01T00:00:00.000Z', e: null }",
        ),
        ("await mcp__fixture__echo({ value: '9007199254740993' })", "9007199254740993"),
        ("await mcp__fixture__nothing()", "null"),
        ("await mcp__fixture__echo({ value: 'é😀\\n' }) === 'é😀\\n'", "true"),
        ("await mcp__fixture__echo({ value: NaN })", &nan),
        ("await mcp__fixture__echo({ value: Promise.resolve(1) })", &promise),
        ("await mcp__fixture__echo({ value: [{ k: () => 1 }] })", &nested),
    ]);
}

/// The check sees only what certainly runs; the promise of a call sees the rest.
#[test]
fn a_promise_that_is_used_as_a_result_fails_the_program() {
    let mut gateway = Gateway::new();
    for used in [
        "rows.length",
        "rows[0]",
        "rows?.items",
        "`${rows}`",
        "rows + 1",
        "[...rows]",
        "Object.entries({ rows }).map(([, it]) => it.map(String))",
        "JSON.stringify({ rows })",
        "(() => { const { items } = rows; return items })()",
        "Promise.all(rows)",
    ] {
        let code = format!(
            "if (Date.now() > 0) {{\n  const rows = mcp__fixture__rows({{ count: 2 }});\n  \
             console.log(await ({used}));\n}}"
        );
        let text = failed(&gateway.execute_typescript(&code));
        let message = "TypeError: the result of mcp__fixture__rows() on line 2 is used and was never \
                       awaited; write (await mcp__fixture__rows(...))";
        assert!(text.contains(message), "{used}: {text}");
    }
    let code = "
        const add = (a: number) => mcp__fixture__add({ a, b: 1 });
        const both = async () => add(2);
        const call = add(1);
        console.log(call instanceof Promise, typeof call.then, Object.prototype.toString.call(call));
        console.log(call, await call, call, [call]);
        console.log(await Promise.resolve(add(3)), await Promise.race([add(4)]), await both());
        console.log(await Promise.all([add(5), both()]), await Promise.any([add(6)]));
        console.log((await Promise.allSettled([add(7)]))[0].status);
        console.log(await add(8).then((it) => it + 1).finally(() => 0), await add(9).catch(() => 0));
        for await (const it of [add(10)]) console.log(it);
        const wait = async function* () { yield add(11); };
        for await (const it of wait()) console.log(it);
        console.log(await Array.fromAsync([add(12)]), typeof add(13), !add(14), add(15) === call);
    ";
    assert_eq!(
        printed(&gateway.execute_typescript(code)),
        "true function [object Promise]\n\
         Promise { 2 } 2 Promise { 2 } [ Promise { 2 } ]\n\
         4 5 3\n[ 6, 3 ] 7\nfulfilled\n10 10\n11\n12\n[ 13 ] object false false\n"
    );
}

#[test]
fn objects_arrive_as_the_data_they_stand_for() {
    let send = |value: &str| {
        format!("JSON.stringify(await mcp__fixture__raw_arguments({{ value: {value} }}))")
    };
    let cases = [
        (
            "new Map<any, any>([['a', new Set([1, 2])], [3, { b: new Map() }]])",
            r#"{"3":{"b":{}},"a":[1,2]}"#,
        ),
        ("new Date(0)", r#""1970-01-01T00:00:00.000Z""#),
        ("new Uint8Array([1, 255])", "[1,255]"),
        ("new Float64Array([0.5])", "[0.5]"),
        ("new Uint8Array([1, 2]).buffer", "[1,2]"),
        ("new URL('https://a.example/b?c=d')", r#""https://a.example/b?c=d""#),
        ("new URLSearchParams({ a: 'b c' })", r#""a=b+c""#),
        ("[new Number(3), new String('s'), new Boolean(false)]", r#"[3,"s",false]"#),
        ("new Map([['a', 1]]).values()", "[1]"),
        ("(function* () { yield 1; yield new Set(['x']); })()", r#"[1,["x"]]"#),
        ("{ a: undefined, b: [undefined], c: 10n }", r#"{"b":[null],"c":10}"#),
        ("new (class { x = 1; #y = 2; get z() { return 3; } })()", r#"{"x":1}"#),
        ("new (class extends Map { toJSON() { return 'mine'; } })()", r#""mine""#),
    ];
    let calls: Vec<String> = cases.iter().map(|(value, _)| send(value)).collect();
    let whole: Vec<String> =
        cases.iter().map(|(_, json)| format!("{{\"value\":{json}}}")).collect();
    let pairs: Vec<(&str, &str)> =
        calls.iter().map(String::as_str).zip(whole.iter().map(String::as_str)).collect();
    check(&pairs);

    let no = "which JSON cannot carry; pass strings, finite numbers, bigints, booleans, null, arrays \
              or plain objects";
    let refused = [
        ("new Date(NaN)", "a is an invalid Date"),
        ("[{ 'b c': -Infinity }]", "a[0][\"b c\"] is Infinity"),
        ("{ b: NaN }", "a.b is NaN"),
        ("new Map([[{}, 1]])", "a is a Map with keys that are not strings"),
        ("new Map<any, any>([[1, 1], ['1', 2]])", "a is a Map with the key '1' twice"),
        ("[/x/]", "a[0] is a regular expression"),
        ("new Error('x')", "a is an Error (pass its message)"),
        ("(function* () { for (;;) yield 1; })()", "a is an iterator of more than 1000000 items"),
        ("(async function* () { yield 1; })()", "a is an async iterator (collect its items first)"),
        ("Symbol('s')", "a is a symbol"),
    ];
    let calls: Vec<String> = refused
        .iter()
        .map(|(value, _)| format!("await mcp__fixture__raw_arguments({{ a: {value} }})"))
        .collect();
    let messages: Vec<String> = refused
        .iter()
        .map(|(_, what)| {
            let (place, what) = what.split_once(" is ").unwrap();
            format!("TypeError: argument '{place}' is {what}, {no}")
        })
        .collect();
    let pairs: Vec<(&str, &str)> =
        calls.iter().map(String::as_str).zip(messages.iter().map(String::as_str)).collect();
    check(&pairs);

    let endless = "TypeError: argument 'a' is nested too deeply or contains itself";
    check(&[
        (
            "await mcp__fixture__raw_arguments({ a: (() => { const o: any = {}; o.o = o; return o; })() })",
            endless,
        ),
        (
            "await mcp__fixture__raw_arguments({ a: (() => { const m = new Map(); m.set('m', m); return m; })() })",
            endless,
        ),
        (
            "await mcp__fixture__raw_arguments({ a: (() => { class E { toJSON() { return new E(); } } return new E(); })() })",
            endless,
        ),
    ]);
}

#[test]
fn failures_name_the_line_of_their_author() {
    let mut gateway = Gateway::new();
    let mut fails = |code: &str| failed(&gateway.execute_typescript(code));
    let uncaught = fails(
        "
        interface Row { id: number }

        enum Kind { A, B }
        async function load(id: number): Promise<Row> {
          return await mcp__fixture__fail({ message: `no row ${id}` }) as Row;
        }
        console.log('before');
        await load(Kind.B);
        ",
    );
    insta::assert_snapshot!(uncaught, @r"
    <program>:5:56
      return await mcp__fixture__fail({ message: `no row ${id}` }) as Row;
                                                           ^
    ToolError: 'mcp__fixture__fail' failed: no row 1
        at load (<program>:5:56)
        at <program>:8:12
    [Output before the failure]
    before
    ");
    insta::assert_snapshot!(fails("const a: number = ;\n"), @r"
    <program>:1:19
    const a: number = ;
                      ^
    SyntaxError: Unexpected token
    ");
    insta::assert_snapshot!(fails("const data = {};\nconsole.log(data.rows.length);"), @r"
    <program>:2:13
    console.log(data.rows.length);
                ^
    TypeError: cannot read property 'length' of undefined
        at <program>:2:13
    ");
    insta::assert_snapshot!(fails("throw { code: 7 };"), @"Uncaught { code: 7 }");
    insta::assert_snapshot!(fails("await new Promise(() => {});"), @"Error: the program awaits a promise that nothing can settle any more");
    insta::assert_snapshot!(fails("const page = await fetch('https://example.com');"), @r"
    <program>:1:20
    const page = await fetch('https://example.com');
                       ^
    ReferenceError: fetch is not available: programs reach the outside only through tools
        at <program>:1:20
    [Programs have no network. What they need from outside has to come from another tool (search_tools) or from the user]
    ");
}

#[test]
fn what_nobody_awaits_is_finished_and_what_nobody_catches_fails() {
    let mut gateway = Gateway::new();
    let answer = gateway.execute_typescript(
        "mcp__fixture__add(1, 2).then((sum) => console.log('later', sum));\nconsole.log('now');",
    );
    assert_eq!(printed(&answer), "now\nlater 3\n");
    let code = "mcp__fixture__fail({ message: 'lost' });\nawait mcp__fixture__add(1, 1);\nconsole.log('on');";
    insta::assert_snapshot!(failed(&gateway.execute_typescript(code)), @r"
    <program>:1:1
    mcp__fixture__fail({ message: 'lost' });
    ^
    ToolError: 'mcp__fixture__fail' failed: lost
        at <program>:1:1
    [Output before the failure]
    on
    [Tool calls completed: 1]
    ");
    let code = "setTimeout(() => { throw new Error('in a timer'); }, 1);\nawait new Promise((r) => setTimeout(r, 1000));";
    assert!(
        failed(&gateway.execute_typescript(code))
            .contains("Error: in a timer\n    at <program>:1:30")
    );
}

#[test]
fn calls_run_in_parallel() {
    let answer = Gateway::new().execute_typescript(
        "console.log(Math.max(...await Promise.all([1, 2, 3, 4].map(() => mcp__fixture__in_flight({ ms: 60_000, until: 4 })))));",
    );
    assert_eq!(printed(&answer), "4\n");
}

#[test]
fn blocked_tools_are_refused() {
    let config = json!({
        "servers": [fixture("fixture", &[])], "tools": { "block": ["mcp__fixture__add"] },
    });
    let mut gateway = Gateway::with_config(&config);
    let expressions = ["await mcp__fixture__add(1, 2)", "await tools.add(1, 2)"];
    assert_eq!(
        outcomes(&mut gateway, &expressions),
        [
            "ToolError: 'mcp__fixture__add' is not available in execute_program",
            "ReferenceError: 'add' is not available in execute_program",
        ]
    );
}

#[test]
fn the_language_is_chosen_by_name_or_file() {
    let mut gateway = Gateway::new();
    let mut ask = |arguments| gateway.session.call_tool("execute_program", arguments);
    let python = ask(json!({ "code": "print(1)", "language": "python", "engine": "python" }));
    assert_eq!(printed(&python), "1\n");
    let unknown = ask(json!({ "code": "1", "language": "perl" }));
    assert_eq!(failed(&unknown), "execute_program: 'language' must be one of python, typescript");
    let both = ask(json!({ "code": "1", "language": "typescript", "engine": "cpython" }));
    assert_eq!(failed(&both), "an engine can be chosen for Python only; leave it out");

    let home = Home::with_config(&json!({}));
    for name in ["a.ts", "a.mts", "a.js", "a.mjs"] {
        home.write(name, "console.log([1, 2]);");
        let ended = finish(home.onecall_with_config(&["run", &home.text_path(name)]));
        assert_eq!(ended.stdout, "[ 1, 2 ]\n", "{name}: {}", ended.stderr);
    }
    home.write("a.txt", "console.log({ a: 1 });");
    let arguments = ["run", "--language", "typescript", &home.text_path("a.txt")];
    assert_eq!(finish(home.onecall_with_config(&arguments)).stdout, "{ a: 1 }\n");
}

#[test]
fn source_that_is_nested_beyond_reason_is_an_error() {
    let mut gateway = Gateway::new();
    for (open, close) in [("(", ")"), ("[", "]"), ("-", ""), ("a=>", ""), ("`${", "}`")] {
        let code = open.repeat(100_000) + "1" + &close.repeat(100_000);
        let reason = failed(&gateway.execute_typescript(&code));
        assert_eq!(reason, "SyntaxError: the program is nested too deeply", "{open}");
    }
    // What is deep but not absurd runs, or fails like a program.
    let deep = format!("console.log({}1{})", "(".repeat(500), ")".repeat(500));
    assert_eq!(printed(&gateway.execute_typescript(&deep)), "1\n");
}

/// A program ends where it calls `process.exit`, whatever catches the error that this throws.
#[test]
fn a_program_ends_itself() {
    let mut gateway = Gateway::new();
    let mut outcome = |code: &str| {
        let answer = gateway.execute_typescript(code);
        if answer.is_error { failed(&answer) } else { printed(&answer) }
    };
    let ended = [
        "console.log(1); process.exit(); console.log(2)",
        "try { console.log(1); process.exit(0) } catch (error) { console.log(error); process.exit(1) }",
        "setTimeout(() => process.exit(0), 1); console.log(1); await new Promise(() => {})",
        "process.exitCode = 3; console.log(1); process.exit(0)",
        "process.stdout.write('1'); process.stdout.write('\\n'); process.stderr.write('2')",
        "try { process.exit(0) } catch {} finally { console.log(2); await mcp__fixture__echo({ value: 1 }) }",
    ];
    let printed = ["1\n", "1\n", "1\n", "1\n", "1\n", "(no output)"];
    assert_eq!(ended.map(&mut outcome), printed);
    assert_eq!(
        outcome("console.log(1);\nprocess.exit(2)"),
        "<program>:2:9\nprocess.exit(2)\n        ^\nError: process.exit(2)\n    at <program>:2:9\n\
         [Output before the failure]\n1\n"
    );
    assert_eq!(outcome("process.exitCode = 1"), "Error: process.exitCode is 1");
}
