//! Whether an answer is the expected one.

use testkit::mcp::ToolAnswer;

/// Stands for any text in an expected answer.
const ANY_TEXT: char = '…';

/// Stands between two answers that are both fine.
const ALTERNATIVE: &str = "\n--- or ---\n";

/// Which errors an attack may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// Exactly the errors of the expected answer.
    AsExpected,
    /// Any error: in another environment another wall stops the attack, or a file that does not
    /// exist here exists there and is refused.
    Any,
}

/// What is wrong with `answer`.
pub fn difference(expected: &str, answer: &ToolAnswer, errors: Errors) -> Option<String> {
    let is_failure = answer.text.starts_with("[Script execution failed]\n");
    if is_failure != answer.is_error {
        return Some(format!("isError is {}: {}", answer.is_error, answer.text));
    }
    let compared = |text: &str| match errors {
        Errors::AsExpected => text.trim_end().to_owned(),
        Errors::Any => without_errors(text.trim_end()),
    };
    let text = compared(&answer.text);
    let is_as = |expected: &str| matches(&compared(expected), &text);
    let fits = expected.split(ALTERNATIVE).any(is_as);
    (!fits).then(|| format!("expected:\n{}\ngot:\n{}", expected.trim_end(), shorten(&answer.text)))
}

/// The text with one word for the error of each attempt that failed. What was gained stays.
fn without_errors(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(" -> ") {
        Some((attempt, error)) if is_error(error) => format!("{attempt} -> refused"),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether an attempt failed, by what it printed: the name of an exception, or an error of the
/// kernel.
fn is_error(text: &str) -> bool {
    let errors = ["Operation not permitted", "Permission denied", "Function not implemented"];
    let is_name = |character: char| character.is_alphanumeric() || character == ANY_TEXT;
    let is_exception = || text.ends_with("Error") || text.ends_with("error");
    errors.contains(&text) || is_exception() && text.chars().all(is_name)
}

fn matches(expected: &str, text: &str) -> bool {
    let Some((beginning, rest)) = expected.split_once(ANY_TEXT) else { return expected == text };
    let Some(mut text) = text.strip_prefix(beginning) else { return false };
    let (middle, end) = rest.rsplit_once(ANY_TEXT).unwrap_or(("", rest));
    for part in middle.split(ANY_TEXT) {
        match text.split_once(part) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(end)
}

/// Shortens an answer for the output of a test.
pub fn shorten(text: &str) -> String {
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

#[test]
fn an_attack_may_fail_by_another_error_and_gains_nothing_by_it() {
    let answer = |text: &str| ToolAnswer {
        text: format!("[Script executed successfully]\n{text}"),
        is_error: false,
        raw: serde_json::Value::Null,
    };
    let expected = "[Script executed successfully]\nread -> FileNotFoundError\nname: onecall";
    let differs = |text: &str, errors| difference(expected, &answer(text), errors).is_some();
    let denied = "read -> PermissionError\nname: onecall";
    assert!(differs(denied, Errors::AsExpected));
    assert!(!differs(denied, Errors::Any));
    assert!(differs("read -> GAINED 'a secret'\nname: onecall", Errors::Any));
    assert!(differs("read -> GAINED anError\nname: onecall", Errors::Any));
    assert!(differs("read -> PermissionError\nname: build-7", Errors::Any));
    assert!(differs("read -> PermissionError", Errors::Any));
    assert!(!differs("read -> Operation not permitted\nname: onecall", Errors::Any));
}
