//! The modules that a program can import: the tools of a server or of one of its categories, from
//! `./servers/<server>` or `./mcp-apis/<server>/<category>`, and functions that call tools by name,
//! from `./mcp-apis/client`. None of these exist on a disk.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use onecall_catalog::{ImportTarget, camel_case, identifier};
use onecall_core::nearest::nearest_words;
use onecall_core::{ProgramQuestion, ToolCategory};
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Function, Module, Object, Persistent, Result};
use serde::Deserialize;
use thiserror::Error;

use super::strip::Import;
use super::wire;

/// The exports of the client module.
const CLIENT_EXPORTS: [&str; 6] =
    ["call", "callMCPTool", "clearCache", "close", "disconnectMCP", "ToolError"];

/// The modules of Node that a program has, with their exports and their names in the prelude.
const NODE_MODULES: [(&str, &str); 5] = [
    ("crypto", "crypto"),
    ("fs", "fs"),
    ("fs/promises", "fsPromises"),
    ("path", "path"),
    ("process", "process"),
];

/// How many similar names are suggested for an unknown one.
const MAX_SUGGESTIONS: usize = 3;

/// The tools that a module exports, by the names of the exports.
type Exports = BTreeMap<String, Tool>;

#[derive(Clone, Debug, Deserialize)]
struct Tool {
    /// The tool's name on its server.
    tool: String,
    /// The callable name.
    name: String,
    parameters: Vec<String>,
    /// The name of its category.
    category: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ServerAnswer {
    Found { tools: Vec<Tool> },
    Problem { problem: String },
}

/// Why nothing can be imported from a module.
#[derive(Clone, Debug, Error)]
enum ImportError {
    #[error("there is no category '{category}' of tools, only {known}")]
    NoCategory { category: String, known: String },
    #[error("server '{server}' has the tool '{tool}' in '{actual}', not in '{category}'")]
    OtherCategory { server: String, tool: String, actual: String, category: String },
    #[error("server '{server}' has no tool '{tool}'{suggestion}")]
    NoTool { server: String, tool: String, suggestion: String },
    #[error("server '{server}' has no tool or category '{part}'{suggestion}")]
    NoPart { server: String, part: String, suggestion: String },
    #[error("server '{server}' has no tools in '{category}', only in {actual}")]
    EmptyCategory { server: String, category: String, actual: String },
    #[error("'{specifier}' is the folder of all servers; import from './mcp-apis/<server>'")]
    AllServers { specifier: String },
    #[error(
        "'{specifier}' cannot be imported: a program has what JavaScript has, and tools from \
         './servers/<server>' or './mcp-apis/<server>/<category>', 'fs' and 'path' for the \
         workspace, and hashes from 'crypto'; there are no packages and no network"
    )]
    NoModule { specifier: String },
    /// An error message of the gateway about a server.
    #[error("{0}")]
    Gateway(String),
}

type ImportResult<T> = std::result::Result<T, ImportError>;

thread_local! {
    static SERVER_TOOLS: RefCell<HashMap<String, ImportResult<Exports>>> = RefCell::new(HashMap::new());
}

/// The exports of a module.
struct ModuleContents {
    exports: Exports,
    /// The export that is also the default, if the module was imported for one tool.
    default_export: Option<String>,
}

/// What is wrong with an import, if anything.
pub(super) fn import_problem(import: &Import) -> Option<String> {
    let name = import.name.as_ref().filter(|name| *name != "default");
    let module = &import.module;
    if node_module(module).is_some() {
        return None;
    }
    if ImportTarget::of(module) == Some(ImportTarget::Client) {
        let unknown = name.filter(|name| !CLIENT_EXPORTS.contains(&name.as_str()))?;
        let suggestion = did_you_mean(unknown, CLIENT_EXPORTS.into_iter());
        return Some(format!("'{module}' has no function '{unknown}'{suggestion}"));
    }
    let ModuleContents { exports, .. } = match module_contents(module) {
        Ok(contents) => contents,
        Err(error) => return Some(error.to_string()),
    };
    let name = name.filter(|name| !exports.contains_key(*name))?;
    let hint = category_hint(module, name)
        .unwrap_or_else(|| did_you_mean(name, exports.keys().map(String::as_str)));
    Some(format!("'{module}' has no tool '{name}'{hint}"))
}

