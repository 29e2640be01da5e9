//! From source to tree, on a stack of its own where that may be needed: the source is hostile,
//! and to walk or drop a deep tree recurses.

use std::panic::{self, AssertUnwindSafe};
use std::thread;

use ruff_python_ast::token::Tokens;
use ruff_python_ast::{PySourceType, Stmt};
use ruff_python_parser::parse_unchecked_source;
use ruff_text_size::TextSize;

use super::Finding;
use super::depth::depth;

/// Bytes of source that are read; no model writes more.
const MAX_SOURCE: usize = 1024 * 1024;

/// Far more than the deepest tree that is let through needs, in any build. Only what
/// is touched takes memory.
const STACK: usize = 64 * 1024 * 1024;

/// Levels of a tree that any stack has room for. Most programs have fewer, and a thread takes
/// longer to start than they take to be read.
const SHALLOW: usize = 100;

/// Characters of a line that are shown.
const MAX_LINE: usize = 200;

/// A program as a tree.
pub(super) struct Parsed<'a> {
    pub(super) body: &'a [Stmt],
    pub(super) tokens: &'a Tokens,
    pub(super) lines: &'a Lines<'a>,
    /// The first syntax error. What follows it is not understood.
    pub(super) error: Option<Finding>,
}

/// What `read` makes of the tree, or nothing if there can be none.
pub(super) fn with_tree<T: Send>(
    source: &str,
    read: impl FnOnce(Parsed<'_>) -> T + Send,
) -> Option<T> {
    if source.len() > MAX_SOURCE {
        return None;
    }
    let depth = depth(source)?;
    let work = || {
        let parsed = parse_unchecked_source(source, PySourceType::Python);
        let lines = Lines::of(source);
        let error = parsed.errors().first().map(|error| {
            lines.finding(error.location.start(), "SyntaxError", error.error.to_string())
        });
        read(Parsed { body: parsed.suite(), tokens: parsed.tokens(), lines: &lines, error })
    };
    if depth <= SHALLOW {
        return panic::catch_unwind(AssertUnwindSafe(work)).ok();
    }
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("program-check".to_owned()).stack_size(STACK);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

/// The lines of a source, as Python counts them.
pub(super) struct Lines<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(source: &'a str) -> Self {
        let bytes = source.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { source, starts }
    }

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
