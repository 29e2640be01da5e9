//! What signatures say about the results of tools of the Python SDKs. The definitions are those
//! that `tests/interop/values` has stored of real servers, one for each return annotation.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use onecall_catalog::{python_signature, typescript_signature};
use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName, ToolSpec};
use serde_json::Value;

/// The result types of all annotations in both languages, a line for each.
fn result_types(framework: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/values");
    let text = std::fs::read_to_string(folder.join(format!("{framework}.json"))).expect("a file");
    let recorded: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let mut types = BTreeMap::new();
    for tool in recorded {
        let definition = &tool["definition"];
        let (annotation, _) = definition["name"].as_str().unwrap().rsplit_once('_').unwrap();
        let spec = ToolSpec {
            callable: CallableName::new("it"),
            server: ServerName::new("s"),
            tool: ToolName::new("it"),
            description: None,
            input_schema: definition["inputSchema"].clone().into(),
            output_schema: definition.get("outputSchema").cloned().map(Into::into),
            annotations: ToolAnnotations::default(),
        };
        let python = python_signature(&spec).replace("await it() -> ", "");
        let typescript = typescript_signature(&spec).replace("await it(): ", "");
        let pair = format!("{python:<40} {typescript}");
        // Whatever the data, the annotation decides.
        let before = types.insert(annotation.to_owned(), pair.clone());
        assert!(before.is_none_or(|before| before == pair), "{annotation}");
    }
    types.into_iter().fold(String::new(), |mut lines, (annotation, pair)| {
        writeln!(lines, "{annotation:<22} {pair}").unwrap();
        lines
    })
}

#[test]
fn python_sdk_1() {
    insta::assert_snapshot!(result_types("sdk-1"));
}

#[test]
fn python_sdk_2() {
    assert_eq!(result_types("sdk-2"), result_types("sdk-1"));
}

#[test]
fn fastmcp() {
    insta::assert_snapshot!(result_types("fastmcp"));
}
