//! `NaN`, `Infinity` and `-Infinity` in JSON text. JSON has no such numbers, but many encoders
//! write them (Python's does by default), and programs read them as numbers.

/// Replaces each `NaN`, `Infinity` and `-Infinity` outside of strings by the result of
/// `replacement`. Returns `None` if the text has none of them. It does not check that the rest is
/// JSON.
#[must_use]
pub fn replace_nonfinite(text: &str, replacement: impl Fn(&str) -> &'static str) -> Option<String> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return None;
    }
    let mut replaced = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, None);
    let mut has_any = false;
    while let Some(byte) = rest.bytes().next() {
        let begins = before.is_none_or(|it: u8| matches!(it, b'[' | b',' | b':') || is_space(it));
        let token = token(rest).filter(|_| begins);
        let length = match (token, byte) {
            (Some(token), _) => token.len(),
            (None, b'"') => string_length(rest),
            // Skips all bytes up to the next one that can begin a string or a token.
            _ => 1 + rest.bytes().skip(1).take_while(|it| !b"\"NI-".contains(it)).count(),
        };
        let (passed, after) = rest.split_at_checked(length)?;
        replaced.push_str(token.map_or(passed, |token| replacement(token)));
        has_any |= token.is_some();
        before = passed.bytes().next_back();
        rest = after;
    }
    has_any.then_some(replaced)
}

/// The non-finite number at the beginning of `text`, if there is one.
fn token(text: &str) -> Option<&'static str> {
    let token = ["NaN", "Infinity", "-Infinity"].into_iter().find(|it| text.starts_with(it))?;
    let next = text.as_bytes().get(token.len()).copied();
    next.is_none_or(|it| matches!(it, b',' | b']' | b'}') || is_space(it)).then_some(token)
}

/// The length of the string at the beginning of `text`, with its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_null(text: &str) -> Option<String> {
        replace_nonfinite(text, |_| "null")
    }

    #[test]
    fn numbers_that_json_lacks_are_found_outside_of_strings() {
        for (text, expected) in [
            ("NaN", Some("null")),
            (" -Infinity\n", Some(" null\n")),
            ("[NaN,Infinity , -Infinity]", Some("[null,null , null]")),
            (
                r#"{"NaN":NaN,"é\"Infinity":[1,-2,"NaN"]}"#,
                Some(r#"{"NaN":null,"é\"Infinity":[1,-2,"NaN"]}"#),
            ),
            (r#"{"a\\":NaN}"#, Some(r#"{"a\\":null}"#)),
            (r#"["NaN","a\\\"NaN"]"#, None),
            ("1NaN", None),
            ("[NaNs]", None),
            ("--Infinity", None),
            ("the InfinityNaN é", None),
            ("\"NaN", None),
            ("", None),
        ] {
            assert_eq!(with_null(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn each_is_told_from_the_others() {
        let replaced = replace_nonfinite("[NaN,-Infinity,Infinity]", |token| match token {
            "NaN" => "0",
            "Infinity" => "1",
            _ => "-1",
        });
        assert_eq!(replaced.as_deref(), Some("[0,-1,1]"));
    }
}
