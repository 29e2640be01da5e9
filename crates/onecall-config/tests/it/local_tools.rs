//! Tools that need no server: what may be written, and the words for what may not.

use std::path::{Path, PathBuf};
use std::time::Duration;

use onecall_config::{
    CommandInput, CommandOutput, CommandTool, Config, FileAction, LocalTool, LocalToolKind,
    Template, TemplatePart,
};
use serde_json::json;

const FILE: &str = "/etc/onecall/c.yaml";

fn environment(name: &str) -> Option<String> {
    match name {
        "SECRET" => Some("hunter2".into()),
        "HOME" => Some("/home/ada".into()),
        "BRACES" => Some("{x}".into()),
        _ => None,
    }
}

fn tools(text: &str) -> Vec<LocalTool> {
    match Config::parse(text, Path::new(FILE), &environment) {
        Ok(config) => config.local_tools,
        Err(errors) => panic!("{text}\n{errors}"),
    }
}

fn command(text: &str) -> CommandTool {
    let [tool] = tools(text).try_into().unwrap();
    match tool.kind {
        LocalToolKind::Command(command) => command,
        LocalToolKind::Files(_) => panic!("{text} is no command"),
    }
}

fn shown(template: &Template) -> String {
    let piece = |piece: &TemplatePart| match piece {
        TemplatePart::Text(text) => text.clone(),
        TemplatePart::Argument(name) => format!("<{name}>"),
    };
    template.parts().iter().map(piece).collect()
}

#[test]
fn a_command_and_its_defaults() {
    let tool = command("local_tools: [{name: now, command: [date]}]");
    assert_eq!(tool.program, PathBuf::from("date"));
    assert_eq!(tool.arguments, []);
    let expected = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    assert_eq!(tool.input_schema, expected);
    assert_eq!((tool.stdin, tool.output), (CommandInput::None, CommandOutput::Auto));
    assert_eq!(tool.timeout, Duration::from_secs(30));
    assert_eq!(tool.cwd, None);
    assert!(tool.env.is_empty());
    assert_eq!(tool.max_output_bytes, 4 * 1024 * 1024);
}

#[test]
fn a_command_with_everything() {
    let text = r#"
local_tools:
  log:
    description: Commits
    command: [./bin/log, -n, 5, "--x={x}", "{{${BRACES}}}", "{y}", "${SECRET}"]
    inputSchema:
      type: object
      properties:
        x: { type: integer, default: 1.5, maximum: 12 }
        y: { enum: [a, null, true, "5", 5] }
      required: [x]
    stdin: "<{y}>"
    output: json
    timeout_seconds: 0.5
    cwd: sub
    env: { A: "${SECRET}", B: 1 }
    max_output_bytes: 10
    read_only: true
    destructive: false
    idempotent: true
"#;
    let [tool] = tools(text).try_into().unwrap();
    assert_eq!((tool.name.as_str(), tool.description.as_deref()), ("log", Some("Commits")));
    let hints = &tool.annotations;
    let hints = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint);
    assert_eq!(hints, (Some(true), Some(false), Some(true)));
    let tool = command(text);
    assert_eq!(tool.program, PathBuf::from("/etc/onecall/bin/log"));
    let arguments: Vec<String> = tool.arguments.iter().map(shown).collect();
    assert_eq!(arguments, ["-n", "5", "--x=<x>", "{{x}}", "<y>", "hunter2"]);
    let expected = json!({
        "type": "object",
        "properties": {
            "x": { "type": "integer", "default": 1.5, "maximum": 12 },
            "y": { "enum": ["a", null, true, "5", 5] },
        },
        "required": ["x"],
        "additionalProperties": false,
    });
    assert_eq!(tool.input_schema.to_string(), expected.to_string());
    let CommandInput::Text(stdin) = &tool.stdin else { panic!("a text") };
    assert_eq!(shown(stdin), "<<y>>");
    assert_eq!(tool.output, CommandOutput::Json);
    assert_eq!(tool.timeout, Duration::from_millis(500));
    assert_eq!(tool.cwd, Some(PathBuf::from("/etc/onecall/sub")));
    let env: Vec<_> = tool.env.iter().map(|(name, value)| (&**name, value.reveal())).collect();
    assert_eq!(env, [("A", "hunter2"), ("B", "1")]);
    assert_eq!(tool.max_output_bytes, 10);
    assert!(!format!("{tool:?}").contains("hunter2"));
}

