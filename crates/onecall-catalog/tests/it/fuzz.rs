//! Definitions of tools and results that were made to hurt: files made from them are
//! programs, signatures are lines, and shapes keep no values.

use onecall_catalog::{Shape, ToolDefinition, generate, python_signature, typescript_signature};
use onecall_core::{Language, ToolAnnotations, ToolName};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{bad_path, listed, problem};

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

/// In every text of an answer, and in keys that are data.
const SECRET: &str = "SECRET";

fn answer() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(|it| json!(format!("{SECRET}{it}"))),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|it| json!(it)),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
    ];
    let key = prop_oneof![
        3 => "[a-z]{1,3}",
        1 => proptest::sample::select(&["@x.org", "-1234", " and more", "/path", "é"][..])
            .prop_map(|it| format!("{SECRET}{it}")),
    ];
    leaf.prop_recursive(8, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((key.clone(), inner), 0..6).prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn tool() -> impl Strategy<Value = ToolDefinition> {
    (text(), option::of(text()), document(), option::of(document())).prop_map(
        |(name, description, input_schema, output_schema)| ToolDefinition {
            tool: ToolName::new(name),
            description: description.map(Into::into),
            input_schema: input_schema.into(),
            output_schema: output_schema.map(Into::into),
            annotations: ToolAnnotations { read_only_hint: Some(true), ..Default::default() },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

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

    #[test]
    fn signatures_are_one_short_line(tool in tool()) {
        let tools = listed(vec![("server", vec![tool])]);
        for tool in tools {
            for line in [python_signature(&tool.spec), typescript_signature(&tool.spec)] {
                prop_assert!(line.chars().count() <= 2_000, "{}", line);
                prop_assert!(!line.contains(char::is_control), "{:?}", line);
            }
        }
    }

    #[test]
    fn shapes_have_no_values(values in vec(answer(), 1..6)) {
        let mut shape = Shape::default();
        for value in &values {
            shape.merge(Shape::of_text(&value.to_string()));
        }
        let stored = shape.to_json();
        prop_assert!(!stored.contains(SECRET), "{}", stored);
        prop_assert!(stored.len() < 100_000);
        prop_assert_eq!(Shape::from_json(&stored), Some(shape));
    }
}
