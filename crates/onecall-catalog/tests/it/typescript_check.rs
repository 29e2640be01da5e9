//! What is found in a TypeScript program before it runs, and what is let through.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use onecall_catalog::{Catalog, ParsedProgram, ToolDefinition};
use onecall_core::{Language, Resolution, ServerName, ToolAnnotations, ToolName};
use serde_json::{Value, json};

use crate::support;

fn definition(tool: &str, input_schema: Value) -> ToolDefinition {
    ToolDefinition {
        tool: ToolName::new(tool),
        description: None,
        input_schema: input_schema.into(),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    }
}

fn sales() -> Catalog {
    let orders = json!({
        "type": "object",
        "properties": {
            "region": { "enum": ["north", "south"] },
            "limit": { "type": "integer" },
            "tags": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["region"],
    });
    Catalog::build([(ServerName::new("sales"), vec![definition("orders", orders)])])
}

/// Finds tools by their callable names, after `tools.` and by imports from `./servers/sales`.
fn resolver(catalog: &Catalog) -> impl Fn(&str) -> Option<Resolution> + Sync {
    |name| {
        let full = match name.strip_prefix("sales/") {
            Some(export) => format!("mcp__sales__{export}"),
            None if name.starts_with("mcp__") => name.to_owned(),
            None => format!("mcp__sales__{name}"),
        };
        Some(match catalog.get(&full) {
            _ if full == "mcp__sales__drop" => Resolution::Blocked,
            Some(spec) => Resolution::Callable(spec.clone()),
            None => Resolution::unknown(catalog.nearest(&full, 3)),
        })
    }
}

/// The line, the class and the message of each finding.
fn found(source: &str) -> Vec<String> {
    let findings = ParsedProgram::new(source, Language::TypeScript).findings(&resolver(&sales()));
    findings.iter().map(|it| format!("{} {}: {}", it.line, it.kind, it.message)).collect()
}

const UNAWAITED: &str = "TypeError: the result of mcp__sales__orders() is used and was never \
                         awaited; write (await mcp__sales__orders(...))";

#[test]
fn a_finding_shows_its_place_and_the_signature_in_typescript() {
    let source = "const rows: Row[] =\n  await mcp__sales__orders({ region: 'east' });";
    let findings = ParsedProgram::new(source, Language::TypeScript).findings(&resolver(&sales()));
    let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["<program>:2:9\n    await mcp__sales__orders({ region: 'east' });\n\
          TypeError: mcp__sales__orders(): region: \"east\" is not one of \"north\", \"south\"\n    \
          await mcp__sales__orders({ region: \"north\" | \"south\"; limit?: number; tags?: string[] \
          }): Promise<unknown>"]
    );
}

