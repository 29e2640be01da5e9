//! Generated files before the type checkers of their languages, and running for real: a
//! generated function gives what a program gets.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testkit::bins;

use crate::support::installed::{bounded, installed, interop_file};
use crate::support::{CommandResult, Home, ReceivedMessages, finish, fixture};

/// What a program prints that makes the same calls as `generated/values.*`.
const PROGRAM: &str = r#"
    import asyncio, json
    values = await asyncio.gather(
        mcp__fixture__add(2, 3), mcp__fixture__bigint(),
        mcp__fixture__echo({"value": {"deep": [1, 2.5, "é", None, True]}}),
        mcp__fixture__echo(value="NaN"), mcp__fixture__mixed(), mcp__fixture__nothing(),
        mcp__fixture__rows(3), mcp__fixture__structured(), mcp__fixture__wrapped_list(),
    )
    values.append(values[4].content[1]["mimeType"])
    try:
        await mcp__fixture__fail("on purpose")
    except ToolError as error:
        values.append(str(error))
    print(json.dumps(values))
"#;

/// A home with the fixture server.
fn home() -> Home {
    Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }))
}

/// A home without servers.
fn nothing() -> Home {
    Home::with_config(&json!({ "servers": [] }))
}

/// A home with a server for every stored list of a published one, and one whose tools
/// have names and schemas that are trouble.
fn many_servers() -> Home {
    let home = Home::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../onecall-catalog/tests/schemas");
    let mut servers = Vec::new();
    for file in std::fs::read_dir(folder).expect("stored lists").flatten() {
        let path = file.path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a file");
        let list: Value = serde_json::from_str(&text).expect("JSON");
        home.write(&format!("{name}.json"), list["tools"].to_string());
        servers.push(fixture(&name, &["--tools-file", &home.text_path(&format!("{name}.json"))]));
    }
    home.write("trouble.json", trouble().to_string());
    for name in ["client", "import", "typing"] {
        servers.push(fixture(name, &["--tools-file", &home.text_path("trouble.json")]));
    }
    home.write("config.json", json!({ "servers": servers }).to_string());
    home
}

/// Tools with the names that languages and generated files use themselves.
fn trouble() -> Value {
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    let text = json!({ "type": "string" });
    let recursive = json!({
        "type": "object",
        "properties": {
            "root": { "$ref": "#/$defs/node" }, "whole": { "$ref": "#" },
            "same": { "$ref": "#/$defs/same" }, "round": { "$ref": "#/$defs/there" },
        },
        "required": ["root"],
        "$defs": {
            "node": object(json!({
                "children": { "type": "array", "items": { "$ref": "#/$defs/node" } },
                "value": { "$ref": "#/$defs/json" },
            })),
            "json": { "anyOf": [
                text, { "type": "array", "items": { "$ref": "#/$defs/json" } },
                { "type": "object", "additionalProperties": { "$ref": "#/$defs/json" } },
            ] },
            "same": { "anyOf": [{ "$ref": "#/$defs/same" }, text] },
            "there": { "$ref": "#/$defs/back" }, "back": { "$ref": "#/$defs/there" },
        },
    });
    let tool = |name: &str, input: Value, output: Option<&Value>| {
        let mut tool = json!({
            "name": name, "inputSchema": input, "annotations": { "readOnlyHint": true },
            "description": "*/ \"\"\" `${x}` \\ \u{202e}\u{2028}\"",
        });
        if let Some(output) = output {
            tool["outputSchema"] = output.clone();
        }
        tool
    };
    let names =
        object(json!({ "list": { "type": "array", "items": text }, "str": text, "__c": text,
        "pair": { "type": "array", "prefixItems": [text, { "type": "number" }] } }));
    let either = json!({ "type": "object", "anyOf": [object(json!({ "a": text })), object(json!({ "b": text }))] });
    let both = json!({ "allOf": [{ "$ref": "#/$defs/one" }, object(json!({ "two": { "default": true } }))],
        "$defs": { "one": object(json!({ "one": { "const": "x" } })) } });
    json!([
        tool("query", object(json!({ "sql": text })), None),
        tool("other", object(json!({})), None),
        tool("mutation", json!({ "type": "object", "additionalProperties": text }), None),
        tool("delete", object(json!({ "from": text, "max-results": { "type": "integer" } })), None),
        tool("list", names.clone(), Some(&names)),
        tool("str", object(json!({ "int": { "type": "integer" }, "result": text })), None),
        tool(
            "class",
            object(json!({ "self": text, "UNSET": text, "_call": text, "Any": text })),
            None
        ),
        tool("tree", recursive.clone(), Some(&recursive)),
        tool("either", either, None),
        tool("both", both, None),
        tool(
            "odd",
            text.clone(),
            Some(&json!({ "type": "array", "items": { "enum": [1, "a'\n", null, true, 1.5] } }))
        ),
        tool("call", object(json!({})), None),
        tool("default", object(json!({})), None),
        tool("Promise", object(json!({})), None),
        tool("東京", object(json!({})), None),
    ])
}

