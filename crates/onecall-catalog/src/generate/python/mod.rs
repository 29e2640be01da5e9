//! Generates the Python package.

use std::collections::{BTreeMap, HashSet};

use super::example::EXAMPLES;
use super::sample::example_tools;
use super::{GeneratedFiles, LocatedTool};
use crate::literal::{json_string, python_literal};
use crate::python::python_file;

const CLIENT: &str = include_str!("client.py");
const README: &str = include_str!("README.md");
const ROWS: &str = include_str!("rows.py");
const HEADER: &str = "# Made by `onecall generate`; changes will be lost.\n";

pub(super) fn tool(located: &LocatedTool<'_>) -> String {
    let LocatedTool { tool, location } = located;
    python_file(&tool.spec, &location.function, tool.observed.as_ref())
}

pub(super) fn files(located: &[LocatedTool<'_>], folder: &str) -> GeneratedFiles {
    let mut files = GeneratedFiles::new();
    files.insert("client.py".to_owned(), CLIENT.to_owned());
    files.insert("py.typed".to_owned(), String::new());
    // The import lines of each index file, by its path and the imported name.
    let mut indexes: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for located in located {
        let location = &located.location;
        let (server, category, file) = (&location.server, location.category, &location.file);
        let function = &location.function;
        files.insert(format!("{server}/{category}/{file}.py"), tool(located));
        let line = format!("from .{file} import {function}\n");
        indexes.entry(format!("{server}/{category}/")).or_default().insert(function.clone(), line);
        if seen.insert((server.clone(), function.clone())) {
            let line = format!("from .{category}.{file} import {function}\n");
            indexes.entry(format!("{server}/")).or_default().insert(function.clone(), line);
        }
    }
    for (path, lines) in indexes {
        let names: Vec<_> =
            lines.keys().map(|name| format!("    {},\n", json_string(name))).collect();
        let text = format!(
            "{HEADER}\n{}\n__all__ = [\n{}]\n",
            lines.into_values().collect::<String>(),
            names.concat()
        );
        files.insert(format!("{path}__init__.py"), text);
    }
    // Servers are not imported here, so that importing one does not load the others.
    let top = "\nfrom .client import ToolError, call, close\n\n\
               __all__ = [\"ToolError\", \"call\", \"close\"]\n";
    files.insert("__init__.py".to_owned(), format!("{HEADER}{top}"));
    examples(located, folder, &mut files);
    files.insert("README.md".to_owned(), readme(located, folder));
    files
}

fn examples(located: &[LocatedTool<'_>], folder: &str, files: &mut GeneratedFiles) {
    let example_tools = example_tools(located);
    let Some((first, arguments)) = example_tools.first() else { return };
    let (second, more) = example_tools.get(1).map_or((first, arguments), |it| (&it.0, &it.1));
    let import = |it: &LocatedTool<'_>, name: &str| {
        format!("from ..{} import {} as {name}\n", it.location.server, it.location.function)
    };
    let given = |it: &LocatedTool<'_>, arguments: &[(String, serde_json::Value)]| {
        let value = |value| python_literal(value).unwrap_or_else(|| "[]".to_owned());
        // The arguments in the form that the function takes: by keyword, or as one dict.
        match tool(it).contains("(arguments: ") {
            false => {
                let pairs = arguments.iter().map(|(name, it)| format!("{name}={}", value(it)));
                pairs.collect::<Vec<_>>().join(", ")
            }
            true => {
                let pairs = arguments
                    .iter()
                    .map(|(name, it)| format!("{}: {}", json_string(name), value(it)));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
        }
    };
    let (one, other) = (given(first, arguments), given(second, more));
    let bodies = [
        format!(
            "    found = rows(await ask({one}))\n    \
             wanted = [row for row in found if any(value is not None for value in row.values())]\n    \
             print(f\"{{len(wanted)}} of {{len(found)}}\")\n    \
             for row in wanted[:3]:\n        print(row)\n"
        ),
        format!(
            "    first, second = await asyncio.gather(ask({one}), ask_too({other}))\n    \
             print({{\"first\": len(rows(first)), \"second\": len(rows(second))}})\n"
        ),
        format!(
            "    counts: Counter[str] = Counter()\n    \
             for row in rows(await ask({one})):\n        \
             texts = [value for value in row.values() if isinstance(value, str)]\n        \
             counts[texts[0] if texts else \"other\"] += 1\n    \
             print(dict(counts))\n"
        ),
    ];
    for ((name, purpose), body) in EXAMPLES.into_iter().zip(bodies) {
        let mut text = format!(
            "{HEADER}\"\"\"{purpose}\n\nRun it with: python -m {folder}.examples.{name}\n\"\"\"\n\nimport asyncio\n"
        );
        if name == "aggregation" {
            text.push_str("from collections import Counter\n");
        }
        text.push('\n');
        text.push_str(&import(first, "ask"));
        if name == "composite" {
            text.push_str(&import(second, "ask_too"));
        }
        text.push_str(&format!(
            "from .rows import rows\n\n\nasync def main() -> None:\n{body}\n\n\
             if __name__ == \"__main__\":\n    asyncio.run(main())\n"
        ));
        files.insert(format!("examples/{name}.py"), text);
    }
    files.insert("examples/rows.py".to_owned(), format!("{HEADER}\n{ROWS}"));
    files.insert("examples/__init__.py".to_owned(), HEADER.to_owned());
}

fn readme(located: &[LocatedTool<'_>], folder: &str) -> String {
    let example_tools = example_tools(located);
    let shown = example_tools.first().map(|it| it.0).or(located.first());
    let example = shown.map_or_else(
        || "from FOLDER import ToolError".to_owned(),
        |it| format!("from FOLDER.{} import {}", it.location.server, it.location.function),
    );
    README.replace("EXAMPLE", &example).replace("FOLDER", folder)
}
