//! Writes values and strings of a server as Python literals on one line. The text cannot end the
//! literal, and contains no invisible characters.

use std::fmt::Write;

use onecall_core::text::chars_with_visibility;
use serde_json::Value;

/// The longest string that a signature shows.
pub(crate) const LONGEST_SHOWN: usize = 60;

/// A string in single quotes, as Python's `repr` writes it.
pub(crate) fn python_string(text: &str) -> String {
    quoted(text, '\'', |literal, character| {
        let code = u32::from(character);
        // Writing to a String cannot fail.
        let _ = match code {
            ..0x100 => write!(literal, "\\x{code:02x}"),
            0x100..0x1_0000 => write!(literal, "\\u{code:04x}"),
            _ => write!(literal, "\\U{code:08x}"),
        };
    })
}

/// A string in double quotes, valid in JSON and Python.
pub(crate) fn json_string(text: &str) -> String {
    quoted(text, '"', |literal, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(literal, "\\u{unit:04x}");
        }
    })
}

fn quoted(text: &str, quote: char, escape: fn(&mut String, char)) -> String {
    let mut literal = String::from(quote);
    for (character, is_visible) in chars_with_visibility(text) {
        match character {
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\\' => literal.push_str("\\\\"),
            _ if character == quote => literal.extend(['\\', quote]),
            _ if is_visible => literal.push(character),
            _ => escape(&mut literal, character),
        }
    }
    literal.push(quote);
    literal
}

/// A scalar or an empty container as a literal; `None` for a value that is too long to show.
pub(crate) fn python_literal(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("None".to_owned()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => is_short(text).then(|| python_string(text)),
        Value::Array(items) => items.is_empty().then(|| "[]".to_owned()),
        Value::Object(entries) => entries.is_empty().then(|| "{}".to_owned()),
    }
}

pub(crate) fn is_short(text: &str) -> bool {
    text.chars().nth(LONGEST_SHOWN).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out_of_a_string() {
        for (text, python, json) in [
            ("plain", r"'plain'", r#""plain""#),
            ("it's \"it\"", r#"'it\'s "it"'"#, r#""it's \"it\"""#),
            ("a\\", r"'a\\'", r#""a\\""#),
            ("a\nb\r\t", r"'a\nb\r\t'", r#""a\nb\r\t""#),
            ("\0\u{1b}[31m\u{7f}", r"'\x00\x1b[31m\x7f'", r#""\u0000\u001b[31m\u007f""#),
            ("\u{202e}\u{2066}\u{200f}", r"'\u202e\u2066\u200f'", r#""\u202e\u2066\u200f""#),
            ("\u{2028}\u{85}\u{feff}", r"'\u2028\x85\ufeff'", r#""\u2028\u0085\ufeff""#),
            ("\u{e0041}", r"'\U000e0041'", r#""\udb40\udc41""#),
            ("größe 💰 東京", "'größe 💰 東京'", "\"größe 💰 東京\""),
        ] {
            assert_eq!(python_string(text), python);
            assert_eq!(json_string(text), json);
            assert_eq!(
                serde_json::from_str::<String>(&json_string(text)).ok().as_deref(),
                Some(text)
            );
        }
    }
}
