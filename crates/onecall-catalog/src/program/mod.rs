//! Checks the tool calls of a program before it runs.
//!
//! Only certain problems are reported: a finding means that the program cannot succeed, whatever
//! its tools answer. So only statements that run in every case are checked, and anything that
//! cannot be known (the value of a variable, a computed name) is accepted.

mod call_arguments;
mod deep_stack;
mod lines;
mod problem;
mod python;
mod result_shape;
mod source;
mod tool_uses;
mod typescript;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use onecall_core::{Language, Resolution};

pub use python::ASYNC_PREFIX;
pub use tool_uses::{ToolUse, ToolUses};
pub use typescript::{ImportTarget, nesting_depth};

use python::{SyntaxTree, SyntaxTreeView};

/// The prefix of every callable name.
const TOOL_PREFIX: &str = "mcp__";

/// The global object that has every tool as an attribute.
const TOOLS: &str = "tools";

/// The largest number of findings for one program; more can be found in the next check.
const MAX_FINDINGS: usize = 20;

/// The largest number of functions and main guards that are followed.
const MAX_FOLLOWED: usize = 20;

/// The largest number of calls whose arguments are checked, because the schemas of a server may be
/// slow to check.
const MAX_CALLS: usize = 500;

/// Looks up names for the program that is checked.
pub trait ToolLookup: Sync {
    /// Looks up a callable name, a name after `tools.`, or `<server>/<name>` for an import. `None` means that the result is not
    /// known; then nothing is reported.
    fn resolve(&self, name: &str) -> Option<Resolution>;
}

impl<F: Fn(&str) -> Option<Resolution> + Sync> ToolLookup for F {
    fn resolve(&self, name: &str) -> Option<Resolution> {
        self(name)
    }
}

/// A reason why a program cannot succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The language of the program.
    pub language: Language,
    /// The line of the program, from 1.
    pub line: usize,
    /// The column of the line, from 1, in UTF-16 units.
    pub column: usize,
    /// The source line without its indentation.
    pub source_line: String,
    /// The class of the exception that the program would get.
    pub kind: &'static str,
    /// The message.
    pub message: String,
    /// The signature of the tool, if it helps.
    pub signature: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { language, line, column, source_line, kind, message, signature } = self;
        match language {
            Language::Python => write!(f, "  File \"<program>\", line {line}")?,
            Language::TypeScript => write!(f, "<program>:{line}:{column}")?,
        }
        write!(f, "\n    {source_line}\n{kind}: {message}")?;
        match signature {
            Some(signature) => write!(f, "\n    {signature}"),
            None => Ok(()),
        }
    }
}

/// The source of a program, which is parsed when it is first asked about.
pub struct ParsedProgram<'a> {
    source: Cow<'a, str>,
    language: Language,
    /// The tree of a Python program; `None` for a source that is too large or too deeply nested to
    /// be parsed safely. TypeScript is parsed in a fraction of a millisecond, for each question.
    tree: OnceLock<Option<SyntaxTree>>,
}

impl<'a> ParsedProgram<'a> {
    /// A program with this source.
    #[must_use]
    pub fn new(source: impl Into<Cow<'a, str>>, language: Language) -> Self {
        Self { source: source.into(), language, tree: OnceLock::new() }
    }

    /// The source that is checked and run.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The source, if it differs from the text that the program was created from.
    #[must_use]
    pub fn changed_source(&self) -> Option<&str> {
        match &self.source {
            Cow::Borrowed(_) => None,
            Cow::Owned(source) => Some(source),
        }
    }

    /// The names that [`findings`](Self::findings) looks up.
    #[must_use]
    pub fn names_to_check(&self) -> Vec<String> {
        let asked = Mutex::new(Vec::new());
        let ask = |name: &str| {
            asked.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
            None
        };
        _ = self.findings(&ask);
        asked.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// All certain problems in the tool calls of a program, in the order in which they would occur;
    /// only the first syntax error if a Python program has one. Empty for a program that is too large
    /// or too deeply nested to be parsed safely: running it will show the error.
    #[must_use]
    pub fn findings(&self, tools: &dyn ToolLookup) -> Vec<Finding> {
        let found = match self.language {
            Language::Python => self.with_tree(|parsed| match parsed.error {
                Some(error) => vec![error],
                None => python::findings(&parsed, tools),
            }),
            Language::TypeScript => typescript::findings(&self.source, tools),
        };
        found.unwrap_or_default()
    }

    /// The tools that a program may call; `None` if it cannot be parsed.
    #[must_use]
    pub fn tool_uses(&self) -> Option<ToolUses> {
        match self.language {
            Language::Python => self.with_tree(|parsed| python::tool_uses(&parsed)).flatten(),
            Language::TypeScript => typescript::tool_uses(&self.source),
        }
    }

    /// Whether the last statement of a program is an expression whose value nobody sees. A call that
    /// prints is none.
    #[must_use]
    pub fn ends_with_value(&self) -> bool {
        let found = match self.language {
            Language::Python => self.with_tree(|parsed| python::ends_with_value(parsed.body)),
            Language::TypeScript => typescript::ends_with_value(&self.source),
        };
        found.unwrap_or_default()
    }

    /// The variables of a Python program's top level that its worker can keep as local variables,
    /// which are faster; the program cannot tell the difference. The answer depends on the source
    /// alone.
    #[must_use]
    pub fn fast_names(&self) -> Vec<String> {
        let found = match self.language {
            Language::Python => self.with_tree(|parsed| match parsed.error {
                Some(_) => Vec::new(),
                None => python::fast_names(parsed.body),
            }),
            Language::TypeScript => None,
        };
        found.unwrap_or_default()
    }

    /// Passes the tree of a Python program to `read`; `None` if there is no tree.
    fn with_tree<T>(&self, read: impl FnOnce(SyntaxTreeView<'_>) -> T) -> Option<T> {
        let tree = self.tree.get_or_init(|| SyntaxTree::of(&self.source)).as_ref()?;
        tree.read(&self.source, read)
    }
}
