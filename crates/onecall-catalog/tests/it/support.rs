//! What the tests of generated text share: tools as a server lists them, and the parsers
//! that what is made of them has to please.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use onecall_catalog::{Catalog, GeneratedFiles, GeneratedTool, ToolDefinition, category_of};
use onecall_core::{ServerName, ToolName};
use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use serde_json::Value;

/// The tools in an answer to `tools/list`.
pub fn definitions(tools: &Value) -> Vec<ToolDefinition> {
    let tools = tools.as_array().map(Vec::as_slice).unwrap_or_default();
    let define = |tool: &Value| ToolDefinition {
        tool: ToolName::new(tool["name"].as_str().unwrap_or_default()),
        description: tool["description"].as_str().map(Into::into),
        input_schema: tool["inputSchema"].clone().into(),
        output_schema: tool.get("outputSchema").cloned().map(Into::into),
        annotations: serde_json::from_value(tool["annotations"].clone()).unwrap_or_default(),
    };
    tools.iter().map(define).collect()
}

/// The tools of the fixture server, which the programs of `tests/programs*` call.
pub fn fixture() -> Catalog {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/data/tools.json");
    let text = fs::read_to_string(path).expect("the definitions of the fixture server");
    let listed: Value = serde_json::from_str(&text).expect("definitions are JSON");
    Catalog::build([(ServerName::new("fixture"), definitions(&listed))])
}

/// The tools of these servers with their callable names and categories.
pub fn listed(servers: Vec<(&str, Vec<ToolDefinition>)>) -> Vec<GeneratedTool> {
    let servers = servers.into_iter().map(|(name, tools)| (ServerName::new(name), tools));
    let catalog = Catalog::build(servers);
    let list = |spec: &Arc<_>| {
        let category = category_of(spec);
        GeneratedTool { spec: Arc::clone(spec), category, observed: None }
    };
    catalog.tools().map(list).collect()
}

/// The parse error of the first invalid file; `None` if all files are valid programs.
pub fn problem(files: &GeneratedFiles) -> Option<String> {
    files.iter().find_map(|(path, text)| {
        let problem = match path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("ts") => typescript_problem(text),
            Some("py") => python_problem(text),
            _ => None,
        };
        problem.map(|problem| format!("{path}: {problem}\n{text}"))
    })
}

fn typescript_problem(text: &str) -> Option<String> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::ts()).parse();
    let problems: Vec<_> = parsed.diagnostics.iter().map(ToString::to_string).collect();
    (parsed.panicked || !problems.is_empty()).then(|| problems.join("; "))
}

fn python_problem(text: &str) -> Option<String> {
    ruff_python_parser::parse_module(text).err().map(|error| error.to_string())
}

/// The problem of the first invalid path; `None` if all paths are valid.
pub fn bad_path(files: &GeneratedFiles) -> Option<String> {
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
