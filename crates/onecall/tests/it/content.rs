//! Answers that have images, audio or resources beside their value.

use serde_json::{Value, json};

use crate::support::{Gateway, finish, has_system_python, printed, script};

fn server() -> Value {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let image = json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" });
    let link = json!({ "type": "resource_link", "uri": "a://b", "name": "b" });
    let answers = json!({
        "caption": { "content": [text("a red pixel"), image] },
        "rows": { "content": [text("[1, 2]"), image, link] },
        "report": { "content": [link, text(r#"{"pixels": 1}"#)] },
        "count": { "content": [text("5"), image] },
        "structured": { "content": [text("x"), image], "structuredContent": { "content": "own" } },
        "images": { "content": [image, image] },
    });
    let tool = |name: &String| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } });
    let echo =
        json!({ "name": "echo", "inputSchema": { "type": "object", "properties": { "it": {} } } });
    let mut tools: Vec<Value> = answers.as_object().unwrap().keys().map(tool).collect();
    tools.push(echo);
    let mut on: serde_json::Map<String, Value> = answers
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, answer)| (format!("tools/call {name}"), json!([{ "answer": answer }])))
        .collect();
    let echoed = json!([{ "answer": { "content": [text("$params_text")] } }]);
    on.insert("tools/call echo".to_owned(), echoed);
    script("v", &json!({ "tools": tools, "on": on }))
}

const PYTHON: &str = r#"
caption = await mcp__v__caption()
print(caption, caption == "a red pixel", isinstance(caption, str), [it["type"] for it in caption.content])
rows, report = await mcp__v__rows(), await mcp__v__report()
print(rows, sum(rows), [it["type"] for it in rows.content])
print(report, report["pixels"], [it["type"] for it in report.content])
print(await mcp__v__count() + 1)
structured = await mcp__v__structured()
print(structured, [it["type"] for it in structured.content])
print([it["type"] for it in await mcp__v__images()])
print((await mcp__v__echo(it=[caption, rows, report]))["arguments"])
print(await mcp__v__caption() == tools.caption())
"#;

const PYTHON_PRINTS: &str = "\
a red pixel True True ['text', 'image']
[1, 2] 3 ['text', 'image', 'resource_link']
{'pixels': 1} 1 ['resource_link', 'text']
6
{'content': 'own'} ['text', 'image']
['image', 'image']
{'it': ['a red pixel', [1, 2], {'pixels': 1}]}
True
";

const TYPESCRIPT: &str = r#"
const caption = await mcp__v__caption();
console.log(caption);
console.log(`${caption}`, caption == "a red pixel", caption.length, caption.content.map((it) => it.type));
const [rows, report] = [await mcp__v__rows(), await mcp__v__report()];
console.log(rows, rows.length, Object.keys(report), rows.content.map((it) => it.type));
console.log(report, report.content.map((it) => it.type), await mcp__v__count() + 1);
console.log(await mcp__v__structured(), (await mcp__v__images()).length);
console.log((await mcp__v__echo({ it: [caption, rows, report] })).arguments);
console.log([caption], JSON.stringify({ caption }));
"#;

const TYPESCRIPT_PRINTS: &str = "\
a red pixel
a red pixel true 11 [ 'text', 'image' ]
[ 1, 2 ] 2 [ 'pixels' ] [ 'text', 'image', 'resource_link' ]
{ pixels: 1 } [ 'resource_link', 'text' ] 6
{ content: 'own' } 2
{ it: [ 'a red pixel', [ 1, 2 ], { pixels: 1 } ] }
[ 'a red pixel' ] {\"caption\":\"a red pixel\"}
";

#[test]
fn the_value_is_the_text_and_has_all_content() {
    // The second time, answers come from the cache.
    let config = json!({ "servers": [server()], "cache": {} });
    let mut gateway = Gateway::with_config(&config);
    for engine in ["python", "cpython"].into_iter().take(1 + usize::from(has_system_python())) {
        assert_eq!(printed(&gateway.execute_on(engine, PYTHON)), PYTHON_PRINTS, "{engine}");
    }
    assert_eq!(printed(&gateway.execute_typescript(TYPESCRIPT)), TYPESCRIPT_PRINTS);
}

#[test]
fn content_comes_along_from_the_store_and_from_records_and_through_plans() {
    let config =
        json!({ "servers": [server()], "cache": { "scope": "shared" }, "records": "full" });
    let mut gateway = Gateway::with_config(&config);
    let code =
        "caption = await mcp__v__caption()\nprint(caption, len(caption.content))\ndisplay(caption)";
    let answer = gateway.execute(code);
    assert_eq!(answer.text, "[Script executed successfully]\na red pixel 2\n");
    let shown = json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" });
    assert_eq!(answer.raw["content"][1], shown);
    let plan = json!({
        "target_tool": "mcp__v__echo",
        "tool_args": {
            "it": { "__tool__": "mcp__v__rows", "__transform__": "lambda it: [it, len(it.content)]" },
        },
    });
    let answer = gateway.session.call_tool("proxy", plan).text;
    assert!(answer.contains(r#"{"it":[[1,2],3]}"#), "{answer}");

    let home = &gateway.home;
    let other =
        home.run("caption = await mcp__v__caption()\nprint(caption, caption.content[1]['type'])");
    assert_eq!(other.stdout, "a red pixel image\n", "{}", other.stderr);
    let called = finish(home.onecall_with_config(&["call", "mcp__v__caption"]));
    assert_eq!(called.stdout, "a red pixel\n");
    let said = "The answer has more than text: in a program, read .content to get all of it\n";
    assert_eq!(called.stderr, said);
    let runs = finish(home.onecall_with_config(&["runs", "--json"]));
    let runs: Value = serde_json::from_str(&runs.stdout).expect("JSON");
    let programs = runs.as_array().unwrap().iter().filter(|run| run["kind"] == "program");
    let outputs = ["a red pixel image\n", "a red pixel 2\n"];
    for (run, output) in programs.zip(outputs) {
        let replayed =
            finish(home.onecall_with_config(&["runs", "replay", run["id"].as_str().unwrap()]));
        assert_eq!((replayed.code, &*replayed.stdout), (Some(0), output), "{replayed:?}");
    }
}
