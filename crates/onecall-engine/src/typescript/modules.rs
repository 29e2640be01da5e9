//! What a program can import: the tools of a server, from `./servers/<server>` or
//! `mcp-apis/<server>`. Nothing of it is on a disk.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use onecall_catalog::{camel_case, identifier};
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Function, Module, Object, Persistent, Result};
use serde::Deserialize;

use super::strip::Import;
use super::wire;

/// Asks the gateway for the tools of a server.
const SERVER: &str = "onecall__server";

/// How many similar names an unknown one is answered with.
const NEAREST: usize = 3;

/// What a module has: functions by the names they are exported under.
type Exports = BTreeMap<String, Tool>;

#[derive(Clone, Debug, Deserialize)]
struct Tool {
    /// What its server calls it.
    tool: String,
    /// The name to call it by.
    name: String,
    parameters: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Found { tools: Vec<Tool> },
    Problem { problem: String },
}

thread_local! {
    static KNOWN: RefCell<HashMap<String, std::result::Result<Exports, String>>> =
        RefCell::new(HashMap::new());
}

/// A server, and one of its tools if the module is of that alone.
#[derive(Debug, PartialEq, Eq)]
struct Requested<'a> {
    server: &'a str,
    tool: Option<&'a str>,
}

/// What an import is a request for; `None` for anything but a server.
fn requested(specifier: &str) -> Option<Requested<'_>> {
    let mut parts = specifier.split('/').skip_while(|part| matches!(*part, "" | "." | ".." | "@"));
    if !matches!(parts.next()?, "servers" | "mcp-apis") {
        return None;
    }
    let server = parts.next().map(without_extension).filter(|server| !server.is_empty())?;
    let tool = parts.next().map(without_extension).filter(|tool| !matches!(*tool, "" | "index"));
    parts.next().is_none().then_some(Requested { server, tool })
}

fn without_extension(part: &str) -> &str {
    let extensions = [".d.ts", ".ts", ".js", ".mts", ".mjs"];
    extensions.iter().find_map(|it| part.strip_suffix(it)).unwrap_or(part)
}

/// What is wrong with an import, if anything.
pub(super) fn problem_of(import: &Import) -> Option<String> {
    let exports = match exports(&import.module) {
        Ok(exports) => exports,
        Err(problem) => return Some(problem),
    };
    let name = import.name.as_ref().filter(|name| *name != "default")?;
    if exports.contains_key(name) {
        return None;
    }
    let module = &import.module;
    Some(format!("'{module}' has no tool '{name}'{}", did_you_mean(name, exports.into_keys())))
}

fn did_you_mean(name: &str, known: impl Iterator<Item = String>) -> String {
    let mut near: Vec<_> = known
        .map(|it| (strsim::jaro_winkler(&name.to_lowercase(), &it.to_lowercase()), it))
        .filter(|(likeness, _)| *likeness > 0.7)
        .collect();
    near.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
    let near: Vec<_> = near.into_iter().take(NEAREST).map(|(_, name)| name).collect();
    match near.as_slice() {
        [] => String::new(),
        names => format!(". Did you mean: {}?", names.join(" or ")),
    }
}

/// What can be imported from a module, or why nothing can.
fn exports(specifier: &str) -> std::result::Result<Exports, String> {
    let Some(Requested { server, tool }) = requested(specifier) else {
        return Err(format!(
            "'{specifier}' cannot be imported: a program has what JavaScript has, and tools from \
             './servers/<server>'; there are no packages, files or network"
        ));
    };
    let known = KNOWN.with_borrow(|known| known.get(server).cloned());
    let all = known.unwrap_or_else(|| {
        let all = ask(server);
        KNOWN.with_borrow_mut(|known| known.insert(server.to_owned(), all.clone()));
        all
    })?;
    let Some(tool) = tool else { return Ok(all) };
    match all.get(tool) {
        Some(found) => Ok(all
            .iter()
            .filter(|(_, it)| it.name == found.name)
            .map(|(name, it)| (name.clone(), it.clone()))
            .collect()),
        None => {
            let near = did_you_mean(tool, all.into_keys());
            Err(format!("server '{server}' has no tool '{tool}'{near}"))
        }
    }
}

fn ask(server: &str) -> std::result::Result<Exports, String> {
    let question = serde_json::json!({ "name": server }).to_string();
    let answer = wire::answer_to(SERVER, &question).map_err(|error| error.to_string())?;
    match serde_json::from_str(&answer).map_err(|error| error.to_string())? {
        Answer::Found { tools } => Ok(named(&tools)),
        Answer::Problem { problem } => Err(problem),
    }
}

/// Each tool by its name with what no identifier may have replaced, and in camel case
/// where that name is nobody else's.
fn named(tools: &[Tool]) -> Exports {
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

/// Leaves names as they are, so that problems can speak of them.
pub(super) struct AsWritten;

impl Resolver for AsWritten {
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

/// Makes modules of servers.
pub(super) struct Servers {
    /// Makes the function of a tool from its name and parameters.
    pub(super) tool: Persistent<Function<'static>>,
}

impl Loader for Servers {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let exports = exports(name).map_err(|problem| Exception::throw_type(ctx, &problem))?;
        let tool = self.tool.clone().restore(ctx)?;
        let tools = Object::new(ctx.clone())?;
        let mut source = "const tools = import.meta.tools;\n".to_owned();
        for (index, (name, it)) in exports.iter().enumerate() {
            let function: Function<'js> = tool.call((it.name.as_str(), it.parameters.clone()))?;
            tools.set(name.as_str(), function)?;
            let line =
                format!("const it{index} = tools.{name}; export {{ it{index} as {name} }};\n");
            source.push_str(&line);
        }
        let only = requested(name).and_then(|it| it.tool).filter(|it| exports.contains_key(*it));
        match only {
            Some(only) => source.push_str(&format!("export default tools.{only};\n")),
            None => source.push_str("export default tools;\n"),
        }
        let module = Module::declare(ctx.clone(), name, source)?;
        module.meta()?.set("tools", tools)?;
        Ok(module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_in_many_ways() {
        let server = |server| Some(Requested { server, tool: None });
        let cases = [
            ("./servers/financial-data", server("financial-data")),
            ("./servers/financial-data/index.ts", server("financial-data")),
            ("../servers/sales.js", server("sales")),
            ("mcp-apis/sales", server("sales")),
            ("@/servers/sales/", server("sales")),
            ("./servers/a/b.ts", Some(Requested { server: "a", tool: Some("b") })),
            ("./servers", None),
            ("./servers/a/b/c", None),
            ("fs", None),
            ("node:fs", None),
        ];
        for (specifier, expected) in cases {
            assert_eq!(requested(specifier), expected, "{specifier}");
        }
    }
}
