//! What is found in a program before it runs, and what is let through.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use insta::assert_snapshot;
use onecall_catalog::{Catalog, Finding, ParsedProgram, ToolDefinition};
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
            "limit": { "type": "integer", "minimum": 1, "default": 10 },
            "tags": { "type": "array", "items": { "type": "string" } },
            "exact": { "type": "boolean" },
        },
        "required": ["region", "limit"],
        "additionalProperties": false,
    });
    let note = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let tools = vec![definition("orders", orders), definition("note", note)];
    Catalog::build([(ServerName::new("sales"), tools)])
}

fn resolver(catalog: &Catalog) -> impl Fn(&str) -> Option<Resolution> + Sync {
    |name| {
        Some(match catalog.get(name) {
            _ if name == "mcp__sales__drop" => Resolution::Blocked,
            Some(spec) => Resolution::Callable(spec.clone()),
            None => Resolution::unknown(catalog.nearest(name, 3)),
        })
    }
}

fn check(source: &str) -> Vec<Finding> {
    ParsedProgram::new(source, Language::Python).findings(&resolver(&sales()))
}

fn lines(source: &str) -> Vec<usize> {
    check(source).iter().map(|it| it.line).collect()
}

fn told(source: &str) -> String {
    check(source).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn all_findings_come_at_once_with_line_source_and_signature() {
    let source = r#"
import asyncio

async def main():
    rows = await mcp__sales__orders(limit=5)
    more = await mcp__sales__orders("west", -1, tags=["a", 2], colour="red")
    for row in await mcp__sales__order(region="north"):
        print(row)
    await asyncio.gather(mcp__sales__drop(), mcp__sales__note(text=[]))
    return (await asyncio.wait_for(mcp__sales__note(text=7.5), 3))["x"]

mcp__sales__note("forgotten")
if __name__ == "__main__":
    asyncio.run(main())
"#;
    assert_snapshot!(told(source), @r#"
      File "<program>", line 12
        mcp__sales__note("forgotten")
    RuntimeError: mcp__sales__note() is never awaited, so it does not run
        await mcp__sales__note(text: str | None = None) -> Any
      File "<program>", line 5
        rows = await mcp__sales__orders(limit=5)
    TypeError: mcp__sales__orders(): 'region' is missing
        await mcp__sales__orders(region: Literal['north', 'south'], limit: int, tags: list[str] | None = None, exact: bool | None = None) -> Any
      File "<program>", line 6
        more = await mcp__sales__orders("west", -1, tags=["a", 2], colour="red")
    TypeError: mcp__sales__orders(): region: "west" is not one of "north", "south"; limit: -1 is less than 1; tags[1]: 2 is of type integer, not string; 'colour' is not accepted
        await mcp__sales__orders(region: Literal['north', 'south'], limit: int, tags: list[str] | None = None, exact: bool | None = None) -> Any
      File "<program>", line 7
        for row in await mcp__sales__order(region="north"):
    NameError: name 'mcp__sales__order' is not defined. Did you mean: 'mcp__sales__orders'?
      File "<program>", line 9
        await asyncio.gather(mcp__sales__drop(), mcp__sales__note(text=[]))
    ToolError: 'mcp__sales__drop' is not available in execute_program
      File "<program>", line 9
        await asyncio.gather(mcp__sales__drop(), mcp__sales__note(text=[]))
    TypeError: mcp__sales__note(): text: the list is of type array, not string
        await mcp__sales__note(text: str | None = None) -> Any
      File "<program>", line 10
        return (await asyncio.wait_for(mcp__sales__note(text=7.5), 3))["x"]
    TypeError: mcp__sales__note(): text: 7.5 is of type number, not string
        await mcp__sales__note(text: str | None = None) -> Any
    "#);
}

#[test]
fn a_syntax_error_is_the_only_finding() {
    assert_snapshot!(told("await mcp__no__tool()\nif True:\nprint(1)"), @r#"
      File "<program>", line 3
        print(1)
    SyntaxError: Expected an indented block after `if` statement
    "#);
}

#[test]
fn a_call_that_is_used_and_never_awaited() {
    let source = r#"
rows = mcp__sales__orders("north")
print(rows["total"], rows.total)
names = [row["name"] for row in rows]
print(await mcp__sales__orders("north")["total"])
for row in mcp__sales__orders("north"):
    pass
"#;
    assert_snapshot!(told(source), @r#"
      File "<program>", line 3
        print(rows["total"], rows.total)
    TypeError: the result of mcp__sales__orders() is used and was never awaited; write (await mcp__sales__orders(...))
        await mcp__sales__orders(region: Literal['north', 'south'], limit: int, tags: list[str] | None = None, exact: bool | None = None) -> Any
      File "<program>", line 4
        names = [row["name"] for row in rows]
    TypeError: the result of mcp__sales__orders() is used and was never awaited; write (await mcp__sales__orders(...))
        await mcp__sales__orders(region: Literal['north', 'south'], limit: int, tags: list[str] | None = None, exact: bool | None = None) -> Any
      File "<program>", line 5
        print(await mcp__sales__orders("north")["total"])
    TypeError: the result of mcp__sales__orders() is used and was never awaited; write (await mcp__sales__orders(...))
        await mcp__sales__orders(region: Literal['north', 'south'], limit: int, tags: list[str] | None = None, exact: bool | None = None) -> Any
      File "<program>", line 6
        for row in mcp__sales__orders("north"):
    TypeError: the result of mcp__sales__orders() is used and was never awaited; write (await mcp__sales__orders(...))
        await mcp__sales__orders(region: Literal['north', 'south'], limit: int, tags: list[str] | None = None, exact: bool | None = None) -> Any
    "#);
}

#[test]
fn arguments_that_fail_before_the_call() {
    let source = r#"
calls = [mcp__sales__note("a", "b"), mcp__sales__orders("north", region="south")]
"#;
    assert_snapshot!(told(source), @r#"
      File "<program>", line 2
        calls = [mcp__sales__note("a", "b"), mcp__sales__orders("north", region="south")]
    TypeError: mcp__sales__note(): it takes 1 positional arguments but 2 were given
        await mcp__sales__note(text: str | None = None) -> Any
      File "<program>", line 2
        calls = [mcp__sales__note("a", "b"), mcp__sales__orders("north", region="south")]
    TypeError: mcp__sales__orders(): it got multiple values for 'region'
        await mcp__sales__orders(region: Literal['north', 'south'], limit: int, tags: list[str] | None = None, exact: bool | None = None) -> Any
    "#);
}

#[test]
fn what_is_certain_of_calls_with_stars() {
    let source = r#"
await mcp__sales__orders(**options)
await mcp__sales__orders(*options, limit=3)
await mcp__sales__orders({"region": "west", **options}, tags=[])
await mcp__sales__orders(options)
await mcp__sales__orders(colour=1, **options)
await mcp__sales__orders({"region": "west"}, limit=-2)
await mcp__sales__orders({"region": "west"}, region="south")
"#;
    assert_snapshot!(told(source), @r#"
      File "<program>", line 6
        await mcp__sales__orders(colour=1, **options)
    TypeError: mcp__sales__orders(): 'colour' is not accepted
        await mcp__sales__orders(region: Literal['north', 'south'], limit: int, tags: list[str] | None = None, exact: bool | None = None) -> Any
      File "<program>", line 7
        await mcp__sales__orders({"region": "west"}, limit=-2)
    TypeError: mcp__sales__orders(): region: "west" is not one of "north", "south"; limit: -2 is less than 1
        await mcp__sales__orders(region: Literal['north', 'south'], limit: int, tags: list[str] | None = None, exact: bool | None = None) -> Any
    "#);
}

#[test]
fn a_call_that_is_handed_to_something_that_does_not_await_it() {
    let source = r#"
import json
print(mcp__sales__note("a"))
print(f"{mcp__sales__note('b')}")
print(json.dumps(mcp__sales__note("c"), indent=2))
rows = mcp__sales__note("d")
print(len(rows))
import ast
import re
ast.literal_eval(mcp__sales__note("e"))
re.search("a", mcp__sales__note("f"))
"#;
    assert_eq!(lines(source), [3, 4, 5, 7, 10, 11]);
    assert_snapshot!(told("print(mcp__sales__note())"), @r#"
      File "<program>", line 1
        print(mcp__sales__note())
    TypeError: the result of mcp__sales__note() is used and was never awaited; write (await mcp__sales__note(...))
        await mcp__sales__note(text: str | None = None) -> Any
    "#);
}

#[test]
fn loops_that_certainly_have_an_iteration_are_followed() {
    let programs = [
        "for region in ['north', 'south']:\n    await mcp__sales__order()",
        "for number in range(3):\n    await mcp__sales__order()",
        "while True:\n    await mcp__sales__order()\n    break",
        "regions = ('north', 'south')\nfor at, region in enumerate(regions):\n    await mcp__sales__order()",
        "limits = {'north': 1}\nfor region, limit in limits.items():\n    await mcp__sales__order()",
        "rows = [await mcp__sales__order() for region in ['north']]",
        "import asyncio\nregions = ['north']\nawait asyncio.gather(*[mcp__sales__orders(limit=it) for it in regions])",
        "import asyncio\nawait asyncio.gather(*(mcp__sales__orders(limit=it) for it in ['north']))",
        "import asyncio\nasync def get(it):\n    return await mcp__sales__order(it)\nawait asyncio.gather(*[get(it) for it in range(2)])",
        "import asyncio\nasync with asyncio.timeout(3):\n    await mcp__sales__order()",
        "import asyncio\nlimit = asyncio.Semaphore(3)\nasync with limit:\n    await mcp__sales__order()",
    ];
    for program in programs {
        assert_eq!(check(program).len(), 1, "{program}");
    }
}

fn typed() -> Catalog {
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
    let tools = vec![
        tool("total", total),
        tool("names", wrapped(json!({ "type": "array", "items": { "type": "string" } }))),
        tool("text", wrapped(json!({ "type": "string" }))),
        tool("some", wrapped(json!({ "type": ["string", "array"] }))),
    ];
    Catalog::build([(ServerName::new("typed"), tools)])
}

#[test]
fn a_result_that_is_used_as_another_shape_than_its_tool_declares() {
    let check = |source: &str| {
        let findings = ParsedProgram::new(source, Language::Python).findings(&resolver(&typed()));
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let wrong = r#"
total = await mcp__typed__total()
print(total[0], total.total, (await mcp__typed__total())[-1])
names = await mcp__typed__names()
print(names["items"], names.items())
print((await mcp__typed__text())["text"])
"#;
    assert_snapshot!(check(wrong), @r#"
      File "<program>", line 3
        print(total[0], total.total, (await mcp__typed__total())[-1])
    KeyError: mcp__typed__total() returns one dict, not a list; its keys: "total"
        await mcp__typed__total() -> {'total': int}
      File "<program>", line 3
        print(total[0], total.total, (await mcp__typed__total())[-1])
    AttributeError: mcp__typed__total() returns a dict; write ["total"], not .total; its keys: "total"
        await mcp__typed__total() -> {'total': int}
      File "<program>", line 5
        print(names["items"], names.items())
    TypeError: mcp__typed__names() returns a list, which has no keys
        await mcp__typed__names() -> list[str]
      File "<program>", line 5
        print(names["items"], names.items())
    AttributeError: mcp__typed__names() returns a list, which has no 'items'
        await mcp__typed__names() -> list[str]
      File "<program>", line 6
        print((await mcp__typed__text())["text"])
    TypeError: mcp__typed__text() returns text, which has no keys
        await mcp__typed__text() -> str
    "#);
    let right = r#"
total = await mcp__typed__total()
print(total["total"], total.get("other"), total["other"], total[key])
names = await mcp__typed__names()
print(names[0], names[-1:], names.index("x"), len(names))
text = await mcp__typed__text()
print(text[0], text.upper(), text.splitlines()[0])
some = await mcp__typed__some()
print(some[0], some["a"])
"#;
    assert_eq!(check(right), "");
}

/// Each of these could succeed.
#[test]
fn what_might_succeed_is_let_through() {
    let programs = [
        // It may not run.
        "if flag:\n    await mcp__sales__order()",
        "for row in rows:\n    await mcp__sales__order()",
        "while rows:\n    await mcp__sales__order()",
        "match rows:\n    case []:\n        await mcp__sales__order()",
        "rows and await mcp__sales__order()",
        "rows = await mcp__sales__order() if rows else []",
        "1 < 0 < mcp__sales__order()",
        "calls = [mcp__sales__order(row) for row in rows]",
        "later = lambda: mcp__sales__order()",
        "async def later():\n    await mcp__sales__order()",
        "async def later():\n    await mcp__sales__order()\ntask = later()",
        "def later():\n    yield mcp__sales__order()\nlater()",
        "@skip\ndef later():\n    mcp__sales__order()\nlater()",
        "def later():\n    mcp__sales__order()\ndef later():\n    pass\nlater()",
        "class Later:\n    async def get(self):\n        await mcp__sales__order()",
        "import sys\nsys.exit()\nawait mcp__sales__order()",
        "def stop():\n    raise SystemExit\nstop()\nawait mcp__sales__order()",
        "from sys import exit as leave\nleave()\nawait mcp__sales__order()",
        "raise ValueError\nawait mcp__sales__order()",
        "def get():\n    if rows:\n        return 1\n    mcp__sales__order()\nget()",
        "while True:\n    if rows:\n        break\n    await mcp__sales__order()",
        "for row in []:\n    await mcp__sales__order()",
        "for row in [*rows]:\n    await mcp__sales__order()",
        "for number in range(count):\n    await mcp__sales__order()",
        "for number in range(3):\n    if rows:\n        break\n    await mcp__sales__order()",
        "for number in range(3):\n    if rows:\n        continue\n    await mcp__sales__order()",
        "queue = ['north']\nqueue.pop()\nfor region in queue:\n    await mcp__sales__order()",
        "queue = ['north']\nqueue[:] = []\nfor region in queue:\n    await mcp__sales__order()",
        "queue = ['north']\nqueue = []\nfor region in queue:\n    await mcp__sales__order()",
        "range = rows.get\nfor number in range(3):\n    await mcp__sales__order()",
        "rows = [await mcp__sales__order() for it in ['north'] if it in rows]",
        "rows = [await mcp__sales__order() for it in ['north'] for row in rows]",
        "rows = (await mcp__sales__order() for it in ['north'])",
        "a = list(b)\nb = list(a)\nfor it in a:\n    await mcp__sales__order()",
        // It may be meant to fail.
        "with limit:\n    await mcp__sales__order()",
        "for it in ['north']:\n    try:\n        await mcp__sales__order()\n    except NameError:\n        pass",
        "try:\n    await mcp__sales__order()\nexcept NameError:\n    pass",
        "try:\n    await mcp__sales__drop()\nfinally:\n    pass",
        "with suppress(Exception):\n    await mcp__sales__drop()",
        "import asyncio\nawait asyncio.gather(mcp__sales__drop(), return_exceptions=True)",
        "import asyncio\nawait asyncio.gather(mcp__sales__drop(), **options)",
        "import asyncio\ntask = asyncio.create_task(mcp__sales__orders())",
        "await settle(mcp__sales__orders())",
        "gather = asyncio.gather\nawait asyncio.gather(mcp__sales__drop())",
        "import asyncio\nasyncio.gather = settle\nawait asyncio.gather(mcp__sales__drop())",
        // The name has a meaning of its own.
        "mcp__sales__order = print\nmcp__sales__order(1)",
        "def mcp__sales__order():\n    pass\nmcp__sales__order()",
        "import tools as mcp__sales__order\nmcp__sales__order()",
        "for mcp__sales__order in rows:\n    pass\nmcp__sales__order()",
        "with rows as mcp__sales__order:\n    pass\nmcp__sales__order()",
        "try:\n    pass\nexcept E as mcp__sales__order:\n    pass\nmcp__sales__order()",
        "(mcp__sales__order := print)\nmcp__sales__order()",
        "def get(mcp__sales__order):\n    mcp__sales__order()\nget(print)",
        "def get():\n    global mcp__sales__order\nmcp__sales__order()",
        "match rows:\n    case [*mcp__sales__order]:\n        pass\nmcp__sales__order()",
        "match rows:\n    case {**mcp__sales__order}:\n        pass\nmcp__sales__order()",
        "match rows:\n    case 1 as mcp__sales__order:\n        pass\nmcp__sales__order()",
        "del mcp__sales__order\nmcp__sales__order()",
        "globals()['mcp__sales__order'] = print\nmcp__sales__order()",
        "exec(code)\nmcp__sales__order()",
        "from tools import *\nmcp__sales__order()",
        "import builtins\nbuiltins.mcp__sales__order = print\nmcp__sales__order()",
        "order()",
        // What is not known, and what servers read as what they want.
        "await mcp__sales__orders(region, limit, tags, exact)",
        "await mcp__sales__orders(region=f'{place}', limit='5', tags='[\"a\"]', exact=1)",
        "await mcp__sales__orders('north', True, tags=None, exact='yes')",
        "await mcp__sales__orders('north', tags=['a', *more])",
        "await mcp__sales__orders({'region': 'north'}, limit=2)",
        "await mcp__sales__orders({'region': 'west', 'region': 'north'})",
        "await mcp__sales__note(text='x', more=1)",
        "await getattr(tools, 'mcp__sales__order')()",
        // Calls that are awaited later, or closed.
        "call = mcp__sales__note('x')\nprint(await call)",
        "call = mcp__sales__note('x')\ncall.close()",
        "call = mcp__sales__note('x')\nprint(call, f'{call}', str(call))\nprint(await call)",
        "print(gather(mcp__sales__note('x')))",
        "print = settle\nprint(mcp__sales__note('x'))",
        "import json\njson.dumps(mcp__sales__note('x'), default=str)",
        "call = mcp__sales__note('x')\ncall = await call\nprint(call['a'])",
        "rows = [mcp__sales__note('x')]\nprint(rows[0])",
        "tool = mcp__sales__note\nprint(await tool(text='x'))",
        "print((await mcp__sales__note('x'))['a'])",
        "call = mcp__sales__note('x')\nlazy = (row for row in call)\nawait call",
        "async for row in mcp__sales__note('x'):\n    pass",
        "",
        "# nothing\r\n",
    ];
    for program in programs {
        assert_eq!(check(program), [], "{program}");
    }
}

#[test]
fn lines_are_counted_as_python_counts_them() {
    assert_eq!(lines("a = 1\r\nb = 2\rmcp__no__tool()\n'''\n\n'''; mcp__no__tool2()"), [3, 6]);
}

#[test]
fn the_tools_of_a_program_are_listed_with_their_place() {
    let source = "
rows = await mcp__sales__orders('north')
for row in await mcp__sales__orders('south'):
    await mcp__sales__note(row)
notes = [await mcp__sales__note(row) for row in await mcp__sales__orders('south')]
async def get():
    return await mcp__no__tool()
mcp__mine = 1
print(mcp__mine)
";
    let uses = ParsedProgram::new(source, Language::Python).tool_uses().unwrap();
    let told: Vec<String> = uses
        .named
        .iter()
        .map(|it| {
            format!("{} {} loop={} function={}", it.line, it.name, it.in_loop, it.in_function)
        })
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
    2 mcp__sales__orders loop=false function=false
    3 mcp__sales__orders loop=false function=false
    4 mcp__sales__note loop=true function=false
    5 mcp__sales__orders loop=false function=false
    5 mcp__sales__note loop=true function=false
    7 mcp__no__tool loop=false function=true
    "#);
    assert_eq!(ParsedProgram::new("if", Language::Python).tool_uses(), None);
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name)
}

#[test]
fn no_ordinary_program_is_rejected() {
    let catalog = support::fixture();
    let nothing = |_: &str| Some(Resolution::unknown(Vec::new()));
    let (mut programs, mut looked_at) = (0, 0);
    for entry in fs::read_dir(folder("programs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "py") || path.ends_with("reference.py") {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        assert_eq!(
            ParsedProgram::new(&source, Language::Python).findings(&resolver(&catalog)),
            [],
            "{}",
            path.display()
        );
        programs += 1;
        looked_at += usize::from(
            !ParsedProgram::new(&source, Language::Python).findings(&nothing).is_empty(),
        );
    }
    assert!(programs >= 30, "only {programs} programs");
    // Where no tool exists, most of them have something to find.
    assert!(looked_at * 2 > programs, "calls were looked at in {looked_at} of {programs}");
}

#[test]
fn hostile_programs_are_read_to_the_end() {
    let catalog = support::fixture();
    let mut programs = 0;
    for entry in fs::read_dir(folder("attacks")).unwrap() {
        let Ok(source) = fs::read_to_string(entry.unwrap().path().join("program.py")) else {
            continue;
        };
        let _ = ParsedProgram::new(&source, Language::Python).findings(&resolver(&catalog));
        let _ = ParsedProgram::new(&source, Language::Python).tool_uses();
        programs += 1;
    }
    assert!(programs >= 20, "only {programs} programs");
}

#[test]
fn similar_names_are_looked_for_only_as_often_as_they_are_told() {
    let asked = AtomicUsize::new(0);
    let tools = |_: &str| {
        asked.fetch_add(1, Ordering::Relaxed);
        Some(Resolution::unknown(Vec::new()))
    };
    let names: Vec<String> = (0..10_000).map(|number| format!("mcp__no__tool{number}")).collect();
    assert_eq!(
        ParsedProgram::new(format!("[{}]", names.join(", ")), Language::Python)
            .findings(&tools)
            .len(),
        20
    );
    assert_eq!(asked.into_inner(), 20);
}
