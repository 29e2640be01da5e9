//! Parses the source of a program. The source may be hostile, and parsing, walking and dropping a
//! deep tree recurses, so that happens on a separate large stack if necessary.

use std::panic::{self, AssertUnwindSafe};
use std::{mem, thread};

use ruff_python_ast::token::Tokens;
use ruff_python_ast::{ModModule, PySourceType, Stmt};
use ruff_python_parser::parse_unchecked_source;
use ruff_text_size::TextSize;

use super::Finding;
use super::depth::depth;

/// The largest source that is parsed, in bytes; no model writes more.
const MAX_SOURCE: usize = 1024 * 1024;

/// The stack size for deep trees, far more than the deepest accepted tree needs in any build. Only
/// touched pages take memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// The depth for which any stack suffices. Most programs are below it, and starting a thread takes
/// longer than analysing them.
const SHALLOW_DEPTH: usize = 100;

/// The longest source line that is shown, in characters.
const MAX_LINE: usize = 200;

/// The tree of a source, which is parsed once and can be read any number of times.
pub(super) struct SyntaxTree {
    /// `None` only while the tree is dropped.
    parsed: Option<ruff_python_parser::Parsed<ModModule>>,
    /// The offset of each line.
    line_starts: Vec<usize>,
    depth: usize,
}

/// A borrowed view of a tree.
pub(super) struct SyntaxTreeView<'a> {
    pub(super) body: &'a [Stmt],
    pub(super) tokens: &'a Tokens,
    pub(super) lines: &'a SourceLines<'a>,
    /// The first syntax error. The rest of the source is not analysed then.
    pub(super) error: Option<Finding>,
}

impl SyntaxTree {
    /// Parses a source; `None` if it is too large or too deeply nested to be parsed safely.
    pub(super) fn of(source: &str) -> Option<Self> {
        if source.len() > MAX_SOURCE {
            return None;
        }
        let depth = depth(source)?;
        let parse = || parse_unchecked_source(source, PySourceType::Python);
        let parsed = Some(on_stack_for(depth, parse)?);
        Some(Self { parsed, line_starts: line_starts(source), depth })
    }

    /// Passes the tree of `source` to `read`; `None` if that fails.
    pub(super) fn read<T: Send>(
        &self,
        source: &str,
        read: impl FnOnce(SyntaxTreeView<'_>) -> T + Send,
    ) -> Option<T> {
        let parsed = self.parsed.as_ref()?;
        let lines = SourceLines { source, starts: &self.line_starts };
        let error = parsed.errors().first().map(|error| {
            lines.finding(error.location.start(), "SyntaxError", error.error.to_string())
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

/// Runs work that recurses into a tree of this depth, on a stack that is large enough.
fn on_stack_for<T: Send>(depth: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    if depth <= SHALLOW_DEPTH {
        return panic::catch_unwind(AssertUnwindSafe(work)).ok();
    }
    thread::scope(|scope| {
        let builder =
            thread::Builder::new().name("program-check".to_owned()).stack_size(STACK_BYTES);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

/// The lines of a source, as Python counts them.
pub(super) struct SourceLines<'a> {
    source: &'a str,
    starts: &'a [usize],
}

fn line_starts(source: &str) -> Vec<usize> {
    let bytes = source.as_bytes();
    let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

impl SourceLines<'_> {
    /// The number of the line of an offset, from 1.
    pub(super) fn number(&self, offset: TextSize) -> usize {
        self.starts.partition_point(|start| *start <= offset.to_usize())
    }

    /// A finding at an offset.
    pub(super) fn finding(&self, offset: TextSize, kind: &'static str, message: String) -> Finding {
        let line = self.number(offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let rest = self.source.get(start..).unwrap_or_default();
        let text = rest.split(['\n', '\r']).next().unwrap_or_default().trim();
        let source_line = match text.char_indices().nth(MAX_LINE) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text.to_owned(),
        };
        Finding { line, source_line, kind, message, signature: None }
    }
}
