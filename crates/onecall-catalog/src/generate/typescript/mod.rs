//! Generates the TypeScript files.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::example::EXAMPLES;
use super::names::FunctionLocation;
use super::sample::example_tools;
use super::{GeneratedFiles, LocatedTool};
use crate::casing::{camel_case, identifier};
use crate::literal::json_string;
use crate::typescript::{TypeScriptFile, local_name, typescript_file};

const CLIENT: &str = include_str!("client.ts");
const README: &str = include_str!("README.md");
const ROWS: &str = include_str!("rows.ts");
/// The exports of the client, which the top index exports again.
const CLIENT_EXPORTS: [&str; 6] =
    ["call", "callMCPTool", "clearCache", "close", "disconnectMCP", "ToolError"];
const HEADER: &str = "// Made by `onecall generate`; changes will be lost.\n\n";

pub(super) fn tool(located: &LocatedTool<'_>) -> TypeScriptFile {
    let LocatedTool { tool, location } = located;
    typescript_file(&tool.spec, &location.function, tool.observed.as_ref())
}

pub(super) fn files(located: &[LocatedTool<'_>], folder: &str) -> GeneratedFiles {
    let mut files = GeneratedFiles::new();
    files.insert("client.ts".to_owned(), CLIENT.to_owned());
    // The lines of each index file, by its path.
    let mut indexes: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut namespaces = BTreeMap::new();
    let mut exported: HashSet<(String, String)> = HashSet::new();
    indexes.entry(String::new()).or_default();
    for located in located {
        let location = &located.location;
        let (server, category, file) = (&location.server, location.category, &location.file);
        let TypeScriptFile { text, types } = tool(located);
        files.insert(format!("{server}/{category}/{file}.ts"), text);
        let mut names = vec![local_name(&location.function)];
        if names.first() != Some(&location.function) && location.function != "default" {
            names.push(location.function.clone());
        }
        let mut is_new = |name: &String| exported.insert((server.clone(), name.clone()));
        names.retain(&mut is_new);
        names.extend(types.into_iter().filter(is_new).map(|name| format!("type {name}")));
        if !names.is_empty() {
            let line = format!("export {{ {} }} from \"./{file}.js\";\n", names.join(", "));
            indexes.entry(format!("{server}/{category}/")).or_default().insert(file.clone(), line);
        }
        let line = format!("export * from \"./{category}/index.js\";\n");
        indexes.entry(format!("{server}/")).or_default().insert(category.to_owned(), line);
        let line = format!(
            "export * as {} from \"./{server}/index.js\";\n",
            namespace(server, &mut namespaces)
        );
        indexes.entry(String::new()).or_default().insert(server.clone(), line);
    }
    for (path, lines) in indexes {
        let mut text = HEADER.to_owned();
        text.extend(lines.into_values());
        if path.is_empty() {
            text.push_str(&format!(
                "export {{ {} }} from \"./client.js\";\n",
                CLIENT_EXPORTS.join(", ")
            ));
        }
        files.insert(format!("{path}index.ts"), text);
    }
    examples(located, &mut files);
    files.insert("README.md".to_owned(), readme(located, folder));
    files
}

/// The name of a server's namespace in the top index.
fn namespace(server: &str, taken: &mut BTreeMap<String, String>) -> String {
    if let Some(known) = taken.iter().find(|(_, folder)| *folder == server) {
        return known.0.clone();
    }
    let mut name = local_name(&camel_case(server));
    while CLIENT_EXPORTS.contains(&name.as_str()) || taken.contains_key(&name) {
        name.push('_');
    }
    taken.insert(name.clone(), server.to_owned());
    name
}

fn examples(located: &[LocatedTool<'_>], files: &mut GeneratedFiles) {
    let example_tools = example_tools(located);
    let Some((first, arguments)) = example_tools.first() else { return };
    let (second, more) = example_tools.get(1).map_or((first, arguments), |it| (&it.0, &it.1));
    let import = |it: &LocatedTool<'_>, name: &str| {
        let function = local_name(&it.location.function);
        format!("import {{ {function} as {name} }} from \"../{}/index.js\";\n", it.location.server)
    };
    let (one, other) = (object(arguments), object(more));
    let bodies = [
        format!(
            "  const all = rows(await ask({one}));\n  \
             const wanted = all.filter((row) => Object.values(row).some((value) => value !== null));\n  \
             console.log(`${{wanted.length}} of ${{all.length}}`);\n  \
             for (const row of wanted.slice(0, 3)) console.log(row);\n"
        ),
        format!(
            "  const [first, second] = await Promise.all([ask({one}), askToo({other})]);\n  \
             console.log({{ first: rows(first).length, second: rows(second).length }});\n"
        ),
        format!(
            "  const counts = new Map<string, number>();\n  \
             for (const row of rows(await ask({one}))) {{\n    \
             const text = Object.values(row).find((value) => typeof value === \"string\");\n    \
             const key = String(text ?? \"other\");\n    \
             counts.set(key, (counts.get(key) ?? 0) + 1);\n  \
             }}\n  \
             console.log(Object.fromEntries(counts));\n"
        ),
    ];
    for ((name, purpose), body) in EXAMPLES.into_iter().zip(bodies) {
        let mut text = format!("{HEADER}import {{ rows }} from \"./rows.js\";\n");
        text.push_str(&import(first, "ask"));
        if name == "composite" {
            text.push_str(&import(second, "askToo"));
        }
        text.push_str(&format!(
            "\n/** {purpose} */\nasync function main(): Promise<void> {{\n{body}}}\n\n\
             main().catch((error: unknown) => {{\n  console.error(error);\n  \
             process.exitCode = 1;\n}});\n"
        ));
        files.insert(format!("examples/{name}.ts"), text);
    }
    files.insert("examples/rows.ts".to_owned(), format!("{HEADER}{ROWS}"));
}

/// Arguments as an object literal; empty if there are none.
fn object(arguments: &[(String, Value)]) -> String {
    let pairs = arguments.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), json_string);
        format!("{}: {value}", json_string(name))
    });
    match arguments {
        [] => String::new(),
        _ => format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", ")),
    }
}

