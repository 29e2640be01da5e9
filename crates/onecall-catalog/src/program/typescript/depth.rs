//! Measures how deeply a TypeScript source is nested, because the parser is recursive and could
//! overflow its stack.
//!
//! The source is read only roughly, as tokens. Where that is inaccurate, a program can be refused
//! only if it is nested hundreds of levels deep.

/// Allowed levels of nesting. Ordinary programs have dozens.
const MAX_DEPTH: usize = 1_000;

/// Keywords after which the same expression or statement continues one level deeper.
const NESTING_KEYWORDS: [&str; 9] =
    ["typeof", "void", "delete", "await", "new", "yield", "else", "keyof", "extends"];

/// Keywords that begin a statement: what came before on another line has ended.
const STATEMENT_KEYWORDS: [&str; 18] = [
    "const",
    "let",
    "var",
    "function",
    "async",
    "class",
    "if",
    "for",
    "while",
    "do",
    "return",
    "try",
    "throw",
    "switch",
    "import",
    "export",
    "type",
    "interface",
];

/// The levels of nesting in a TypeScript source, at least as many as its syntax tree has; `None` if
/// they are more than the parser can read.
#[must_use]
pub fn nesting_depth(source: &str) -> Option<usize> {
    let mut depth = Depth::default();
    let mut deepest = 0;
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (length, token) = next_token(rest, first, &depth);
        depth.take(token);
        deepest = deepest.max(depth.total);
        if deepest > MAX_DEPTH {
            return None;
        }
        rest = rest.get(length.max(first.len_utf8())..).unwrap_or_default();
    }
    Some(deepest)
}

enum Token<'a> {
    /// White space, comments, template text.
    Nothing,
    LineBreak,
    Open(Bracket),
    Close,
    /// The end of a statement, or a separator such as a comma.
    End,
    Word(&'a str),
    /// A string, a number or a regular expression.
    Value,
    Operator(char),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Plain,
    /// Between the backquotes of a template literal.
    Template,
}

#[derive(Default)]
struct Depth {
    /// For every open bracket, its kind and the depth of what precedes it.
    open: Vec<(Bracket, usize)>,
    /// The depth of the statement or expression that is being read.
    statement_depth: usize,
    total: usize,
    /// Whether a slash would be a division.
    after_value: bool,
    after_break: bool,
}

impl Depth {
    fn in_template(&self) -> bool {
        self.open.last().is_some_and(|(bracket, _)| *bracket == Bracket::Template)
    }

    fn take(&mut self, token: Token<'_>) {
        let after_break = std::mem::take(&mut self.after_break);
        match token {
            Token::Nothing => {
                self.after_break = after_break;
                return;
            }
            Token::LineBreak => {
                self.after_break = true;
                return;
            }
            Token::Open(bracket) => {
                self.open.push((bracket, self.statement_depth));
                self.statement_depth = 0;
                self.total += 1;
            }
            Token::Close => {
                self.total -= self.statement_depth;
                if let Some((_, before)) = self.open.pop() {
                    self.total -= 1;
                    self.statement_depth = before;
                } else {
                    self.statement_depth = 0;
                }
            }
            Token::End => self.end_statement(),
            Token::Word(word) => {
                if after_break && STATEMENT_KEYWORDS.contains(&word) {
                    self.end_statement();
                }
                if NESTING_KEYWORDS.contains(&word) {
                    self.nest();
                }
            }
            Token::Value => {}
            Token::Operator(operator) => {
                // Binary operators nest to the left, where the parser does not recurse.
                if !self.after_value || "=?<>".contains(operator) {
                    self.nest();
                }
            }
        }
        self.after_value = match token {
            Token::Value | Token::Close => true,
            Token::Word(word) => !NESTING_KEYWORDS.contains(&word) && word != "return",
            _ => false,
        };
    }

    fn nest(&mut self) {
        self.statement_depth += 1;
        self.total += 1;
    }

    fn end_statement(&mut self) {
        self.total -= self.statement_depth;
        self.statement_depth = 0;
    }
}

/// The length of the next token in bytes, and its kind.
fn next_token<'a>(rest: &'a str, first: char, depth: &Depth) -> (usize, Token<'a>) {
    if depth.in_template() {
        return match first {
            '`' => (1, Token::Close),
            '\\' => (1 + rest.chars().nth(1).map_or(0, char::len_utf8), Token::Nothing),
            '$' if rest.starts_with("${") => (2, Token::Open(Bracket::Plain)),
            _ => (first.len_utf8(), Token::Nothing),
        };
    }
    match first {
        '\n' => (1, Token::LineBreak),
        '`' => (1, Token::Open(Bracket::Template)),
        '(' | '[' | '{' => (1, Token::Open(Bracket::Plain)),
        ')' | ']' | '}' => (1, Token::Close),
        ';' | ',' => (1, Token::End),
        '\'' | '"' => (literal_length(rest, first), Token::Value),
        '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), Token::Nothing),
        '/' if rest.starts_with("/*") => {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), Token::Nothing)
        }
        '/' if !depth.after_value => (literal_length(rest, first), Token::Value),
        '.' => (1, Token::Nothing),
        _ if first.is_whitespace() => (first.len_utf8(), Token::Nothing),
        _ if is_word(first) => {
            let end = rest.find(|it: char| !is_word(it)).unwrap_or(rest.len());
            (end, Token::Word(rest.get(..end).unwrap_or_default()))
        }
        _ => (first.len_utf8(), Token::Operator(first)),
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$' || character == '#'
}

/// The length of a literal that begins and ends with `quote`, on one line.
fn literal_length(rest: &str, quote: char) -> usize {
    let (mut is_escaped, mut in_class) = (false, false);
    for (position, character) in rest.char_indices().skip(1) {
        match character {
            '\n' => return position,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            // In a regular expression, a slash inside brackets does not end it.
            '[' if quote == '/' => in_class = true,
            ']' if quote == '/' => in_class = false,
            _ if character == quote && !in_class => return position + quote.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nests_without_end_is_noticed() {
        let nested = |open: &str, close: &str| open.repeat(5_000) + "1" + &close.repeat(5_000);
        for source in [
            nested("(", ")"),
            nested("[", "]"),
            nested("{", "}"),
            nested("- ", ""),
            nested("!", ""),
            nested("typeof ", ""),
            nested("new ", ""),
            nested("a => ", ""),
            nested("a = ", ""),
            nested("1 ? 2 : ", ""),
            nested("if (0) {} else ", ""),
            nested("`${", "}`"),
            nested("Array<", ">"),
            nested("function f() {", "}"),
            nested("f(x, ", ")"),
            "(".repeat(5_000),
        ] {
            assert_eq!(nesting_depth(&source), None, "{}", source.get(..20).unwrap_or_default());
        }
    }

    #[test]
    fn what_is_merely_long_is_not() {
        let long = |line: &str| line.repeat(5_000);
        for source in [
            long("const f = async (x: number) => x > 1 ? -x : !x\n"),
            long("let a = [1, -2, () => 3, `x${1}`];"),
            long("if (a) { b() } else { c() }\n"),
            format!("x = 1{}", long(" + 1")),
            format!("x = y{}", long(".then((it) => it.a)\n")),
            format!("x = [{}]", long("{ a: -1, b: (c) => typeof c },")),
            long("// it's ((((\n/* \" [[[[ */ x = /[/(\\/]{2}\"/ ; y = '((((' / 2\n"),
            format!("x = `{}`", long("(((` + `\\`${1}")),
        ] {
            assert!(nesting_depth(&source).is_some(), "{}", source.get(..40).unwrap_or_default());
        }
    }
}