fn generate(home: &Home, language: &str) {
    generate_in(home, language, "tools");
}

fn generate_in(home: &Home, language: &str, folder: &str) {
    let ended =
        finish(home.onecall_with_config(&["generate", "--lang", language, "--out", folder]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// The blocks of code in a language of a Markdown text.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    let parts = text.split(opening.as_str()).skip(1);
    parts.map(|part| part.split("```").next().expect("an end")).collect()
}

/// The compiler in the working directory, with everything it can complain about.
fn tsc(home: &Home, node: &Path, typescript: &Path) -> Command {
    let options = json!({
        "strict": true, "module": "nodenext", "target": "es2022", "types": ["node"],
        "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true,
        "noImplicitOverride": true, "noPropertyAccessFromIndexSignature": true,
        "isolatedModules": true, "noUnusedLocals": true, "outDir": "compiled", "rootDir": ".",
    });
    let include = json!({ "compilerOptions": options, "exclude": ["compiled", "node_modules"] });
    home.write("work/tsconfig.json", include.to_string());
    compiler(home, node, typescript)
}

/// The compiler in the working directory, with the `tsconfig.json` that is there.
fn compiler(home: &Home, node: &Path, typescript: &Path) -> Command {
    let modules = home.path("work/node_modules");
    if !modules.exists() {
        symlink(typescript.join("node_modules"), modules).expect("a link");
    }
    let mut command = bounded(node);
    command.arg(typescript.join("node_modules/typescript/bin/tsc")).current_dir(home.path("work"));
    command
}

fn mypy(home: &Home, environment: &Path) -> Command {
    let mut command = bounded(environment.join("bin/python"));
    command.args(["-m", "mypy", "--strict", "--cache-dir=/dev/null", "."]);
    command.current_dir(home.path("work"));
    command
}

/// A command that finds onecall and the configuration as a user's would.
fn with_onecall(mut command: Command, home: &Home) -> Command {
    command.env("ONECALL", bins::onecall()).env("ONECALL_CONFIG", home.path("config.json"));
    command.env("XDG_STATE_HOME", home.path("home/state")).current_dir(home.path("work"));
    command
}

/// Runs a command that must succeed, and returns its stdout.
fn succeeded(command: Command) -> String {
    let CommandResult { code, stdout, stderr } = finish(command);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    stdout
}

#[test]
fn typescript_for_many_servers_has_no_type_errors() {
    let Some(typescript) = installed("ONECALL_INTEROP_TYPESCRIPT") else { return };
    let Some(node) = installed("ONECALL_INTEROP_NODE") else { return };
    let home = many_servers();
    generate(&home, "typescript");
    let mut check = tsc(&home, &node, &typescript);
    check.arg("--noEmit");
    succeeded(check);
}

#[test]
fn the_readme_in_typescript_compiles_and_runs_as_it_is() {
    let Some(typescript) = installed("ONECALL_INTEROP_TYPESCRIPT") else { return };
    let Some(node) = installed("ONECALL_INTEROP_NODE") else { return };
    for (home, folder, runs) in
        [(home(), "mcp-apis", true), (many_servers(), "servers", false), (nothing(), "none", false)]
    {
        generate_in(&home, "typescript", folder);
        let path = home.path("work").join(folder).join("README.md");
        let readme = std::fs::read_to_string(path).expect("a README");
        let (configuration, code) = (blocks(&readme, "json"), blocks(&readme, "ts"));
        assert_eq!((configuration.len(), code.len()), (1, 2), "{readme}");
        home.write("work/tsconfig.json", configuration[0]);
        for (number, block) in code.iter().enumerate() {
            home.write(&format!("work/readme{number}.ts"), block);
        }
        // Both kinds of modules that Node.js has.
        for kind in ["module", "commonjs"] {
            home.write("work/package.json", json!({ "type": kind }).to_string());
            succeeded(compiler(&home, &node, &typescript));
            for number in 0..if runs { code.len() } else { 0 } {
                let mut run = bounded(&node);
                run.arg(format!("build/readme{number}.js"));
                assert_ne!(succeeded(with_onecall(run, &home)), "", "{kind} {number}");
            }
        }
    }
}

#[test]
fn the_client_calls_by_name_and_forgets() {
    let Some(typescript) = installed("ONECALL_INTEROP_TYPESCRIPT") else { return };
    let Some(node) = installed("ONECALL_INTEROP_NODE") else { return };
    let home = Home::new();
    let servers = [fixture("fixture", &["--log", &home.text_path("received")])];
    home.write("config.json", json!({ "servers": servers, "cache": {} }).to_string());
    let received = ReceivedMessages::in_file(home.path("received"));
    generate(&home, "typescript");
    let program = std::fs::read(interop_file("generated/client.ts")).expect("a program");
    home.write("work/client.ts", program);
    home.write("work/package.json", json!({ "type": "module" }).to_string());
    succeeded(tsc(&home, &node, &typescript));
    let mut run = bounded(&node);
    run.arg("compiled/client.js");
    let printed = succeeded(with_onecall(run, &home));
    let said = "there is no such tool. Did you mean: mcp__fixture__add?";
    assert_eq!(printed, format!("3 3 3\n3 3\n1\n0\n'mcp_fixture_ad' failed: {said}\n3\n"));
    // Once at first, once after each time that it was forgotten, and once on a new connection.
    assert_eq!(received.calls("add"), 4);
}

#[test]
fn python_for_many_servers_has_no_type_errors() {
    let Some(environment) = installed("ONECALL_INTEROP_TYPING") else { return };
    let home = many_servers();
    generate(&home, "python");
    succeeded(mypy(&home, &environment));
}

#[test]
fn a_function_in_typescript_gives_what_a_program_gets() {
    let Some(typescript) = installed("ONECALL_INTEROP_TYPESCRIPT") else { return };
    let Some(node) = installed("ONECALL_INTEROP_NODE") else { return };
    let home = home();
    generate(&home, "typescript");
    let program = std::fs::read(interop_file("generated/values.ts")).expect("a program");
    home.write("work/values.ts", program);
    // Both kinds of modules that Node.js has.
    for kind in ["module", "commonjs"] {
        home.write("work/package.json", json!({ "type": kind }).to_string());
        succeeded(tsc(&home, &node, &typescript));
        let mut run = bounded(&node);
        run.arg("compiled/values.js");
        let printed = succeeded(with_onecall(run, &home));
        let big = "123456789012345678901234567890";
        let printed = printed.replace(&format!("\"bigint {big}\""), big);
        assert_same(&home, &printed);
        for example in ["filtering", "composite", "aggregation"] {
            let mut run = bounded(&node);
            run.arg(format!("compiled/tools/examples/{example}.js"));
            assert_ne!(succeeded(with_onecall(run, &home)), "", "{example}");
        }
    }
}

#[test]
fn a_function_in_python_gives_what_a_program_gets() {
    let Some(environment) = installed("ONECALL_INTEROP_TYPING") else { return };
    let home = home();
    generate(&home, "python");
    let program = std::fs::read(interop_file("generated/values.py")).expect("a program");
    home.write("work/values.py", program);
    succeeded(mypy(&home, &environment));
    let python = environment.join("bin/python");
    let mut run = bounded(&python);
    run.arg("values.py");
    assert_same(&home, &succeeded(with_onecall(run, &home)));
    for example in ["filtering", "composite", "aggregation"] {
        let mut run = bounded(&python);
        run.arg("-m").arg(format!("tools.examples.{example}"));
        assert_ne!(succeeded(with_onecall(run, &home)), "", "{example}");
    }
}

/// Fails unless a program in onecall gets the values that the generated code printed.
fn assert_same(home: &Home, printed: &str) {
    let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let ended = home.run(PROGRAM);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(parse(printed), parse(&ended.stdout));
}