/// The name in the prelude of a module that Node has, too.
fn node_module(specifier: &str) -> Option<&'static str> {
    let name = specifier.strip_prefix("node:").unwrap_or(specifier);
    NODE_MODULES.iter().find(|(module, _)| *module == name).map(|(_, hook)| *hook)
}

/// A hint where a tool can be imported from, if a category of its server does not have it.
fn category_hint(module: &str, name: &str) -> Option<String> {
    let Some(ImportTarget::Part { server, .. }) = ImportTarget::of(module) else { return None };
    let all = tools_of(server).ok()?;
    let category = &all.get(name)?.category;
    Some(format!("; it is in './mcp-apis/{server}/{category}'"))
}

fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let suggestion = nearest_words(name, known, MAX_SUGGESTIONS);
    let quoted: Vec<String> = suggestion.iter().map(|near| format!("'{near}'")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        names => format!(". Did you mean: {}?", names.join(" or ")),
    }
}

/// The exports of a module, or why nothing can be imported from it.
fn module_contents(specifier: &str) -> ImportResult<ModuleContents> {
    let whole = |exports| ModuleContents { exports, default_export: None };
    match ImportTarget::of(specifier) {
        Some(ImportTarget::Server(server)) => tools_of(server).map(whole),
        Some(ImportTarget::Part { server, part }) => part_of(server, part),
        Some(ImportTarget::InCategory { server, category, tool }) => {
            let all = tools_of(server)?;
            let name = identifier(tool);
            if !is_category(category) {
                let known = ToolCategory::NAMES.map(|(name, _)| name).join(", ");
                let category = category.to_owned();
                return Err(ImportError::NoCategory { category, known });
            }
            match all.get(&name) {
                Some(found) if found.category == category => Ok(one_tool(&all, found, name)),
                Some(found) => Err(ImportError::OtherCategory {
                    server: server.to_owned(),
                    tool: tool.to_owned(),
                    actual: found.category.clone(),
                    category: category.to_owned(),
                }),
                None => {
                    let known = in_category(all, category);
                    let suggestion = did_you_mean(tool, known.keys().map(String::as_str));
                    let (server, tool) = (server.to_owned(), tool.to_owned());
                    Err(ImportError::NoTool { server, tool, suggestion })
                }
            }
        }
        Some(ImportTarget::Root) => {
            Err(ImportError::AllServers { specifier: specifier.to_owned() })
        }
        Some(ImportTarget::Client) | None => {
            Err(ImportError::NoModule { specifier: specifier.to_owned() })
        }
    }
}

/// A category of a server, or one of its tools. If a tool has the name of a category, the module
/// contains both, and the tool is its default export.
fn part_of(server: &str, part: &str) -> ImportResult<ModuleContents> {
    let all = tools_of(server)?;
    let name = identifier(part);
    let tool = all.get(&name).map(|found| one_tool(&all, found, name.clone()));
    if !is_category(part) {
        return tool.ok_or_else(|| {
            let known = categories(&all).into_iter().chain(all.keys().map(String::as_str));
            let suggestion = did_you_mean(part, known);
            ImportError::NoPart { server: server.to_owned(), part: part.to_owned(), suggestion }
        });
    }
    let actual = categories(&all).join(", ");
    let mut exports = in_category(all, part);
    let default_export = tool.map(|tool| {
        exports.extend(tool.exports);
        name
    });
    match exports.is_empty() {
        true => {
            let (server, category) = (server.to_owned(), part.to_owned());
            Err(ImportError::EmptyCategory { server, category, actual })
        }
        false => Ok(ModuleContents { exports, default_export }),
    }
}

/// A module for one tool, which exports it under all of its names.
fn one_tool(all: &Exports, found: &Tool, name: String) -> ModuleContents {
    let same = all.iter().filter(|(_, it)| it.name == found.name);
    let exports = same.map(|(name, it)| (name.clone(), it.clone())).collect();
    ModuleContents { exports, default_export: Some(name) }
}

fn in_category(all: Exports, category: &str) -> Exports {
    all.into_iter().filter(|(_, tool)| tool.category == category).collect()
}

fn is_category(name: &str) -> bool {
    ToolCategory::NAMES.iter().any(|(it, _)| *it == name)
}

