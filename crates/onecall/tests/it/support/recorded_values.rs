//! What servers of `tests/interop/values` list, answer and mean, as `record.py` there has stored
//! it for each framework.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Gateway, has_system_python, printed};

/// The frameworks that something is stored of.
pub const FRAMEWORKS: [&str; 3] = ["sdk-1", "sdk-2", "fastmcp"];

/// A tool, what it answers, and what its function has returned.
#[derive(Deserialize)]
pub struct RecordedTool {
    pub definition: Value,
    pub answer: Value,
    pub value: Value,
}

impl RecordedTool {
    pub fn name(&self) -> &str {
        self.definition["name"].as_str().expect("a name")
    }
}

/// All tools of the server on this framework.
pub fn recorded(framework: &str) -> Vec<RecordedTool> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/values");
    let text = std::fs::read_to_string(folder.join(format!("{framework}.json"))).expect("a file");
    serde_json::from_str(&text).expect("what record.py writes")
}

/// Calls every tool of the server `v` in each language and compares the values with what the
/// functions returned.
pub fn check_values(gateway: &mut Gateway, recorded: &[RecordedTool]) {
    let expected =
        Value::Object(recorded.iter().map(|it| (it.name().to_owned(), it.value.clone())).collect());
    let names: Vec<&str> = recorded.iter().map(RecordedTool::name).collect();
    let python = format!(
        "import asyncio, json\nnames = {}\n\
         values = await asyncio.gather(*(getattr(tools.aio, 'mcp__v__' + it)() for it in names))\n\
         print(json.dumps(dict(zip(names, values))))",
        json!(names)
    );
    let engines = ["python", "cpython"];
    for engine in engines.iter().take(if has_system_python() { 2 } else { 1 }) {
        let printed = printed(&gateway.execute_on(engine, &python));
        assert_same(&serde_json::from_str(&printed).expect("JSON"), &expected, engine);
    }
    let typescript = format!(
        "const names: string[] = {};\n\
         const values = await Promise.all(names.map((it) => tools['mcp__v__' + it]()));\n\
         const pairs = names.map((it, at) => [it, values[at]]);\n\
         const plain = (_: string, it: unknown) => (typeof it === 'bigint' ? Number(it) : it);\n\
         console.log(JSON.stringify(Object.fromEntries(pairs), plain));",
        json!(names)
    );
    let printed = printed(&gateway.execute_typescript(&typescript));
    let values = serde_json::from_str(&printed).expect("JSON");
    assert_same(&floats(values), &floats(expected), "typescript");
}

/// Compares tool by tool, so that a difference is found without reading all of them.
fn assert_same(values: &Value, expected: &Value, engine: &str) {
    for (name, expected) in expected.as_object().expect("an object") {
        assert_eq!(&values[name], expected, "{name} on {engine}");
    }
}

/// JavaScript has one kind of number.
fn floats(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.into_iter().map(floats).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, it)| (key, floats(it))).collect(),
        other => other,
    }
}
