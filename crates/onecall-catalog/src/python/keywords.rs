//! The reserved words of Python.

/// Names that cannot be keyword arguments in Python.
const KEYWORDS: [&str; 36] = [
    "False",
    "None",
    "True",
    "__debug__",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
];

/// Whether Python reserves the name.
pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// Whether an argument of this name can be written as `name=value`. ASCII only: Python also accepts
/// other letters, but normalizes some of them to others.
#[must_use]
pub fn is_keyword_argument(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && name.bytes().all(word)
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !is_keyword(name)
}
