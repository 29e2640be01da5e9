//! The source of a program as it is checked and run: without a Markdown fence and without common
//! indentation, which a client may have left around it. Every line keeps its number.

use std::borrow::Cow;

use onecall_core::Language;
use ruff_python_ast::token::{TokenKind, Tokens};
use ruff_text_size::Ranged;

use super::ParsedProgram;

/// The language tags of a fence for Python.
const PYTHON_TAGS: [&str; 4] = ["", "py", "python", "python3"];

/// The language tags of a fence for TypeScript or JavaScript.
const TYPESCRIPT_TAGS: [&str; 5] = ["", "ts", "typescript", "js", "javascript"];

/// The characters of fences, which have three or more of them.
const FENCES: [char; 2] = ['`', '~'];

impl<'a> ParsedProgram<'a> {
    /// Creates the program for a text that a client sent in `language`.
    #[must_use]
    pub fn of_text(text: &'a str, language: Language) -> Self {
        let source = match without_fence(text, language) {
            Some(code) => Cow::Owned(code),
            None => Cow::Borrowed(text),
        };
        let program = Self::new(source, language);
        let dedented = match language {
            Language::Python => dedented(&program),
            Language::TypeScript => None,
        };
        dedented.map_or(program, |source| Self::new(source, language))
    }
}

/// The text inside a fence that encloses everything; the lines of the fence become empty. An
/// opening fence of backticks, which no program begins with, may lack its end.
fn without_fence(code: &str, language: Language) -> Option<String> {
    if !code.trim_start().starts_with(FENCES) {
        return None;
    }
    let lines: Vec<&str> = code.split_inclusive('\n').collect();
    let is_text = |line: &&str| !line.trim().is_empty();
    let first = lines.iter().position(is_text)?;
    let last = lines.iter().rposition(is_text)?;
    let opening = lines.get(first)?.trim();
    let mark = opening.chars().next()?;
    let tag = opening.trim_start_matches(mark);
    let length = opening.len() - tag.len();
    let tags: &[&str] = match language {
        Language::Python => &PYTHON_TAGS,
        Language::TypeScript => &TYPESCRIPT_TAGS,
    };
    let tag = tag.trim().to_ascii_lowercase();
    if length < 3 || !tags.contains(&tag.as_str()) {
        return None;
    }
    let closing = lines.get(last)?.trim();
    let is_closed =
        last > first && closing.len() >= length && closing.trim_matches(mark).is_empty();
    if !is_closed && mark != '`' {
        return None;
    }
    let is_fence = |at: usize| at == first || (is_closed && at == last);
    let numbered = lines.into_iter().enumerate();
    Some(numbered.map(|(at, line)| if is_fence(at) { line_break_of(line) } else { line }).collect())
}

/// The line break at the end of a line.
fn line_break_of(line: &str) -> &str {
    line.get(line.trim_end_matches(['\r', '\n']).len()..).unwrap_or_default()
}

/// Removes the indentation of the first statement from a program in which every statement has it.
/// Python rejects such a program, unless a form feed ends the indentation. The lines of multi-line
/// strings lose it as well if all of them have it, and stay unchanged otherwise.
fn dedented(program: &ParsedProgram<'_>) -> Option<String> {
    let code = program.source();
    let is_code = |line: &&str| !matches!(line.trim_start().chars().next(), None | Some('#'));
    let first = code.split_inclusive('\n').find(is_code)?;
    let margin = first.get(..first.len() - first.trim_start_matches([' ', '\t']).len())?;
    if margin.is_empty() || has_old_line_ends(code) {
        return None;
    }
    let (texts, statements) = program.with_tree(|parsed| {
        let is_refused = parsed.error.is_some();
        is_refused.then(|| (string_ranges(parsed.tokens), starts_of_statements(parsed.tokens)))
    })??;
    let lines = Lines::of(code);
    let begins = |start: &usize| lines.at(*start).is_some_and(|line| line.starts_with(margin));
    if !statements.iter().all(begins) {
        return None;
    }
    let is_text = |start: usize| texts.iter().any(|(from, to)| *from < start && start < *to);
    let has_margin = |line: &str| line.starts_with(margin) || line.trim().is_empty();
    let keeps_texts = lines.iter().any(|(start, line)| is_text(start) && !has_margin(line));
    let kept = lines.iter().map(|(start, line)| {
        if keeps_texts && is_text(start) {
            line
        } else if line.trim().is_empty() {
            line_break_of(line)
        } else {
            line.strip_prefix(margin).unwrap_or(line)
        }
    });
    Some(kept.collect())
}

/// Whether a carriage return alone ends a line, as it may in Python. Such a program is not
/// dedented, because the lines are split differently here.
fn has_old_line_ends(code: &str) -> bool {
    code.split('\r').skip(1).any(|rest| !rest.starts_with('\n'))
}

/// The lines of a source with the offsets at which they start.
struct Lines<'a>(Vec<(usize, &'a str)>);

