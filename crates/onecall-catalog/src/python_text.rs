//! Recognises text that a server written in Python made of a value with `str()` instead of JSON.

use onecall_core::replace_nonfinite;
use serde::de::IgnoredAny;

/// The format, in a JSON Schema, of text that is a Python literal.
pub(crate) const PYTHON_LITERAL_FORMAT: &str = "python-literal";

/// Bytes of a text that are read.
const MAX_READ: usize = 64 * 1024;

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 32;

/// A list, dict, tuple or set as Python prints it, which is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PythonText {
    /// `ast.literal_eval` reads it.
    Literal,
    /// It contains something that is no literal, such as `datetime.date(2026, 1, 1)` or `nan`.
    Expression,
}

impl PythonText {
    /// The kind of a text, if Python printed it. Only the beginning of a long text is read.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        if !text.starts_with(['[', '{', '(']) || is_like_json(text) {
            return None;
        }
        let read = beginning(text);
        let mut reader = Reader { rest: read, has_other: false };
        let is_value = match reader.value(MAX_DEPTH) {
            Ok(()) => reader.rest.trim_start().is_empty(),
            Err(Mismatch::End) => read.len() < text.len(),
            Err(Mismatch::Other) => false,
        };
        let kind = if reader.has_other { Self::Expression } else { Self::Literal };
        is_value.then_some(kind)
    }
}

/// Whether a text is a JSON list or object, with `NaN` and infinities as numbers. Only the beginning of
/// a long text is read.
#[must_use]
pub fn is_like_json(text: &str) -> bool {
    let text = text.trim();
    let read = beginning(text);
    let replaced = replace_nonfinite(read, |_| "0");
    text.starts_with(['[', '{'])
        && match serde_json::from_str::<IgnoredAny>(replaced.as_deref().unwrap_or(read)) {
            Ok(_) => true,
            Err(error) => error.is_eof() && read.len() < text.len(),
        }
}

fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_READ)).unwrap_or_default()
}

/// Why a text is no Python value.
enum Mismatch {
    /// It ends before its value does.
    End,
    Other,
}

