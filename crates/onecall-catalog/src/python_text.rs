//! Recognises text that a server written in Python made of a value with `str()` instead of JSON.

/// The format, in a JSON Schema, of text that is a Python literal.
pub(crate) const PYTHON_LITERAL_FORMAT: &str = "python-literal";

/// Whether a text that is not JSON looks like a list, dict, tuple or set as Python prints it: it is in
/// brackets, and its first value is in single quotes or in parentheses, which JSON does not have.
#[must_use]
pub fn is_like_python_literal(text: &str) -> bool {
    let text = text.trim();
    let is_enclosed = [('[', ']'), ('{', '}'), ('(', ')')]
        .into_iter()
        .any(|(open, close)| text.starts_with(open) && text.ends_with(close));
    let inner = text.trim_start_matches(['[', '{', '(', ' ', '\n']);
    let opening = text.get(..text.len() - inner.len()).unwrap_or_default();
    let is_value = |first: char| first.is_ascii_digit() || matches!(first, '\'' | '"' | '-');
    let is_constant = ["None", "True", "False"].iter().any(|it| inner.starts_with(it));
    is_enclosed
        && (inner.starts_with('\'')
            || is_constant
            || (opening.contains('(') && inner.starts_with(is_value)))
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
        ] {
            assert!(is_like_python_literal(text), "{text}");
        }
        for text in
            ["[1, 2]", "{\"a\": 1}", "[]", "(see below)", "'quoted'", "[INFO] 'x'", "", "{'a"]
        {
            assert!(!is_like_python_literal(text), "{text}");
        }
    }
}