impl<'a> Lines<'a> {
    fn of(source: &'a str) -> Self {
        let mut offset = 0;
        let located = |line: &'a str| {
            let start = offset;
            offset += line.len();
            (start, line)
        };
        Self(source.split_inclusive('\n').map(located).collect())
    }

    fn iter(&self) -> impl Iterator<Item = (usize, &'a str)> + '_ {
        self.0.iter().copied()
    }

    /// The line that contains this offset.
    fn at(&self, offset: usize) -> Option<&'a str> {
        let after = self.0.partition_point(|(start, _)| *start <= offset);
        self.0.get(after.checked_sub(1)?).map(|(_, line)| *line)
    }
}

/// The start and end offsets of the text in strings.
fn string_ranges(tokens: &Tokens) -> Vec<(usize, usize)> {
    let is_text = |kind: TokenKind| {
        matches!(kind, TokenKind::String | TokenKind::FStringMiddle | TokenKind::TStringMiddle)
    };
    let texts = tokens.iter().filter(|token| is_text(token.kind()));
    texts.map(|token| (token.start().to_usize(), token.end().to_usize())).collect()
}

/// The offsets at which the lines of statements begin.
fn starts_of_statements(tokens: &Tokens) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut is_new = true;
    for token in tokens.iter() {
        match token.kind() {
            TokenKind::Newline => is_new = true,
            TokenKind::NonLogicalNewline
            | TokenKind::Comment
            | TokenKind::Indent
            | TokenKind::Dedent
            | TokenKind::EndOfFile => {}
            _ => {
                if is_new {
                    starts.push(token.start().to_usize());
                }
                is_new = false;
            }
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(code: &str) -> Cow<'_, str> {
        ParsedProgram::of_text(code, Language::Python).source
    }

    #[test]
    fn a_fence_becomes_empty_lines() {
        let cases = [
            ("```python\nprint(1)\n```", "\nprint(1)\n"),
            ("\n \n```py\nprint(1)\n```\n\n", "\n \n\nprint(1)\n\n\n"),
            ("```\r\nprint(1)\r\n```\r\n", "\r\nprint(1)\r\n\r\n"),
            ("~~~ Python3\nx = 1\n~~~", "\nx = 1\n"),
            ("````python\ns = '''\n```\n'''\n````", "\ns = '''\n```\n'''\n"),
            ("```python\ns = '''\n```\n'''\n```", "\ns = '''\n```\n'''\n"),
            ("```python\nprint(1)", "\nprint(1)"),
            ("  ```python\n  if x:\n      y()\n  ```", "\nif x:\n    y()\n"),
        ];
        for (code, expected) in cases {
            assert_eq!(python(code), expected, "{code}");
        }
        let typescript = |code| ParsedProgram::of_text(code, Language::TypeScript).source;
        assert_eq!(typescript("```ts\n  f();\n```"), "\n  f();\n");
        assert_eq!(typescript("~~~JavaScript\nf();\n~~~\n"), "\nf();\n\n");
    }

    #[test]
    fn what_is_no_fence_stays() {
        let cases = [
            "  \u{c}~~~x",
            "print('''\n```python\nx\n```\n''')",
            "~~~x",
            "~~~python\nx = 1",
            "```bash\nls\n```",
            "```ts\nf();\n```",
            "``python\nx\n``",
            "```print(1)```",
            "Here it is:\n```python\nx\n```",
            "",
            "\n\n",
        ];
        for code in cases {
            assert!(matches!(python(code), Cow::Borrowed(_)), "{code}");
        }
    }

    #[test]
    fn indentation_of_everything_goes() {
        let cases = [
            ("    x = 1\n    if x:\n        y()\n", "x = 1\nif x:\n    y()\n"),
            ("\n\tx = 1\n\tif x:\n\t\ty()", "\nx = 1\nif x:\n\ty()"),
            ("  x = 1\r\n\r\n  y = 2\r\n", "x = 1\r\n\r\ny = 2\r\n"),
            // What a statement goes on with may stand anywhere, and so may comments.
            ("# a\n  x = [\n1,\n    2]\n# b\n  y", "# a\nx = [\n1,\n  2]\n# b\ny"),
            ("  x = 1 + \\\n2\n  y", "x = 1 + \\\n2\ny"),
            // Text that was indented along with the program.
            ("  s = '''\n  a\n\n    b'''\n  t", "s = '''\na\n\n  b'''\nt"),
            ("  s = f'''\n  {a}\n  b'''\n  t", "s = f'''\n{a}\nb'''\nt"),
            // Text that was not.
            ("  s = '''\na\n    b\n'''\n  t", "s = '''\na\n    b\n'''\nt"),
            ("  s = '''\n  a'''\n  t = f'''\n{b}\nc'''", "s = '''\n  a'''\nt = f'''\n{b}\nc'''"),
        ];
        for (code, expected) in cases {
            assert_eq!(python(code), expected, "{code}");
        }
    }

    #[test]
    fn what_is_not_indented_as_a_whole_stays() {
        let cases = [
            "x = 1\n    y = 2",
            "    x = 1\ny = 2",
            "\tx = 1\n        y = 2",
            "s = '''\n    a\n'''",
            "    # only a comment",
            "  \r~~~py",
            "  x\r  y\n",
            "    \n",
        ];
        for code in cases {
            assert!(matches!(python(code), Cow::Borrowed(_)), "{code}");
        }
    }
}