/// Reads a Python value token by token.
struct Reader<'a> {
    rest: &'a str,
    /// Whether something occurred that `ast.literal_eval` does not read.
    has_other: bool,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<char, Mismatch> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next().ok_or(Mismatch::End)
    }

    /// Takes a character if it is the next one after spaces.
    fn take(&mut self, wanted: char) -> Result<bool, Mismatch> {
        let is_next = self.next()? == wanted;
        if is_next {
            self.rest = self.rest.strip_prefix(wanted).unwrap_or_default();
        }
        Ok(is_next)
    }

    /// Takes the characters at the beginning that fit.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest.trim_start_matches(fits);
        let taken = self.rest.get(..self.rest.len() - rest.len()).unwrap_or_default();
        self.rest = rest;
        taken
    }

    fn value(&mut self, depth: usize) -> Result<(), Mismatch> {
        let inner = depth.checked_sub(1).ok_or(Mismatch::Other)?;
        match self.next()? {
            '[' => self.items('[', ']', inner).map(drop),
            // Parentheses around one value are no tuple.
            '(' => match self.items('(', ')', inner)? {
                0 => Err(Mismatch::Other),
                _ => Ok(()),
            },
            '{' => self.items('{', '}', inner).map(drop),
            '\'' | '"' => self.string(),
            '0'..='9' | '-' | '+' | '.' => self.number(),
            _ => self.word(inner),
        }
    }

    /// Reads the items of a list, tuple, set, dict or call with their brackets. In braces an item can
    /// have a key before `:`, in the parentheses of a call a name before `=`. Returns the number of
    /// commas.
    fn items(&mut self, open: char, close: char, depth: usize) -> Result<usize, Mismatch> {
        self.take(open)?;
        let (mut items, mut commas) = (0, 0);
        while !self.take(close)? {
            if items > commas {
                return Err(Mismatch::Other);
            }
            self.value(depth)?;
            let has_value = match open {
                '{' => self.take(':')?,
                '(' => self.take('=')?,
                _ => false,
            };
            if has_value {
                self.value(depth)?;
            }
            items += 1;
            commas += usize::from(self.take(',')?);
        }
        Ok(commas)
    }

    fn string(&mut self) -> Result<(), Mismatch> {
        let mut characters = self.rest.chars();
        let quote = characters.next();
        while let Some(character) = characters.next() {
            if Some(character) == quote {
                self.rest = characters.as_str();
                return Ok(());
            }
            if character == '\\' {
                characters.next();
            }
        }
        Err(Mismatch::End)
    }

    fn number(&mut self) -> Result<(), Mismatch> {
        self.take_while(|it| matches!(it, '-' | '+'));
        if self.rest.starts_with(|it: char| it.is_alphabetic()) {
            return self.word(0);
        }
        let digits = self.take_while(|it| it.is_ascii_digit() || it == '.');
        if self.rest.starts_with(['e', 'E']) {
            self.take_while(|it| it.is_ascii_digit() || matches!(it, 'e' | 'E' | '-' | '+'));
        }
        digits.parse::<f64>().map(drop).map_err(|_| Mismatch::Other)
    }

    /// Reads a constant, bytes, a call, the name before `=` in a call, or a name such as
    /// `datetime.timezone.utc`.
    fn word(&mut self, depth: usize) -> Result<(), Mismatch> {
        let word = self.take_while(|it| it.is_alphanumeric() || matches!(it, '_' | '.'));
        match (word, self.rest.chars().next()) {
            ("None" | "True" | "False", _) => return Ok(()),
            ("b", Some('\'' | '"')) => return self.string(),
            ("", _) => return Err(Mismatch::Other),
            (_, None) => return Err(Mismatch::End),
            (_, Some('(')) => self.items('(', ')', depth).map(drop)?,
            (_, Some('=')) | ("nan" | "inf", _) => {}
            _ if word.contains('.') => {}
            _ => return Err(Mismatch::Other),
        }
        self.has_other = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_python_printed_are_recognised() {
        for text in [
            "[{'country': 'DE', 'total': 3}]",
            "{'a': 1}",
            " ['x'] ",
            "[(1, 'x'), (2, 'y')]",
            "('a',)",
            "[None]",
            "[1, 'x', None]",
            "{\"it's\": None, 'b': -1.5e-3, 'c': b'\\'x'}",
            "{1, 2}",
            "[\n  {'a': []},\n]",
        ] {
            assert_eq!(PythonText::of(text), Some(PythonText::Literal), "{text}");
        }
        for text in [
            "[{'day': datetime.date(2026, 1, 1)}]",
            "[(Decimal('1'),)]",
            "[{'at': datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)}]",
            "[nan, -inf]",
            "[Row(a=1, b=UUID('x'))]",
        ] {
            assert_eq!(PythonText::of(text), Some(PythonText::Expression), "{text}");
        }
        let long = format!("[{}]", "{'a': 'text'}, ".repeat(10_000));
        assert_eq!(PythonText::of(&long), Some(PythonText::Literal));
    }

    #[test]
    fn other_text_is_not() {
        for text in [
            "[1, 2]",
            "{\"a\": 1}",
            "[NaN]",
            "[]",
            "(see below)",
            "(7)",
            "'quoted'",
            "[INFO] 'x'",
            "[INFO]",
            "[2026-01-01] started",
            "[12:30]",
            "[1 2]",
            "{'a': 1} and more",
            "[('a', 1), ...",
            "",
            "{'a",
            "Decimal('1')",
        ] {
            assert_eq!(PythonText::of(text), None, "{text}");
        }
        assert_eq!(PythonText::of(&"[".repeat(100_000)), None);
    }

    #[test]
    fn json_is_decided_by_the_beginning_of_a_long_text() {
        assert!(is_like_json(&format!("[{}1]", "{\"a\": \"text\"}, ".repeat(10_000))));
        assert!(!is_like_json(&format!("[INFO] {}", "text".repeat(100_000))));
        assert!(is_like_json("[NaN, -Infinity]") && !is_like_json("[1") && !is_like_json("3"));
    }
}
