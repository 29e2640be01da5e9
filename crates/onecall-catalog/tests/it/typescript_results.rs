//! Results that a TypeScript program uses as another shape than their tool declares, and the corpus of
//! programs in which nothing is to be found.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use onecall_catalog::{Catalog, ParsedProgram, ToolDefinition};
use onecall_core::{Language, Resolution, ServerName, ToolAnnotations, ToolName};
use serde_json::{Value, json};

use crate::support;

#[test]
fn a_result_that_is_used_as_another_shape_than_its_tool_declares() {
    let tool = |name: &str, output: Value| ToolDefinition {
        tool: ToolName::new(name),
        description: None,
        input_schema: json!({ "type": "object" }).into(),
        output_schema: Some(output.into()),
        annotations: ToolAnnotations::default(),
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
