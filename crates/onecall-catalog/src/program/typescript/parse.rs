//! Parses the source of a TypeScript program, which may be hostile: parsing and walking a deep tree
//! recurses.

use onecall_core::Language;
use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;

use super::depth::nesting_depth;
use crate::program::deep_stack::on_stack_of;
use crate::program::lines::{SourceLines, line_starts};

/// The largest number of tokens in a source that is parsed; no model writes more. A tree cannot be
/// deeper than the number of its tokens.
const MAX_TOKENS: usize = 20_000;

/// The stack that is there for each token, more than a level of a tree needs in any build. Only
/// touched pages take memory.
const STACK_PER_TOKEN: usize = 16 * 1024;

/// The least size of the stack.
const MIN_STACK: usize = 2 * 1024 * 1024;

/// Parses a source and passes its tree to `read`; `None` if it is too large or too deeply nested to
/// be parsed safely, or has a syntax error: the worker's message about that is better.
pub(super) fn with_program<T>(
    source: &str,
    read: impl FnOnce(&Program<'_>, &SourceLines<'_>) -> T,
) -> Option<T> {
    nesting_depth(source)?;
    let tokens = most_tokens(source);
    if tokens > MAX_TOKENS {
        return None;
    }
    on_stack_of(MIN_STACK + tokens * STACK_PER_TOKEN, || {
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

/// The most tokens that a source can have: its words and its other characters, wherever they are. What
/// is in a text or in a comment counts, so that nothing can be hidden there.
fn most_tokens(source: &str) -> usize {
    let is_word = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
    let mut after_word = false;
    let mut tokens = 0;
    for character in source.chars() {
        let is_part = is_word(character);
        tokens += usize::from(!(character.is_whitespace() || is_part && after_word));
        after_word = is_part;
    }
    tokens
}