#[test]
fn a_schema_may_say_that_more_is_welcome() {
    let schema = |rest: &str| {
        let text = format!("local_tools: [{{name: a, command: [x], {rest}}}]");
        command(&text).input_schema.get("additionalProperties").cloned()
    };
    assert_eq!(schema("input_schema: {}"), Some(json!(false)));
    assert_eq!(schema("input_schema: {additionalProperties: true}"), Some(json!(true)));
    assert_eq!(schema("input_schema: {}, stdin: json"), None);
}

#[test]
fn built_in_tools() {
    let text = "
local_tools:
  - {name: r, builtin: read_file, root: ./notes}
  - {name: w, builtin: write_file, root: ../drafts}
  - {name: l, builtin: list_files, root: ~/x}
  - {name: g, builtin: glob, root: /srv/data}
";
    let found: Vec<_> = tools(text)
        .into_iter()
        .map(|tool| match tool.kind {
            LocalToolKind::Files(files) => (files.action, files.root.display().to_string()),
            LocalToolKind::Command(_) => panic!("no command"),
        })
        .collect();
    let expected = [
        (FileAction::Read, "/etc/onecall/notes"),
        (FileAction::Write, "/etc/onecall/../drafts"),
        (FileAction::List, "/home/ada/x"),
        (FileAction::Glob, "/srv/data"),
    ];
    assert_eq!(found, expected.map(|(action, root)| (action, root.to_owned())));
}

