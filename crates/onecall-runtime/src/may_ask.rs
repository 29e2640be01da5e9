//! Whether a run could need an approval: only such runs need a journal. The answer is "yes" wherever
//! the source of a program does not show what it calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use onecall_catalog::{ParsedProgram, aliases, camel_case, identifier};
use onecall_core::{
    CallableName, Language, Program, Resolution, ToolAnnotations, ToolResolver, ToolSpec,
};

use crate::directory::{AttributeLookup, Directory, NameLookup};
use crate::layers::{FunctionUser, resource_function, resource_functions};
use crate::review::{self, AskPreview};
use crate::{Plan, Runtime};

/// The prefix of callable names.
const CALLABLE_PREFIX: &str = "mcp__";

/// The object that has every tool as an attribute.
const TOOLS: &str = "tools";

/// Attributes of `tools` that are not tools.
const OWN_ATTRIBUTES: [&str; 2] = ["aio", "search"];

/// Words in a source with which a program can reach names that the source does not show.
const DYNAMIC_ACCESS: [&str; 20] = [
    "Function",
    "Reflect",
    "__builtins__",
    "__dict__",
    "__getattribute__",
    "__globals__",
    "__import__",
    "_getframe",
    "attrgetter",
    "builtins",
    "compile",
    "eval",
    "exec",
    "getattr",
    "globalThis",
    "globals",
    "importlib",
    "locals",
    "runpy",
    "vars",
];

impl Runtime {
    /// Whether a call of the program could need an approval. Waits for the servers of the tools that
    /// the program names.
    pub async fn may_ask(&self, program: &Program) -> bool {
        if !self.asks() {
            return false;
        }
        // Variables of earlier programs of the session may contain tools.
        if program.session.is_some() {
            return true;
        }
        let lookup = NameCheck {
            runtime: self,
            names: self.resolver().as_ref(),
            directory: self.directory(),
        };
        let (program, parsed) = review::parse(program);
        let words = Words::of(&program.code);
        if DYNAMIC_ACCESS.iter().any(|word| words.names.contains(word)) || lookup.mentions(&words) {
            return true;
        }
        // In TypeScript, a use of a name that is bound elsewhere is not found.
        let has_words = program.language == Language::TypeScript;
        (has_words && lookup.words(&words).await) || lookup.uses(&parsed).await
    }

    /// Whether a call of the plan could need an approval.
    #[must_use]
    pub fn plan_may_ask(&self, plan: &Plan) -> bool {
        plan.specs().any(|spec| self.call_may_ask(spec))
    }

    /// Whether a call of this tool could need an approval.
    #[must_use]
    pub fn call_may_ask(&self, spec: &ToolSpec) -> bool {
        let rule = self.approvals().and_then(|approvals| approvals.rule(spec));
        rule.is_some() || self.access().may_ask(spec)
    }

    /// Whether calls of this tool ask a person, for a dry run. A policy can depend on the arguments.
    pub(crate) fn ask_preview(&self, spec: &ToolSpec) -> AskPreview {
        let rule = self.approvals().and_then(|approvals| approvals.rule(spec));
        match rule {
            Some(rule) => AskPreview::Asks(rule),
            None if self.access().may_ask(spec) => AskPreview::PolicyMayAsk,
            None => AskPreview::Never,
        }
    }

    /// Whether a call of a function for resources and prompts could need an approval; `None` if clients have
    /// no function of this name.
    #[must_use]
    pub fn resource_function_may_ask(&self, name: &str) -> Option<bool> {
        resource_function(name, FunctionUser::Client).map(|spec| self.call_may_ask(spec))
    }

    /// Whether a call of a tool that is not known yet could need an approval. The defaults of the
    /// protocol apply to such a tool.
    #[must_use]
    pub fn unknown_call_may_ask(&self, name: &CallableName) -> bool {
        let rule = self
            .approvals()
            .and_then(|approvals| approvals.policy.rule(name, &ToolAnnotations::default()));
        rule.is_some() || self.access().asks()
    }

    /// Whether some call of some tool could need an approval.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.approvals().is_some_and(|approvals| !approvals.policy.is_empty())
            || self.access().asks()
    }
}

/// Checks the names in a program against the rules that have a person asked.
struct NameCheck<'a> {
    runtime: &'a Runtime,
    names: &'a dyn ToolResolver,
    directory: &'a dyn Directory,
}

