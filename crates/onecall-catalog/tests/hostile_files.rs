//! Whatever is in a tool's definition, the files made from it are programs, and their
//! names are names on every file system.

mod support;

use std::collections::HashSet;

use onecall_catalog::{Files, ToolDefinition, generate};
use onecall_core::{Language, ToolAnnotations, ToolName};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use support::{listed, problem};

/// Texts that would end a comment, a string or a line, or are words of a language.
const TEXTS: &[&str] = &[
    "*/",
    "/**",
    "\"\"\"",
    "'''",
    "`${x}`",
    "\n",
    "\r\n",
    "\u{2028}",
    "\u{202e}",
    "\u{feff}",
    "\\",
    "\\u{0}",
    "\0",
    "\u{1b}[2J",
    "\"",
    "'",
    "#",
    "//",
    "--",
    "class",
    "def",
    "delete",
    "default",
    "None",
    "import",
    "list",
    "str",
    "call",
    "_call",
    "result",
    "arguments",
    "args",
    "UNSET",
    "Any",
    "Promise",
    "index",
    "con",
    "CON",
    "client",
    "query",
    "__init__",
    "__proto__",
    "self",
    "a-b",
    "a_b",
    "a b",
    "A_B",
    "é",
    "東京",
    "",
    "x",
    "y",
    "1",
    "-",
    "{",
    "}",
    ")",
    "%",
    "..",
    "/",
];

fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => proptest::sample::select(TEXTS).prop_map(str::to_owned),
        1 => ".{0,6}",
    ];
    vec(word, 1..4).prop_map(|words| words.concat())
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|it| json!(it)),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        Just(json!([1])),
        Just(json!({ "a": 1 })),
    ]
}

fn reference() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("#".to_owned()),
        Just("#/$defs/one".to_owned()),
        Just("#/$defs/two".to_owned()),
        Just("#/properties/x".to_owned()),
        text().prop_map(|it| format!("#/$defs/{it}")),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        vec(scalar(), 0..5).prop_map(|values| json!({ "enum": values })),
        scalar().prop_map(|value| json!({ "const": value })),
        reference().prop_map(|it| json!({ "$ref": it })),
        proptest::sample::select(&["string", "integer", "number", "boolean", "null", "odd"][..])
            .prop_map(|name| json!({ "type": name, "format": "*/", "minimum": 1 })),
        scalar(),
        Just(json!({ "type": ["string", "null"], "nullable": true })),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec((text(), inner.clone(), text(), scalar()), 0..4).prop_map(|fields| {
                let required: Vec<_> = fields.iter().step_by(2).map(|it| it.0.clone()).collect();
                let mut properties = Map::new();
                for (name, mut schema, description, default) in fields {
                    if let Some(schema) = schema.as_object_mut() {
                        schema.insert("description".to_owned(), description.into());
                        schema.insert("default".to_owned(), default);
                    }
                    properties.insert(name, schema);
                }
                json!({ "type": "object", "properties": properties, "required": required })
            }),
            inner.clone().prop_map(|it| json!({ "type": "array", "items": it })),
            vec(inner.clone(), 0..3).prop_map(|it| json!({ "type": "array", "prefixItems": it })),
            inner.clone().prop_map(|it| json!({ "type": "object", "additionalProperties": it })),
            vec(inner.clone(), 0..4).prop_map(|it| json!({ "anyOf": it })),
            vec(inner, 0..4).prop_map(|it| json!({ "allOf": it })),
        ]
    })
}

fn document() -> impl Strategy<Value = Value> {
    (schema(), schema(), schema()).prop_map(|(mut root, one, two)| {
        if let Some(root) = root.as_object_mut() {
            root.insert("$defs".to_owned(), json!({ "one": one, "two": two, "*/": two }));
        }
        root
    })
}

fn tool() -> impl Strategy<Value = ToolDefinition> {
    (text(), option::of(text()), document(), option::of(document())).prop_map(
        |(name, description, input_schema, output_schema)| ToolDefinition {
            tool: ToolName::new(name),
            description,
            input_schema,
            output_schema,
            annotations: ToolAnnotations { read_only_hint: Some(true), ..Default::default() },
        },
    )
}

/// Why a path is no good; `None` if all are.
fn bad_path(files: &Files) -> Option<String> {
    let mut seen = HashSet::new();
    files.keys().find_map(|path| {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./".contains(it);
        let parts: Vec<&str> = path.split('/').collect();
        let stem = |part: &&str| part.split('.').next().unwrap_or_default().to_lowercase();
        let is_device = |part: &&str| {
            ["con", "prn", "aux", "nul", "com1", "lpt1"].contains(&stem(part).as_str())
        };
        let is_good = path.chars().all(is_plain)
            && seen.insert(path.to_lowercase())
            && !parts.iter().any(|it| it.is_empty() || it.starts_with('.') || it.len() > 100)
            && !parts.iter().any(is_device);
        (!is_good).then(|| path.clone())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_are_programs(tools in vec(tool(), 1..6), server in text(), other in text()) {
        let servers = vec![(server.as_str(), tools.clone()), (other.as_str(), tools)];
        let tools = listed(servers);
        for language in [Language::Python, Language::TypeScript] {
            let files = generate(&tools, language, "tools");
            prop_assert_eq!(problem(&files), None);
            prop_assert_eq!(bad_path(&files), None);
        }
    }
}

#[test]
fn names_that_meet_are_told_apart() {
    let define = |name: &str| ToolDefinition {
        tool: ToolName::new(name),
        description: None,
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    };
    let names =
        ["get-user", "get_user", "GETUSER", "getuser", "delete", "con", "index", "東京", "大阪"];
    let long = "x".repeat(300);
    let mut tools: Vec<_> = names.iter().map(|it| define(it)).collect();
    tools.push(define(&long));
    let tools = listed(vec![("a-b", tools.clone()), ("a.b", vec![define("x")]), ("client", tools)]);
    for (language, name) in [(Language::Python, "python"), (Language::TypeScript, "typescript")] {
        let files = generate(&tools, language, "tools");
        assert_eq!(bad_path(&files), None);
        assert_eq!(problem(&files), None);
        let paths: String = files.keys().map(|path| format!("{path}\n")).collect();
        insta::assert_snapshot!(format!("names_{name}"), paths);
    }
}