/// The README. Its code blocks compile as they are, beside the folder.
fn readme(located: &[LocatedTool<'_>], folder: &str) -> String {
    let example_tools = example_tools(located);
    // Strings of a server must not end a code block.
    let in_block = |text: String| text.replace('`', "\\u0060");
    let shown =
        example_tools.first().map(|(located, arguments)| (*located, in_block(object(arguments))));
    let example = match &shown {
        Some((located, arguments)) => {
            let FunctionLocation { server, category, .. } = &located.location;
            let function = local_name(&located.location.function);
            format!(
                "import {{ {function} }} from \"./{folder}/{server}/{category}/index.js\";\n\n\
                 async function main(): Promise<void> {{\n  \
                 console.log(await {function}({arguments}));\n}}\n\nmain().catch(console.error);"
            )
        }
        None => format!("import * as tools from \"./{folder}/index.js\";\n\nconsole.log(tools);"),
    };
    let (tool, part, arguments) = match &shown {
        Some((located, arguments)) => {
            let spec = &located.tool.spec;
            (spec.callable.as_str(), identifier(spec.tool.as_str()), arguments.as_str())
        }
        None => ("mcp__server__tool", "tool".to_owned(), ""),
    };
    let separator = if arguments.is_empty() { "" } else { ", " };
    let calling = format!(
        "import {{ callMCPTool, clearCache, disconnectMCP }} from \"./{folder}/client.js\";\n\n\
         async function main(): Promise<void> {{\n  \
         console.log(await callMCPTool({}{separator}{arguments}));\n  \
         await clearCache({});\n  \
         await disconnectMCP();\n}}\n\nmain().catch(console.error);",
        json_string(tool),
        json_string(&part),
    );
    // The later placeholder is replaced first, because an inserted text may contain either word.
    README.replacen("CALLING", &calling, 1).replacen("EXAMPLE", &example, 1)
}
