//! Whether an answer is the expected one.

use testkit::mcp::ToolAnswer;

/// Stands for any text in an expected answer.
const ANY: char = '…';

/// Stands between two answers that are both fine.
const OR: &str = "\n--- or ---\n";

/// What is wrong with `answer`.
pub fn difference(expected: &str, answer: &ToolAnswer) -> Option<String> {
    let is_failure = answer.text.starts_with("[Script execution failed]\n");
    if is_failure != answer.is_error {
        return Some(format!("isError is {}: {}", answer.is_error, answer.text));
    }
    let is_as = |expected: &str| matches(expected.trim_end(), answer.text.trim_end());
    let fits = expected.split(OR).any(is_as);
    (!fits).then(|| format!("expected:\n{}\ngot:\n{}", expected.trim_end(), shown(&answer.text)))
}

fn matches(expected: &str, text: &str) -> bool {
    let Some((beginning, rest)) = expected.split_once(ANY) else { return expected == text };
    let Some(mut text) = text.strip_prefix(beginning) else { return false };
    let (middle, end) = rest.rsplit_once(ANY).unwrap_or(("", rest));
    for part in middle.split(ANY) {
        match text.split_once(part) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(end)
}

/// An answer as a test's output has room for it.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(5_000) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

#[test]
fn an_ellipsis_stands_for_anything() {
    let cases = [
        ("a", "a", true),
        ("a", "ab", false),
        ("a…", "ab", true),
        ("a…c", "abbc", true),
        ("a…c…e", "abcde", true),
        ("a…c…e", "abde", false),
        ("…c", "c", true),
        ("ab…bc", "abc", false),
    ];
    for (expected, text, fits) in cases {
        assert_eq!(matches(expected, text), fits, "{expected} for {text}");
    }
}
