//! Checks that a source is nested little enough for its tree to be walked and dropped. The parser
//! grows its stack as needed; the code after it does not.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::Mode;
use ruff_python_parser::lexer::lex;

/// The deepest tree that is accepted. Typical programs have a few dozen levels.
const MAX_DEPTH: usize = 2_000;

/// The largest indentation that is accepted; each blank may be a nested block.
const MAX_INDENT: usize = 1_000;

/// An upper bound on the depth of a source's tree; `None` if it may be too deep. A tree cannot be
/// deeper than the number of tokens of one of its parts.
pub(super) fn depth(source: &str) -> Option<usize> {
    let indent = largest_indent(source);
    if indent > MAX_INDENT {
        return None;
    }
    Some(max_nesting(source)? + indent)
}

/// The largest indentation of the raw lines. The lexer sees no indentation in a bracket that is
/// never closed, but the parser may.
fn largest_indent(source: &str) -> usize {
    let blanks = |line: &str| line.bytes().take_while(|byte| b" \t\x0c".contains(byte)).count();
    source.split(['\n', '\r']).map(blanks).max().unwrap_or_default()
}

/// The state between two brackets.
#[derive(Default)]
struct BracketLevel {
    /// The number of tokens that may be nested in one another.
    tokens: usize,
    /// Whether there is a lambda: a comma in its parameters does not end the nesting.
    has_lambda: bool,
}

fn max_nesting(source: &str) -> Option<usize> {
    let mut lexer = lex(source, Mode::Module);
    let mut levels = vec![BracketLevel::default()];
    let mut blocks = 0_usize;
    let (mut depth, mut most) = (0_usize, 0);
    // Every token has at least one byte, except for the ends of lines and blocks.
    for _ in 0..source.len().saturating_mul(2).saturating_add(100) {
        let token = lexer.next_token();
        match token {
            TokenKind::EndOfFile => return Some(most),
            TokenKind::Indent => blocks += 1,
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            TokenKind::Newline | TokenKind::Semi => {
                levels.clear();
                depth = 0;
            }
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd => {
                if let Some(closed) = levels.pop() {
                    depth -= closed.tokens;
                }
            }
            _ => {}
        }
        if levels.is_empty() {
            levels.push(BracketLevel::default());
        }
        if let Some(level) = levels.last_mut() {
            if token == TokenKind::Comma && !level.has_lambda {
                depth -= level.tokens;
                level.tokens = 0;
            }
            level.has_lambda |= token == TokenKind::Lambda;
            level.tokens += 1;
            depth += 1;
        }
        if matches!(
            token,
            TokenKind::Lpar
                | TokenKind::Lsqb
                | TokenKind::Lbrace
                | TokenKind::FStringStart
                | TokenKind::TStringStart
        ) {
            levels.push(BracketLevel::default());
        }
        most = most.max(depth + blocks);
        if most > MAX_DEPTH {
            return None;
        }
    }
    None
}
