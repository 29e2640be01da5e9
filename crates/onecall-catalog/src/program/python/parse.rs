//! Parses the source of a Python program, which may be hostile.

use std::mem;

use onecall_core::Language;
use ruff_python_ast::token::Tokens;
use ruff_python_ast::{ModModule, PySourceType, Stmt};
use ruff_python_parser::parse_unchecked_source;

use super::depth::depth;
use crate::program::Finding;
use crate::program::deep_stack::{MAX_SOURCE, on_stack_for};
use crate::program::lines::{SourceLines, line_starts};

/// The tree of a source, which is parsed once and can be read any number of times.
pub(in crate::program) struct SyntaxTree {
    /// `None` only while the tree is dropped.
    parsed: Option<ruff_python_parser::Parsed<ModModule>>,
    /// The offset of each line.
    line_starts: Vec<usize>,
    depth: usize,
}

/// A borrowed view of a tree.
pub(in crate::program) struct SyntaxTreeView<'a> {
    pub(in crate::program) body: &'a [Stmt],
    pub(in crate::program) tokens: &'a Tokens,
    pub(in crate::program) lines: &'a SourceLines<'a>,
    /// The first syntax error. The rest of the source is not analysed then.
    pub(in crate::program) error: Option<Finding>,
}

impl SyntaxTree {
    /// Parses a source; `None` if it is too large or too deeply nested to be parsed safely.
    pub(in crate::program) fn of(source: &str) -> Option<Self> {
        if source.len() > MAX_SOURCE {
            return None;
        }
        let depth = depth(source)?;
        let parse = || parse_unchecked_source(source, PySourceType::Python);
        let parsed = Some(on_stack_for(depth, parse)?);
        Some(Self { parsed, line_starts: line_starts(source), depth })
    }

    /// Passes the tree of `source` to `read`; `None` if that fails.
    pub(in crate::program) fn read<T>(
        &self,
        source: &str,
        read: impl FnOnce(SyntaxTreeView<'_>) -> T,
    ) -> Option<T> {
        let parsed = self.parsed.as_ref()?;
        let lines = SourceLines::new(source, &self.line_starts, Language::Python);
        let error = parsed.errors().first().map(|error| {
            lines.finding(error.location.start().to_usize(), "SyntaxError", error.error.to_string())
        });
        let (body, tokens, lines) = (parsed.suite(), parsed.tokens(), &lines);
        on_stack_for(self.depth, || read(SyntaxTreeView { body, tokens, lines, error }))
    }
}

impl Drop for SyntaxTree {
    fn drop(&mut self) {
        let parsed = &mut self.parsed;
        if on_stack_for(self.depth, || drop(parsed.take())).is_none() {
            // Without a large enough stack the tree cannot be dropped, so its memory is leaked.
            mem::forget(self.parsed.take());
        }
    }
}
