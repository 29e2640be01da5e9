//! What functions, files and folders are called where several would be called the same.

use onecall_catalog::{ToolDefinition, generate};
use onecall_core::{Language, ToolAnnotations, ToolName};
use serde_json::json;

use crate::support::{bad_path, listed, problem};

#[test]
fn names_that_meet_are_told_apart() {
    let define = |name: &str| ToolDefinition {
        tool: ToolName::new(name),
        description: None,
        input_schema: json!({ "type": "object" }).into(),
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