#[test]
fn certain_mistakes_are_found() {
    let missing = "TypeError: mcp__sales__orders(): 'region' is missing";
    let call = |rest: &str| format!("TypeError: mcp__sales__orders(): {rest}");
    let unknown = "ReferenceError: mcp__sales__order is not defined. Did you mean: \
                   'mcp__sales__orders'?";
    let cases = [
        ("await mcp__sales__order({})", unknown.to_owned()),
        ("const f = mcp__sales__order", unknown.to_owned()),
        (
            "await tools.order({})",
            "ReferenceError: there is no tool 'order'. Did you mean: 'mcp__sales__orders'?"
                .to_owned(),
        ),
        (
            "await mcp__sales__drop()",
            "ToolError: 'mcp__sales__drop' is not available in execute_program".to_owned(),
        ),
        ("await mcp__sales__orders()", missing.to_owned()),
        ("await tools.orders({})", missing.to_owned()),
        ("import { orders } from './servers/sales';await orders({})", missing.to_owned()),
        ("import * as s from './servers/sales';await s.orders({})", missing.to_owned()),
        ("mcp__sales__orders({});", missing.to_owned()),
        ("await Promise.all([1, mcp__sales__orders({})])", missing.to_owned()),
        ("async function main() { await mcp__sales__orders({}) } main()", missing.to_owned()),
        (
            "const main = async () => { await mcp__sales__orders({}) }; await main()",
            missing.to_owned(),
        ),
        ("(async () => { await mcp__sales__orders({}) })()", missing.to_owned()),
        ("return await mcp__sales__orders({})", missing.to_owned()),
        ("{ const x = await (mcp__sales__orders({}) as any) }", missing.to_owned()),
        (
            "await mcp__sales__orders({ where: 'north' })",
            call("'region' is missing, and there is no parameter 'where': did you mean 'region'?"),
        ),
        (
            "await mcp__sales__orders({ region: 'north', limits: 3 })",
            call("'limits' is not a parameter; did you mean 'limit'?"),
        ),
        (
            "await mcp__sales__orders('north', 1, [], 4)",
            call("it takes one object, or at most 3 arguments, but 4 were given"),
        ),
        (
            "await mcp__sales__orders('north', 'a lot')",
            call("limit: \"a lot\" is of type string, not integer"),
        ),
        (
            "await mcp__sales__orders({ region: `south`, tags: ['a', -1] })",
            call("tags[1]: -1 is of type integer, not string"),
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(found(source), [format!("1 {expected}")], "{source}");
    }
}

#[test]
fn results_that_were_never_awaited_are_found_where_they_are_used() {
    for used in [
        "rows.length",
        "rows[0]",
        "rows?.map(String)",
        "console.log(rows)",
        "JSON.stringify(rows)",
        "`${rows}`",
        "[...rows]",
        "({ ...rows })",
        "for (const row of rows) {}",
        "const { total } = rows",
        "if (rows.length > 3) {}",
        "(rows as Row[]).map((it) => it.id)",
    ] {
        let source = format!("const rows = mcp__sales__orders({{ region: 'north' }});\n{used}");
        assert_eq!(found(&source), [format!("2 {UNAWAITED}")], "{used}");
    }
    let direct = "console.log(mcp__sales__orders({ region: 'north' }).length)";
    assert_eq!(found(direct), [format!("1 {UNAWAITED}")]);
}

#[test]
fn functions_and_operators_that_need_values_get_no_promise() {
    for used in [
        "String(rows)",
        "Number(rows)",
        "parseInt(rows, 10)",
        "console.error(rows)",
        "Object.entries(rows)",
        "Array.from(rows)",
        "Math.max(1, rows)",
        "Number.isInteger(rows)",
        "JSON.stringify(rows, null, 2)",
        "structuredClone(rows)",
        "new Set(rows)",
        "new Map(rows)",
        "new Date(rows)",
        "await Promise.all(rows)",
        "'rows: ' + rows",
        "rows > 3",
        "-rows",
        "f(...rows)",
        "const [first] = rows",
        "for (const key in rows) {}",
    ] {
        let source = format!("const rows = mcp__sales__orders({{ region: 'north' }});\n{used}");
        assert_eq!(found(&source), [format!("2 {UNAWAITED}")], "{used}");
    }
}

#[test]
fn members_and_types_do_not_turn_the_check_off() {
    let missing = "TypeError: mcp__sales__orders(): 'region' is missing";
    for source in [
        "class Total { sum = 0; constructor(start: number) { this.sum = start; } }",
        "const after: Function = () => 1;",
        "const all = new Map<string, Function>();",
        "interface Handler extends Function {} class Named implements Function {}",
        "const kinds = { constructor: 1, eval: 2, Function: 3 };",
        "console.log(new Total().constructor.name);",
        "console.log(f instanceof Function);",
        "const text = 'a constructor';",
    ] {
        let program = format!("{source}\nawait mcp__sales__orders()");
        assert_eq!(found(&program), [format!("2 {missing}")], "{source}");
        let parsed = ParsedProgram::new(program, Language::TypeScript);
        assert!(!parsed.tool_uses().unwrap().may_call_others, "{source}");
    }
    for source in [
        "new Function('mcp__sales__orders = () => 1')()",
        "Function('return 1')()",
        "(() => 1).constructor('return 1')()",
        "(() => 1)['constructor']('return 1')()",
        "(() => 1)[`constructor`]('return 1')()",
        "const { constructor: make } = () => 1; make('return 1')()",
        "let make; ({ constructor: make } = () => 1); make('return 1')()",
        "Reflect.get(() => 1, 'constructor')('return 1')()",
        "eval('1')",
    ] {
        let program = format!("{source}\nawait mcp__sales__orders()");
        assert_eq!(found(&program), [""; 0], "{source}");
        let parsed = ParsedProgram::new(program, Language::TypeScript);
        assert!(parsed.tool_uses().unwrap().may_call_others, "{source}");
    }
}

#[test]
fn loops_and_callbacks_that_certainly_run_are_followed() {
    for source in [
        "for (const region of ['north', 'south']) { await mcp__sales__order({}) }",
        "for (const region of ['north']) await mcp__sales__order({})",
        "const regions = ['north']; for (const region of regions) await mcp__sales__order({})",
        "const regions = ['north'] as const; for (const it of [...regions]) await mcp__sales__order({})",
        "for (const [key, value] of Object.entries({ a: 1 })) await mcp__sales__order({})",
        "const limits = { a: 1 }; for (const key of Object.keys(limits)) await mcp__sales__order({})",
        "for (const it of new Set(['a'])) await mcp__sales__order({})",
        "for (let i = 0; i < 3; i++) await mcp__sales__order({})",
        "const all = ['a']; for (let i = 0; i < all.length; i++) await mcp__sales__order({})",
        "for (;;) { await mcp__sales__order({}); break; }",
        "while (true) { await mcp__sales__order({}); break; }",
        "do { await mcp__sales__order({}) } while (more)",
        "['a'].forEach((it) => { mcp__sales__order({}) })",
        "await Promise.all(['a'].map((it) => mcp__sales__orders({})))",
        "await Promise.all(['a'].map(async (it) => { await mcp__sales__orders({}) }))",
        "const get = async (it) => await mcp__sales__orders({}); await Promise.all(['a'].map(get))",
        "await Promise.all(['b', 'a'].sort().map((it) => tools.orders({})))",
        "const rows = await Promise.all(['a'].map(async (it) => mcp__sales__orders(['north'], 'x')))",
    ] {
        assert_eq!(found(source).len(), 1, "{source}: {:?}", found(source));
    }
}

#[test]
fn a_result_that_is_used_as_another_shape_than_its_tool_declares() {
    let tool = |name: &str, output: Value| ToolDefinition {
        output_schema: Some(output.into()),
        ..definition(name, json!({ "type": "object" }))
    };
    let wrapped = |value: Value| {
        json!({
            "type": "object",
            "properties": { "result": value },
            "required": ["result"],
            "x-fastmcp-wrap-result": true,
        })
    };
    let total = json!({ "type": "object", "properties": { "total": { "type": "integer" } } });
    let catalog = Catalog::build([(
        ServerName::new("typed"),
        vec![
            tool("total", total),
            tool("names", wrapped(json!({ "type": "array", "items": { "type": "string" } }))),
            tool("text", wrapped(json!({ "type": "string" }))),
            tool("some", wrapped(json!({ "type": ["string", "array"] }))),
            tool(
                "counts",
                json!({ "type": "object", "additionalProperties": { "type": "integer" } }),
            ),
        ],
    )]);
    let tools = |name: &str| catalog.get(name).map(|spec| Resolution::Callable(spec.clone()));
    let check = |source: &str| {
        let findings = ParsedProgram::new(source, Language::TypeScript).findings(&tools);
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let wrong = "\
const total = await mcp__typed__total();
console.log(total[0].total, total.map((it) => it));
for (const row of total) console.log(row);
console.log((await mcp__typed__total()).toUpperCase());
const names: string[] = await mcp__typed__names();
console.log(names.items.length);
for (const name of names['items']) console.log(name);
const text = await mcp__typed__text();
console.log(text.rows.length, text.map(String));
const [first] = await mcp__typed__counts();";
    assert_snapshot!(check(wrong), @r#"
    <program>:2:13
        console.log(total[0].total, total.map((it) => it));
    TypeError: mcp__typed__total() returns one object, not an array; its keys: "total"
        await mcp__typed__total(): Promise<{ total?: number }>
    <program>:3:19
        for (const row of total) console.log(row);
    TypeError: mcp__typed__total() returns one object, not an array; its keys: "total"
        await mcp__typed__total(): Promise<{ total?: number }>
    <program>:4:13
        console.log((await mcp__typed__total()).toUpperCase());
    TypeError: mcp__typed__total() returns an object, which has no 'toUpperCase'; its keys: "total"
        await mcp__typed__total(): Promise<{ total?: number }>
    <program>:6:13
        console.log(names.items.length);
    TypeError: mcp__typed__names() returns an array, which has no 'items'
        await mcp__typed__names(): Promise<string[]>
    <program>:7:20
        for (const name of names['items']) console.log(name);
    TypeError: mcp__typed__names() returns an array, which has no 'items'
        await mcp__typed__names(): Promise<string[]>
    <program>:9:13
        console.log(text.rows.length, text.map(String));
    TypeError: mcp__typed__text() returns text, which has no 'rows'
        await mcp__typed__text(): Promise<string>
    <program>:9:31
        console.log(text.rows.length, text.map(String));
    TypeError: mcp__typed__text() returns text, which has no 'map'
        await mcp__typed__text(): Promise<string>
    <program>:10:17
        const [first] = await mcp__typed__counts();
    TypeError: mcp__typed__counts() returns one object, not an array
        await mcp__typed__counts(): Promise<Record<string, number>>
    "#);
    let right = "\
const total = await mcp__typed__total();
console.log(total.total, total.other.deep, total[key].x, total['0'], total[0], total.hasOwnProperty('a'));
const { total: sum } = total;
const names = await mcp__typed__names();
console.log(names.items ?? names, names.items?.length, (names.rows || names).map(String));
console.log(names[0].length, names.at(-1).trim(), names.length, names.content, [...names]);
for (const name of names) console.log(name);
const text = await mcp__typed__text();
console.log(text[0].length, text.trim().split(' '), [...text], text.other);
const some = await mcp__typed__some();
console.log(some.map(String), some.rows.length);
const counts = await mcp__typed__counts();
console.log(counts[0].toFixed(), counts.a.toFixed());
const list = Array.isArray(names) ? names : names.items.list;
for (const it of Object.entries(total)) console.log(it);";
    assert_eq!(check(right), "");
    let added = "Array.prototype.last = function () { return this[0] };\n\
                 (await mcp__typed__names()).last();";
    assert_eq!(check(added), "");
}

/// The corpora of programs that work: nothing in them is wrong, and most of their calls are looked
/// at.
#[test]
fn no_ordinary_program_is_rejected() {
    let catalog = support::fixture();
    let known = |name: &str| {
        let full = if name.starts_with("mcp__") {
            name.to_owned()
        } else {
            format!("mcp__fixture__{name}")
        };
        catalog.get(&full).map(|spec| Resolution::Callable(spec.clone()))
    };
    let nothing = |_: &str| Some(Resolution::unknown(Vec::new()));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs-typescript");
    let (mut programs, mut with_calls, mut looked_at) = (0, 0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_program = path.extension().is_some_and(|it| it == "ts" || it == "mjs");
        if !is_program || path.ends_with("reference.mjs") {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        let parsed = ParsedProgram::new(&source, Language::TypeScript);
        assert_eq!(parsed.findings(&known), [], "{}", path.display());
        programs += 1;
        let has_calls = parsed.tool_uses().is_some_and(|uses| !uses.named.is_empty());
        with_calls += usize::from(has_calls);
        looked_at += usize::from(has_calls && !parsed.findings(&nothing).is_empty());
    }
    assert!(programs >= 48, "only {programs} programs");
    assert!(looked_at * 2 > with_calls, "calls were looked at in {looked_at} of {with_calls}");
}

#[test]
fn what_may_succeed_is_let_through() {
    for source in [
        // It may not run.
        "for (const it of rows) await mcp__sales__order({})",
        "const queue = ['a']; queue.pop(); for (const it of queue) await mcp__sales__order({})",
        "const all = ['a']; all.length = 0; for (const it of all) await mcp__sales__order({})",
        "let all = ['a']; all = []; for (const it of all) await mcp__sales__order({})",
        "const all = { a: 1 }; delete all.a; for (const it of Object.keys(all)) await mcp__sales__order({})",
        "for (const it of ['a']) { if (it === 'a') continue; await mcp__sales__order({}) }",
        "for (const it of ['a']) { if (it) break; await mcp__sales__order({}) }",
        "all: for (const it of ['a']) { for (const that of ['b']) break all; await mcp__sales__order({}) }",
        "for (let i = 0; i < count; i++) await mcp__sales__order({})",
        "for (const it of ['a'].filter(Boolean)) await mcp__sales__order({})",
        "while (more) { await mcp__sales__order({}) }",
        "rows.map((it) => mcp__sales__order({}))",
        "await Promise.allSettled(['a'].map((it) => mcp__sales__orders({})))",
        "await Promise.all(['a'].map((it) => mcp__sales__orders({}).catch(() => [])))",
        "const calls = ['a'].map((it) => mcp__sales__orders({})); await Promise.allSettled(calls)",
        "for (const it of ['a']) { try { await mcp__sales__order({}) } catch {} }",
        "process.exit(0); await mcp__sales__order({})",
        "if (done) process.exit(); await mcp__sales__order({})",
        "import { exit as leave } from 'process'; leave(); await mcp__sales__order({})",
        "function stop() { process.exit(0) } stop(); await mcp__sales__order({})",
        "async function main() { if (done) process.exit(0); await mcp__sales__order({}) } await main()",
        "stop(), await mcp__sales__order({}); function stop() { process.exit(0) }",
        // The promise itself is wanted.
        "const p = mcp__sales__orders({ region: 'north' }); if (p === undefined) f(); await p",
        "const all = [mcp__sales__orders({ region: 'north' })]; await Promise.all(all)",
        "const p = mcp__sales__orders({ region: 'north' }); new Map([['a', p]]); await p",
        "const String = f; String(mcp__sales__orders({ region: 'north' }))",
        "const p = mcp__sales__orders({ region: 'north' }); const rows = await p; rows.length",
        "mcp__sales__orders({ region: 'north' }).then((rows) => console.log(rows.length))",
        "const p = mcp__sales__orders({}); await p.catch(() => [])",
        "await Promise.all([mcp__sales__orders({ region: 'north' })].map((it) => it))",
        "await Promise.allSettled([mcp__sales__orders({})])",
        "await mcp__sales__orders({ ...options })",
        "await mcp__sales__orders(options)",
        "await mcp__sales__orders({ [key]: 1 })",
        "await mcp__sales__orders({ region })",
        "try { await mcp__sales__orders({}) } catch {}",
        "if (maybe) await mcp__sales__order({})",
        "maybe && (await mcp__sales__order({}))",
        "maybe ? await mcp__sales__order() : 1",
        "maybe?.call(await mcp__sales__order())",
        "for (const x of []) await mcp__sales__orders({})",
        "async function unused() { await mcp__sales__orders({}) }",
        "async function main() { await mcp__sales__orders({}) } main().catch(console.error)",
        "if (done) return; await mcp__sales__orders({})",
        "const mcp__sales__order = async () => 1; await mcp__sales__order({})",
        "function f(tools) { return tools.nothing }",
        "globalThis.mcp__sales__order = f; await mcp__sales__order()",
        "typeof mcp__sales__orders === 'function'",
        "await mcp__sales__orders({ region: 'north', limit: undefined })",
        "not a program",
        "await tools.search('orders')",
    ] {
        assert_eq!(found(source), [""; 0], "{source}");
    }
}

#[test]
fn uses_are_listed_with_their_lines() {
    let source = "
        import { orders, note as write } from './servers/sales';
        const first = await orders({ region: 'north' });
        for (const row of first) await write({ text: row.id });
        const all = await Promise.all(first.map((it) => tools.read(it)));
        await mcp__sales__orders({ region: 'south' });
    ";
    let uses = ParsedProgram::new(source, Language::TypeScript).tool_uses().unwrap();
    let named: Vec<_> = uses
        .named
        .iter()
        .map(|it| (it.name.as_str(), it.line, it.in_loop, it.in_function))
        .collect();
    assert_eq!(
        named,
        [
            ("sales/orders", 3, false, false),
            ("sales/note", 4, true, false),
            ("read", 5, false, true),
            ("mcp__sales__orders", 6, false, false),
        ]
    );
    assert!(!uses.may_call_others);
    for source in [
        "const name = 'x'; tools[name]()",
        "f(tools)",
        "const { read } = tools",
        "globalThis['mcp__a']()",
        "const all = await import('./servers/sales')",
        "import { callMCPTool } from './mcp-apis/client'",
        "import * as sales from './servers/sales'; f(sales)",
    ] {
        let uses = ParsedProgram::new(source, Language::TypeScript).tool_uses().unwrap();
        assert!(uses.may_call_others, "{source}");
    }
    assert_eq!(ParsedProgram::new("if", Language::TypeScript).tool_uses(), None);
}

/// Sources that are deep to one side or the other; some hide it from a look at the brackets.
#[test]
fn deep_sources_do_not_overflow_the_stack() {
    let nested = |open: &str, close: &str| open.repeat(4_000) + "1" + &close.repeat(4_000);
    for source in [
        format!("x{}", ".a()".repeat(4_900)),
        format!("x{}", ".a()".repeat(50_000)),
        format!("1{}", "+1".repeat(9_900)),
        format!("1{}", " +\ntype".repeat(9_900)),
        format!("x{}", "?.a".repeat(6_000)),
        format!("x{}", "[0]".repeat(6_000)),
        "if(1)\n".repeat(4_900) + "x",
        "if(0);else ".repeat(3_000) + "x",
        "do ".repeat(9_000),
        format!("let x: {}", "A | ".repeat(9_000)),
        format!("if (x) /'/; {} // '", nested("(", ")")),
        format!("if (x) /'/; {} // '", nested("[", "]")),
        format!("if (x) /'/; {} // '", nested("a => ", "")),
        format!("if (x) /'/; {} // '", nested("{", "}")),
        format!("if (x) /'/; {} // '", nested("f(x, ", ")")),
        format!("if (x) /'/; {} // '", nested("- ", "")),
        format!("if (x) /'/; {} // '", nested("function f() {", "}")),
    ] {
        let program = ParsedProgram::new(&source, Language::TypeScript);
        _ = program.findings(&resolver(&sales()));
        _ = program.tool_uses();
        _ = program.ends_with_value();
    }
}

#[test]
fn the_last_value_is_seen() {
    for (language, source, expected) in [
        (Language::Python, "x = 1\nx", true),
        (Language::Python, "x = 1", false),
        (Language::Python, "print(1)", false),
        (Language::Python, "await f()", true),
        (Language::Python, "return 3", true),
        (Language::TypeScript, "const x = 1;\nx", true),
        (Language::TypeScript, "const x = 1;", false),
        (Language::TypeScript, "console.log(1)", false),
        (Language::TypeScript, "await main();", true),
        (Language::TypeScript, "return 3", true),
    ] {
        assert_eq!(ParsedProgram::new(source, language).ends_with_value(), expected, "{source}");
    }
}
