//! Checks the tool calls of a program before it runs.
//!
//! Only certain problems are reported: a finding means that the program cannot succeed, whatever
//! its tools answer. So only statements that run in every case are checked, and anything that
//! cannot be known (the value of a variable, a computed name) is accepted.

mod arguments;
mod calls;
mod certain_loops;
mod certain_path;
mod depth;
mod exits;
mod literal;
mod names;
mod parse;
mod result_use;
mod source;
mod unawaited_arguments;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use onecall_core::Resolution;

pub use calls::{ToolUse, ToolUses};
pub use names::ASYNC_PREFIX;

use parse::{SyntaxTree, SyntaxTreeView};

/// Looks up names for the program that is checked.
pub trait ToolLookup: Sync {
    /// Looks up a callable name, or a name after `tools.`. `None` means that the result is not
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
    /// The line of the program, from 1.
    pub line: usize,
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
        let Self { line, source_line, kind, message, signature } = self;
        write!(f, "  File \"<program>\", line {line}\n    {source_line}\n{kind}: {message}")?;
        match signature {
            Some(signature) => write!(f, "\n    {signature}"),
            None => Ok(()),
        }
    }
}

/// The source of a program. It is parsed on first use, and only once.
pub struct ParsedProgram<'a> {
    source: Cow<'a, str>,
    /// `None` for a source that is too large or too deeply nested to be parsed safely.
    tree: OnceLock<Option<SyntaxTree>>,
}

impl<'a> ParsedProgram<'a> {
    /// A program with this source.
    #[must_use]
    pub fn new(source: impl Into<Cow<'a, str>>) -> Self {
        Self { source: source.into(), tree: OnceLock::new() }
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

    /// All certain problems in the tool calls of a Python program, in the order in which they would
    /// occur; only the first syntax error if it has one. Empty for a program that is too large or
    /// too deeply nested to be parsed safely: running it will show the error.
    #[must_use]
    pub fn findings(&self, tools: &dyn ToolLookup) -> Vec<Finding> {
        let read = |parsed: SyntaxTreeView<'_>| match parsed.error {
            Some(error) => vec![error],
            None => certain_path::findings(&parsed, tools),
        };
        self.with_tree(read).unwrap_or_default()
    }

    /// The tools that a Python program may call; `None` if it cannot be parsed.
    #[must_use]
    pub fn tool_uses(&self) -> Option<ToolUses> {
        self.with_tree(|parsed| calls::tool_uses(&parsed)).flatten()
    }

    /// Passes the tree to `read`; `None` if there is no tree.
    fn with_tree<T: Send>(&self, read: impl FnOnce(SyntaxTreeView<'_>) -> T + Send) -> Option<T> {
        let tree = self.tree.get_or_init(|| SyntaxTree::of(&self.source)).as_ref()?;
        tree.read(&self.source, read)
    }
}
