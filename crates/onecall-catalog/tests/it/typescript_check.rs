//! What is found in a TypeScript program before it runs, and what is let through.

use onecall_catalog::{Catalog, ParsedProgram, ToolDefinition};
use onecall_core::{Language, Resolution, ServerName, ToolAnnotations, ToolName};
use serde_json::{Value, json};

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
