//! What is wrong with the tool calls of a program, seen before it runs.
//!
//! Only what is certain counts: a finding means that the program cannot succeed,
//! whatever its tools answer. So only statements that run in every case are looked
//! at, and what cannot be known there (a variable's value, a computed name) is let
//! through.

mod arguments;
mod calls;
mod depth;
mod leaving;
mod literal;
mod names;
mod parse;
mod path;
mod source;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use onecall_core::Resolution;

pub use calls::{ToolUse, ToolUses};
pub use names::ASYNC_PREFIX;

use parse::{Parsed, Tree};

/// What names mean to the program that is checked.
pub trait Tools: Sync {
    /// What this name means: a callable name, or what follows `tools.`. `None` if that is
    /// not known, which makes it nothing to complain about.
    fn resolve(&self, name: &str) -> Option<Resolution>;
}

impl<F: Fn(&str) -> Option<Resolution> + Sync> Tools for F {
    fn resolve(&self, name: &str) -> Option<Resolution> {
        self(name)
    }
}

/// A reason why a program cannot succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line of the program, from 1.
    pub line: usize,
    /// What the program says there, without its indentation.
    pub source_line: String,
    /// The class of the exception that the program would meet.
    pub kind: &'static str,
    /// What is wrong.
    pub message: String,
    /// How the call is written, where that helps.
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

/// The source of a program, which is parsed when it is first looked into, and never again.
pub struct ParsedProgram<'a> {
    source: Cow<'a, str>,
    /// Nothing for a source that is too large or too deeply nested to be read safely.
    tree: OnceLock<Option<Tree>>,
}

impl<'a> ParsedProgram<'a> {
    /// A program with this source.
    #[must_use]
    pub fn new(source: impl Into<Cow<'a, str>>) -> Self {
        Self { source: source.into(), tree: OnceLock::new() }
    }

    /// The source as it is checked and run.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The source, if it is not the text that the program was made from.
    #[must_use]
    pub fn changed_source(&self) -> Option<&str> {
        match &self.source {
            Cow::Borrowed(_) => None,
            Cow::Owned(source) => Some(source),
        }
    }

    /// The names that [`findings`](Self::findings) asks for.
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

    /// Every certain mistake in the tool calls of a Python program, in the order in which it
    /// would meet them; the first syntax error if it has one. Nothing for a program that
    /// is too large or too deeply nested to be read safely: its worker will tell.
    #[must_use]
    pub fn findings(&self, tools: &dyn Tools) -> Vec<Finding> {
        let read = |parsed: Parsed<'_>| match parsed.error {
            Some(error) => vec![error],
            None => path::findings(&parsed, tools),
        };
        self.with_tree(read).unwrap_or_default()
    }

    /// The tools that a Python program may call; `None` if it cannot be read.
    #[must_use]
    pub fn tool_uses(&self) -> Option<ToolUses> {
        self.with_tree(|parsed| calls::tool_uses(&parsed)).flatten()
    }

    /// What `read` makes of the tree, or nothing if there can be none.
    fn with_tree<T: Send>(&self, read: impl FnOnce(Parsed<'_>) -> T + Send) -> Option<T> {
        let tree = self.tree.get_or_init(|| Tree::of(&self.source)).as_ref()?;
        tree.read(&self.source, read)
    }
}
