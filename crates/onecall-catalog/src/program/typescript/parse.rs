//! Parses the source of a TypeScript program, which may be hostile.

use onecall_core::Language;
use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;

use super::depth::nesting_depth;
use crate::program::deep_stack::{MAX_SOURCE, on_stack_for};
use crate::program::lines::{SourceLines, line_starts};

/// How much more of the stack a level of TypeScript takes than a level of Python.
const STACK_FACTOR: usize = 4;

/// Parses a source and passes its tree to `read`; `None` if it is too large or too deeply nested to
/// be parsed safely, or has a syntax error: the worker's message about that is better.
pub(super) fn with_program<T: Send>(
    source: &str,
    read: impl FnOnce(&Program<'_>, &SourceLines<'_>) -> T + Send,
) -> Option<T> {
    if source.len() > MAX_SOURCE {
        return None;
    }
    let depth = nesting_depth(source)?;
    on_stack_for(depth.saturating_mul(STACK_FACTOR), || {
        let allocator = Allocator::default();
        let options =
            ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
        let parser = Parser::new(&allocator, source, SourceType::ts().with_module(true));
        let parsed = parser.with_options(options).parse();
        if parsed.panicked || !parsed.diagnostics.is_empty() {
            return None;
        }
        let starts = line_starts(source);
        let lines = SourceLines::new(source, &starts, Language::TypeScript);
        Some(read(&parsed.program, &lines))
    })?
}
