//! Chooses the names of functions, files and folders. They are valid on every file system: not
//! reserved, unique even if case is ignored, and not too long.

use std::collections::{HashMap, HashSet};

use onecall_core::Language;

use super::GeneratedTool;
use crate::casing::{camel_case, snake_case};
use crate::naming::short_digest;
use crate::python::is_keyword;

/// Names that are reserved for devices on some systems, or used for other purposes in the generated
/// tree.
const RESERVED_FILES: [&str; 35] = [
    "con",
    "prn",
    "aux",
    "nul",
    "com0",
    "com1",
    "com2",
    "com3",
    "com4",
    "com5",
    "com6",
    "com7",
    "com8",
    "com9",
    "lpt0",
    "lpt1",
    "lpt2",
    "lpt3",
    "lpt4",
    "lpt5",
    "lpt6",
    "lpt7",
    "lpt8",
    "lpt9",
    "client",
    "examples",
    "index",
    "readme",
    "py",
    "__init__",
    "__main__",
    "__pycache__",
    "node_modules",
    "typing",
    "conin$",
];

/// Names that a generated Python file uses itself.
const PYTHON_NAMES: [&str; 9] =
    ["list", "dict", "str", "int", "float", "bool", "call", "client", "annotations"];

/// The longest file name in characters.
const MAX_NAME: usize = 80;

/// The location of a tool's function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FunctionLocation {
    /// The folder of the server.
    pub(super) server: String,
    /// The folder of the category.
    pub(super) category: &'static str,
    /// The file name without its extension.
    pub(super) file: String,
    /// The name of the function.
    pub(super) function: String,
}

/// The location of each tool, in the given order.
pub(super) fn function_locations(
    tools: &[&GeneratedTool],
    language: Language,
) -> Vec<FunctionLocation> {
    let servers: HashSet<&str> = tools.iter().map(|it| it.spec.server.as_str()).collect();
    let mut servers: Vec<&str> = servers.into_iter().collect();
    servers.sort_unstable();
    let folders = servers.iter().map(|name| WantedName {
        scope: "",
        name: folder(name, language),
        raw: name,
    });
    let folders: HashMap<&str, String> =
        servers.iter().copied().zip(unique_names(folders.collect())).collect();
    let functions = unique_names(
        tools
            .iter()
            .map(|it| WantedName {
                scope: it.spec.server.as_str(),
                name: function(it.spec.tool.as_str(), language),
                raw: it.spec.tool.as_str(),
            })
            .collect(),
    );
    let files = unique_names(
        tools
            .iter()
            .zip(&functions)
            .map(|(it, function)| WantedName {
                scope: it.spec.server.as_str(),
                name: match language {
                    Language::TypeScript => file(plain(it.spec.tool.as_str()), language),
                    Language::Python => file(function.clone(), language),
                },
                raw: it.spec.tool.as_str(),
            })
            .collect(),
    );
    let each = tools.iter().zip(functions).zip(files);
    each.map(|((tool, function), file)| FunctionLocation {
        server: folders.get(tool.spec.server.as_str()).cloned().unwrap_or_default(),
        category: tool.category.name(),
        file,
        function,
    })
    .collect()
}

struct WantedName<'a> {
    /// Names only have to be unique within a scope.
    scope: &'a str,
    name: String,
    /// The original name, for the digest.
    raw: &'a str,
}

/// Makes names unique: names that collide, also if only their case differs, get a digest, as
/// callable names do.
fn unique_names(wanted: Vec<WantedName<'_>>) -> Vec<String> {
    let mut owners: HashMap<(&str, String), usize> = HashMap::new();
    for it in &wanted {
        *owners.entry((it.scope, it.name.to_lowercase())).or_default() += 1;
    }
    let mut taken: HashSet<(&str, String)> = HashSet::new();
    let mut names = Vec::new();
    for it in &wanted {
        let is_alone = owners.get(&(it.scope, it.name.to_lowercase())) == Some(&1);
        let mut name = it.name.clone();
        let mut digits = 6;
        while !is_alone || name.len() > MAX_NAME || taken.contains(&(it.scope, name.to_lowercase()))
        {
            let kept: String = it.name.chars().take(MAX_NAME / 2).collect();
            name = format!("{kept}_{}", short_digest(it.scope, it.raw, digits));
            let key = (it.scope, name.to_lowercase());
            let meets = owners.contains_key(&key) || taken.contains(&key);
            // There are no more digits than these, and no two tools share all of them.
            if !meets || digits >= 32 {
                break;
            }
            digits *= 2;
        }
        taken.insert((it.scope, name.to_lowercase()));
        names.push(name);
    }
    names
}

fn folder(server: &str, language: Language) -> String {
    let name = match language {
        Language::Python => snake_case(server),
        Language::TypeScript => plain(server),
    };
    file(name, language)
}

/// A server's name with `_` for characters that are special for file systems or compilers.
fn plain(name: &str) -> String {
    let kept = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    let name: String = name.chars().map(|it| if kept(it) { it } else { '_' }).collect();
    let starts_well = name.starts_with(|it: char| it.is_ascii_alphanumeric() || it == '_');
    if starts_well { name } else { format!("_{name}") }
}

fn function(tool: &str, language: Language) -> String {
    match language {
        Language::TypeScript => camel_case(tool),
        Language::Python => {
            let name = snake_case(tool);
            let is_used = is_keyword(&name) || PYTHON_NAMES.contains(&name.as_str());
            if is_used { name + "_" } else { name }
        }
    }
}

fn file(name: String, language: Language) -> String {
    let is_taken = RESERVED_FILES.contains(&name.to_lowercase().as_str());
    let is_word = language == Language::Python && is_keyword(&name);
    if is_taken || is_word { name + "_" } else { name }
}
