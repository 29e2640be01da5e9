//! Texts with references to variables, as they are written and as they are read.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The value of a variable, which no message may show.
pub(crate) const SECRET: &str = "hunter2~\u{e9}";

pub(crate) const HOME: &str = "/home/ada";

pub(crate) fn environment(name: &str) -> Option<String> {
    match name {
        "HOME" => Some(HOME.into()),
        "SECRET" => Some(SECRET.into()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) written: String,
    pub(crate) expected: String,
}

impl Text {
    fn same(text: String) -> Self {
        Self { written: text.clone(), expected: text }
    }

    pub(crate) fn after(self, prefix: &str) -> Self {
        Self {
            written: format!("{prefix}{}", self.written),
            expected: format!("{prefix}{}", self.expected),
        }
    }

    /// Makes the text the name of a file, in which `~/` at the start means the home directory.
    pub(crate) fn naming_a_file(mut self) -> Self {
        if self.written.starts_with("~/") {
            self.expected.replace_range(..1, HOME);
        }
        self
    }
}

/// Any text without a NUL.
pub(crate) fn any_text() -> impl Strategy<Value = Text> {
    text(prop_oneof![
        3 => "[a-z0-9_./~$ -]{0,12}",
        1 => "[ -~]{0,20}",
        1 => vec(odd_character(), 0..8).prop_map(String::from_iter),
        1 => any::<String>(),
    ])
}

/// Text without control characters, for headers.
pub(crate) fn header_text() -> impl Strategy<Value = Text> {
    text(prop_oneof!["[ -~\t]{0,20}", "[a-zä☃😀]{0,9}"])
}

/// Text for the inside of a URL or a path.
pub(crate) fn dense_text() -> impl Strategy<Value = Text> {
    text("[a-z0-9_~$%ü-]{0,12}")
}

/// Characters that text formats treat in ways of their own.
fn odd_character() -> impl Strategy<Value = char> {
    select(vec![
        '\t',
        '\n',
        '\r',
        '\u{1}',
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        '\u{a0}',
        '\u{2028}',
        '\u{2029}',
        '\u{200b}',
        '\u{202e}',
        '\u{feff}',
        '\u{fffd}',
        '\u{ffff}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{1f600}',
        '\u{10ffff}',
        '"',
        '\'',
        '\\',
        '#',
        ':',
        '-',
        '?',
        '{',
        '}',
        '[',
        ']',
        ',',
        '&',
        '*',
        '!',
        '|',
        '>',
        '%',
        '@',
        '`',
        ' ',
        'é',
        '$',
        '~',
        '=',
        '<',
        '0',
        'n',
    ])
}

fn text(literal: impl Strategy<Value = String>) -> impl Strategy<Value = Text> {
    let variable = prop_oneof![
        Just(("${HOME}", HOME)),
        Just(("${SECRET}", SECRET)),
        Just(("${SECRET:-other}", SECRET)),
        Just(("${EMPTY}", "")),
        Just(("${EMPTY:-default}", "default")),
        Just(("${UNSET:-}", "")),
        Just(("${UNSET:-a:-b}", "a:-b")),
        Just(("${_x1:-{$}", "{$")),
    ];
    let variable = variable.prop_map(|(written, expected)| Text {
        written: written.to_owned(),
        expected: expected.to_owned(),
    });
    let literal = literal.prop_map(|text| Text::same(text.replace('\0', "")));
    let pieces = vec(prop_oneof![3 => literal, 1 => variable], 0..4);
    pieces.prop_map(|pieces| {
        let mut text = Text::same(String::new());
        for piece in pieces {
            // Two literals must not meet as a reference.
            if text.written.ends_with('$') && piece.written.starts_with('{') {
                continue;
            }
            let is_literal = piece.written == piece.expected;
            if is_literal && piece.written.contains("${") {
                continue;
            }
            text.written.push_str(&piece.written);
            text.expected.push_str(&piece.expected);
        }
        text
    })
}