/// Each row: a text, and what follows the file's name for its only problem.
#[test]
fn problems() {
    let rows = [
        ("local_tools: x", "1:14: 'local_tools' must be a mapping, not text"),
        ("local_tools: [x]", "1:15: this local tool must be a mapping, not text"),
        (
            "local_tools: [{command: [x]}]",
            "1:15: this local tool has no name\n  help: give it a 'name'",
        ),
        ("local_tools: [{name: '', command: [x]}]", "1:22: a local tool's name must not be empty"),
        (
            "local_tools:\n  - {name: a, command: [x]}\n  - {name: a, command: [x]}",
            "3:12: local tool 'a' is given twice, on line 2 and on line 3\n  help: rename one of them",
        ),
        (
            "local_tools: {a: {name: b, command: [x]}}",
            "1:25: local tool 'a' has another name inside its entry\n  help: the key is the name; remove 'name'",
        ),
        (
            "local_tools: {a: {comand: [x], builtin: glob, root: x}}",
            "1:19: unknown key 'comand' in local tool 'a'\n  help: did you mean 'command'?",
        ),
        ("local_tools: {a: {}}", "1:15: local tool 'a' has neither a 'command' nor a 'builtin'"),
        (
            "local_tools: {a: {command: [x], builtin: glob}}",
            "1:33: local tool 'a' has both a 'command' and a 'builtin'\n  help: keep one of them",
        ),
        (
            "local_tools: {a: {command: [x], root: y}}",
            "1:33: 'root' is for built-in tools\n  help: remove it",
        ),
        (
            "local_tools: {a: {builtin: glob, root: y, stdin: json}}",
            "1:43: 'stdin' is for tools with a 'command'\n  help: remove it",
        ),
        (
            "local_tools: {a: {command: git log}}",
            "1:28: 'command' of local tool 'a' must be a list, not text\n  help: write the program and each of its arguments as an item: [git, log, \"--max-count={count}\"]; no shell is involved",
        ),
        (
            "local_tools: {a: {command: []}}",
            "1:28: 'command' of local tool 'a' must not be empty\n  help: write the program and each of its arguments as an item: [git, log, \"--max-count={count}\"]; no shell is involved",
        ),
        (
            "local_tools: {a: {command: ['{x}'], input_schema: {properties: {x: {}}}}}",
            "1:29: the program in 'command' of local tool 'a' must not hold a placeholder\n  help: name the program itself",
        ),
        (
            "local_tools: {a: {command: [x, {y}]}}",
            "1:32: each of 'command' of local tool 'a' must be text, not a mapping\n  help: put a placeholder in quotes: \"{name}\"",
        ),
        (
            "local_tools:\n  a:\n    command:\n      - x\n      - '{y}'",
            "5:9: '{y}' in 'command' of local tool 'a' is no argument of the tool\n  help: add it under 'properties' of 'input_schema'",
        ),
        (
            "local_tools: {a: {command: [x, '{conut}'], input_schema: {properties: {count: {}}}}}",
            "1:32: '{conut}' in 'command' of local tool 'a' is no argument of the tool\n  help: did you mean '{count}'?",
        ),
        (
            "local_tools: {a: {command: [x], stdin: '{y}', input_schema: {properties: {count: {}}}}}",
            "1:40: '{y}' in 'stdin' of local tool 'a' is no argument of the tool\n  help: its arguments are count",
        ),
        (
            "local_tools: {a: {command: [x, '{']}}",
            "1:32: a '{' has no closing '}' (in 'command' of local tool 'a')\n  help: write {name} for an argument, and {{ or }} for a brace",
        ),
        (
            "local_tools: {a: {command: [x, '${NOT_SET}']}}",
            "1:32: environment variable 'NOT_SET' is not set (in 'command' of local tool 'a')\n  help: store it with `onecall secrets set NOT_SET`, set it before starting onecall, or write ${NOT_SET:-default}",
        ),
        (
            "local_tools: {a: {command: [x, \"a\\0b\"]}}",
            "1:32: 'command' of local tool 'a' holds a NUL character",
        ),
        (
            "local_tools: {a: {command: [x], stdin: text}}",
            "1:40: 'stdin' of local tool 'a' must be none, json, or a text with an argument in it\n  help: write for example \"{body}\" to pass the argument 'body'",
        ),
        (
            "local_tools: {a: {command: [x], output: jsn}}",
            "1:41: 'jsn' is not an output; it can be auto, json, text\n  help: did you mean 'json'?",
        ),
        (
            "local_tools: {a: {command: [x], max_output_bytes: 0}}",
            "1:51: 'max_output_bytes' of local tool 'a' must be a whole number from 1 to 33554432",
        ),
        (
            "local_tools: {a: {command: [x], input_schema: {}, inputSchema: {}}}",
            "1:51: local tool 'a' has two schemas\n  help: 'input_schema' and 'inputSchema' mean the same; keep one",
        ),
        (
            "local_tools: {a: {command: [x], input_schema: {type: string}}}",
            "1:54: 'type' in 'input_schema' of local tool 'a' must be object\n  help: a tool's arguments are an object; describe each under 'properties'",
        ),
        (
            "local_tools: {a: {command: [x], input_schema: {properties: {x: string}}}}",
            "1:64: 'x' of 'properties' in 'input_schema' of local tool 'a' must be a mapping, not text\n  help: describe it, for example as { type: string }",
        ),
        (
            "local_tools: {a: {command: [x], input_schema: {properties: {count: {}}, required: [cuont]}}}",
            "1:84: 'required' in 'input_schema' of local tool 'a' names something that is not a property\n  help: did you mean 'count'?",
        ),
        (
            "local_tools: {a: {command: [x], input_schema: {properties: {x: {default: .nan}}}}}",
            "1:74: 'input_schema' of local tool 'a' holds a number that JSON cannot represent",
        ),
        (
            "local_tools: {a: {builtin: readfile, root: x}}",
            "1:28: 'readfile' is not a built-in tool; it can be read_file, write_file, list_files, glob\n  help: did you mean 'read_file'?",
        ),
        (
            "local_tools: {a: {builtin: read_file}}",
            "1:15: local tool 'a' needs a 'root'\n  help: name the folder that it may use",
        ),
        (
            "local_tools: {a: {builtin: read_file, root: ../..}}",
            "1:45: 'root' of local tool 'a' must not be '/', the whole disk\n  help: give it a folder of its own",
        ),
        (
            "servers: [{name: local, command: x}]\nlocal_tools: {a: {command: [x]}}",
            "1:18: the server name 'local' is reserved for local tools\n  help: choose another name",
        ),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in rows {
        let file = Path::new("/etc/c.yaml");
        let actual = Config::parse(text, file, &environment)
            .map_or_else(|errors| errors.to_string(), |config| format!("{config:?}"));
        if actual != format!("/etc/c.yaml:{expected}") {
            wrong.push(format!("{text}\n  expected {expected}\n  got      {actual}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