/// The categories in which a server has tools.
fn categories(all: &Exports) -> Vec<&'static str> {
    let has = |name: &str| all.values().any(|tool| tool.category == name);
    ToolCategory::NAMES.iter().map(|(name, _)| *name).filter(|name| has(name)).collect()
}

fn tools_of(server: &str) -> ImportResult<Exports> {
    let known = SERVER_TOOLS.with_borrow(|known| known.get(server).cloned());
    known.unwrap_or_else(|| {
        let all = request_tools(server);
        SERVER_TOOLS.with_borrow_mut(|known| known.insert(server.to_owned(), all.clone()));
        all
    })
}

fn request_tools(server: &str) -> ImportResult<Exports> {
    let unread = |error: &dyn std::error::Error| ImportError::Gateway(error.to_string());
    let question = ProgramQuestion::Server { name: server.to_owned() };
    let question = serde_json::to_string(&question).map_err(|error| unread(&error))?;
    let answer = wire::ask_gateway(&question).map_err(|error| unread(&error))?;
    match serde_json::from_str(&answer).map_err(|error| unread(&error))? {
        ServerAnswer::Found { tools } => Ok(exports_of(&tools)),
        ServerAnswer::Problem { problem } => Err(ImportError::Gateway(problem)),
    }
}

/// Each tool by its name, with invalid characters replaced, and also in camel case unless another
/// tool has that name.
fn exports_of(tools: &[Tool]) -> Exports {
    let mut exports = Exports::new();
    for tool in tools {
        exports.entry(identifier(&tool.tool)).or_insert_with(|| tool.clone());
    }
    for tool in tools {
        exports.entry(camel_case(&tool.tool)).or_insert_with(|| tool.clone());
    }
    exports.remove("default");
    exports
}

/// Leaves module names as they are written, so that error messages can quote them.
pub(super) struct VerbatimResolver;

impl Resolver for VerbatimResolver {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        _base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        Ok(name.to_owned())
    }
}

/// Loads the modules of servers.
pub(super) struct ServerModuleLoader {
    /// Creates the function of a tool from its name and parameters.
    pub(super) tool: Persistent<Function<'static>>,
    /// The functions of the client module.
    pub(super) client: Persistent<Object<'static>>,
    /// The modules that Node has, too, by their names in the prelude.
    pub(super) node: Persistent<Object<'static>>,
}

impl Loader for ServerModuleLoader {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        if let Some(hook) = node_module(name) {
            let functions: Object<'js> = self.node.clone().restore(ctx)?.get(hook)?;
            let names: Vec<String> = functions.keys().collect::<Result<_>>()?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return module(ctx, name, &names, None, functions);
        }
        if ImportTarget::of(name) == Some(ImportTarget::Client) {
            let functions = self.client.clone().restore(ctx)?;
            return module(ctx, name, &CLIENT_EXPORTS, None, functions);
        }
        let ModuleContents { exports, default_export } = module_contents(name)
            .map_err(|error| Exception::throw_type(ctx, &error.to_string()))?;
        let tool = self.tool.clone().restore(ctx)?;
        let tools = Object::new(ctx.clone())?;
        for (name, it) in &exports {
            let function: Function<'js> = tool.call((it.name.as_str(), it.parameters.clone()))?;
            tools.set(name.as_str(), function)?;
        }
        let names: Vec<&str> = exports.keys().map(String::as_str).collect();
        module(ctx, name, &names, default_export.as_deref(), tools)
    }
}

/// A module that exports functions by these names; its default export is
/// `default_export`, or all of them.
fn module<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    exported: &[&str],
    default_export: Option<&str>,
    functions: Object<'js>,
) -> Result<Module<'js, Declared>> {
    let mut source = "const tools = import.meta.tools;\n".to_owned();
    for (index, name) in exported.iter().enumerate() {
        let line = format!("const it{index} = tools.{name}; export {{ it{index} as {name} }};\n");
        source.push_str(&line);
    }
    match default_export {
        Some(default_export) => {
            source.push_str(&format!("export default tools.{default_export};\n"))
        }
        None => source.push_str("export default tools;\n"),
    }
    let module = Module::declare(ctx.clone(), name, source)?;
    module.meta()?.set("tools", functions)?;
    Ok(module)
}