impl NameCheck<'_> {
    /// Whether the source contains a name of a known tool that needs an approval. Imports of generated
    /// files name tools in this way.
    fn mentions(&self, words: &Words<'_>) -> bool {
        let asks = |spec: &&Arc<ToolSpec>| self.runtime.call_may_ask(spec);
        let is_mentioned = |spec: &Arc<ToolSpec>| {
            let (callable, tool) = (spec.callable.as_str(), spec.tool.as_str());
            words.names.contains(callable)
                || words.names.contains(tool)
                || words.names.contains(identifier(tool).as_str())
                || words.names.contains(camel_case(tool).as_str())
                || aliases(spec).iter().any(|alias| words.names.contains(alias.as_str()))
        };
        resource_functions(FunctionUser::Program).filter(asks).any(is_mentioned)
            || self.directory.known_tools().iter().filter(asks).any(is_mentioned)
    }

    /// Whether a tool that the syntax tree of the program names needs an approval, or the tree does not
    /// show which tools it calls.
    async fn uses(&self, parsed: &ParsedProgram<'_>) -> bool {
        let Some(uses) = parsed.tool_uses().filter(|uses| !uses.may_call_others) else {
            return true;
        };
        for used in uses.named {
            if self.asks(&used.name).await {
                return true;
            }
        }
        false
    }

    /// Checks the names in a source without its syntax tree.
    async fn words(&self, words: &Words<'_>) -> bool {
        if words.passes_tools_on {
            return true;
        }
        let named = words.names.iter().filter(|name| name.starts_with(CALLABLE_PREFIX));
        for name in named.chain(&words.attributes) {
            if self.asks(name).await {
                return true;
            }
        }
        false
    }

    /// Whether calls of the tool that the program calls by this name need an approval. For a tool that
    /// is not known, the defaults of the protocol apply. An import that is not known could name any tool.
    async fn asks(&self, name: &str) -> bool {
        if let Some((server, export)) = name.split_once('/') {
            let tool = review::imported_tool(server, export, self.directory).await;
            return tool.is_none_or(|spec| self.runtime.call_may_ask(&spec));
        }
        let callable = CallableName::new(name);
        let spec = match name.starts_with(CALLABLE_PREFIX) {
            true => self.names.resolve(&callable).await.target(&callable).ok(),
            false => match AttributeLookup::find(name, self.directory).await.found {
                NameLookup::Tool(spec) => Some(spec),
                _ => match self.names.resolve(&callable).await {
                    Resolution::Callable(spec) | Resolution::Attribute(spec) => Some(spec),
                    _ => None,
                },
            },
        };
        match spec {
            Some(spec) => self.runtime.call_may_ask(&spec),
            None => self.runtime.unknown_call_may_ask(&callable),
        }
    }
}

/// The identifiers in a source, wherever they are: also in texts and comments.
struct Words<'a> {
    names: BTreeSet<&'a str>,
    /// What follows `tools.`, also with `aio` between them.
    attributes: BTreeSet<&'a str>,
    /// Whether `tools` is used without an attribute.
    passes_tools_on: bool,
}

impl<'a> Words<'a> {
    fn of(source: &'a str) -> Self {
        let mut words =
            Self { names: BTreeSet::new(), attributes: BTreeSet::new(), passes_tools_on: false };
        let is_part = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
        let mut rest = source;
        let mut after_tools = false;
        while let Some(start) = rest.find(is_part) {
            let (between, from) = rest.split_at(start);
            let end = from.find(|it| !is_part(it)).unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            if after_tools {
                let is_attribute = matches!(between.trim(), "." | "?.");
                words.passes_tools_on |= !is_attribute;
                if is_attribute && !OWN_ATTRIBUTES.contains(&word) {
                    words.attributes.insert(word);
                }
                after_tools = is_attribute && word == "aio";
            }
            after_tools |= word == TOOLS;
            words.names.insert(word);
            rest = after;
        }
        words.passes_tools_on |= after_tools;
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_show_what_is_called_through_tools() {
        let read = |source: &'static str| {
            let words = Words::of(source);
            (words.attributes.into_iter().collect::<Vec<_>>(), words.passes_tools_on)
        };
        for (source, expected) in [
            ("const a = await tools.read({})", (vec!["read"], false)),
            ("tools?.read(); tools . aio.write()", (vec!["read", "write"], false)),
            ("tools.search('x')", (vec![], false)),
            ("tools['read']()", (vec![], true)),
            ("f(tools)", (vec![], true)),
            ("const {read} = tools", (vec![], true)),
            ("mcp__s__t()", (vec![], false)),
        ] {
            assert_eq!(read(source), expected, "{source}");
        }
    }
}
