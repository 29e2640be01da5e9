//! Supports `return` at the top level of a program: such a program runs as the body of a function,
//! below its imports.

use oxc_allocator::Allocator;
use oxc_ast::ast::Statement;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType};

use super::positions::{Position, position_of};

const OPENING: &str = "await (async () => {";
const CLOSING: &str = "\n})();";

/// A program wrapped into a function.
pub(super) struct Wrapped {
    pub(super) code: String,
    /// The position at which the author's text continues after the inserted text on the same line.
    pub(super) position: Position,
    /// By how many columns that text is shifted to the right.
    pub(super) shift: u32,
}

/// Wraps a program whose only error is a `return` at its top level; `None` for any other.
pub(super) fn wrap(source: &str) -> Option<Wrapped> {
    if !source.contains("return") {
        return None;
    }
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parser = Parser::new(&allocator, source, SourceType::ts().with_module(true));
    let parsed = parser.with_options(options).parse();
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    let is_import =
        |statement: &Statement<'_>| matches!(statement, Statement::ImportDeclaration(_));
    let statements = &parsed.program.body;
    let mut body = statements.iter().skip_while(|statement| is_import(statement)).peekable();
    let start = body.peek()?.span().start;
    if body.any(Statement::is_module_declaration) {
        return None;
    }
    let (imports, rest) = source.split_at_checked(usize::try_from(start).ok()?)?;
    let shift = u32::try_from(OPENING.len()).ok()?;
    let Position { line, column } = position_of(source, start);
    Some(Wrapped {
        code: format!("{imports}{OPENING}{rest}{CLOSING}"),
        position: Position { line, column: column + shift },
        shift,
    })
}
