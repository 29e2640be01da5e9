//! Removes secrets from texts before they are stored or shown.

use std::borrow::Cow;

use onecall_core::Secret;

/// A secret of at least this many characters is removed wherever it occurs.
const LONG_SECRET_LENGTH: usize = 8;

/// A shorter secret is removed only where it stands alone. A value below this length is not treated
/// as a secret: it is a word or a number that occurs everywhere.
const MIN_SECRET_LENGTH: usize = 4;

/// Values of settings that occur in every program and every JSON text; they are not treated as secrets.
const COMMON_WORDS: [&str; 4] = ["true", "false", "null", "none"];

/// Removes a set of secret values from texts.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// Sorted by length, longest first, so that a secret which contains another is removed as a
    /// whole.
    secrets: Vec<Secret>,
}

impl Redactor {
    /// The text that replaces a secret.
    pub const REPLACEMENT: &str = "[redacted]";

    /// Creates a redactor that removes these values.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets = Vec::new();
        for value in values {
            let value = value.trim();
            secrets.push(value.to_owned());
            // In `Bearer abc` the word after the scheme is a secret by itself.
            secrets.extend(value.split_whitespace().skip(1).map(str::to_owned));
        }
        // Each secret also as it appears inside a JSON string.
        let escaped: Vec<_> = secrets.iter().map(|secret| in_json(secret)).collect();
        secrets.extend(escaped);
        secrets.retain(|secret| {
            let is_common = COMMON_WORDS.iter().any(|word| secret.eq_ignore_ascii_case(word));
            secret.chars().count() >= MIN_SECRET_LENGTH && !is_common
        });
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets: secrets.into_iter().map(Secret::new).collect() }
    }

    /// Adds the secrets of another redactor.
    pub fn add(&mut self, other: Self) {
        let known = std::mem::take(&mut self.secrets);
        let all = known.iter().chain(&other.secrets).map(Secret::reveal);
        *self = Self::new(all);
    }

    /// Removes secrets from the text. If the text ends with `…`, it was cut there, and a secret of
    /// which only the beginning is left is removed as well.
    #[must_use]
    pub fn redact_truncated(&self, text: String) -> String {
        let text = self.redact(text);
        let Some(kept) = text.strip_suffix('…') else { return text };
        let kept = self.secrets.iter().filter_map(|secret| without_beginning(kept, secret));
        match kept.min_by_key(|kept| kept.len()) {
            Some(kept) => format!("{kept}{}…", Self::REPLACEMENT),
            None => text,
        }
    }

    /// Whether the text contains a secret that is too long to be a common word.
    #[must_use]
    pub fn finds_secret_in(&self, text: &str) -> bool {
        let is_long = |secret: &&Secret| secret.reveal().chars().count() >= LONG_SECRET_LENGTH;
        self.secrets.iter().filter(is_long).any(|secret| text.contains(secret.reveal()))
    }

    /// Removes secrets from the text.
    #[must_use]
    pub fn redact(&self, text: String) -> String {
        let mut text = text;
        for secret in &self.secrets {
            if let Cow::Owned(cleaned) = without(&text, secret.reveal()) {
                text = cleaned;
            }
        }
        text
    }
}

/// The text with each occurrence of `secret` replaced; a short one only where it stands alone.
fn without<'a>(text: &'a str, secret: &str) -> Cow<'a, str> {
    let is_long = secret.chars().count() >= LONG_SECRET_LENGTH;
    let mut cleaned = String::new();
    let mut kept = 0;
    for (at, _) in text.match_indices(secret) {
        let end = at + secret.len();
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(end..).and_then(|text| text.chars().next());
        let touches = |side: Option<char>| side.is_some_and(|it| it.is_alphanumeric() || it == '_');
        if is_long || !(touches(before) || touches(after)) {
            cleaned.push_str(text.get(kept..at).unwrap_or_default());
            cleaned.push_str(Redactor::REPLACEMENT);
            kept = end;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    cleaned.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(cleaned)
}

/// If the text ends with the beginning of a long `secret`, the text before that.
fn without_beginning<'a>(text: &'a str, secret: &Secret) -> Option<&'a str> {
    let secret = secret.reveal();
    let mut beginnings =
        (LONG_SECRET_LENGTH..secret.len()).rev().filter_map(|end| secret.get(..end));
    beginnings.find_map(|beginning| text.strip_suffix(beginning))
}

/// The text as it appears inside a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inside = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    inside.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_and_words_stay() {
        let redactor = Redactor::new([
            "Bearer sk-12345678",
            "sk-1234567890",
            "prod",
            "1",
            "",
            "p\"ss\\word\n",
            "päss",
            "True",
        ]);
        let cases = [
            ("key = 'sk-12345678'", "key = '[redacted]'"),
            ("xsk-12345678x", "x[redacted]x"),
            ("sk-1234567890", "[redacted]"),
            ("Bearer sk-12345678!", "[redacted]!"),
            (
                "production prod reprod prod_1 (prod)",
                "production [redacted] reprod prod_1 ([redacted])",
            ),
            ("1 + 1", "1 + 1"),
            ("True true", "True true"),
            (r#"{"password": "p\"ss\\word"}"#, r#"{"password": "[redacted]"}"#),
            ("päss pässe", "[redacted] pässe"),
            ("nothing", "nothing"),
        ];
        for (text, expected) in cases {
            assert_eq!(redactor.redact(text.to_owned()), expected);
        }
    }

    #[test]
    fn a_secret_that_was_cut_in_two_goes_as_well() {
        let redactor = Redactor::new(["swordfish-12345", "prod"]);
        let cases = [
            ("key swordfish-12345…", "key [redacted]…"),
            ("key swordfish-123…", "key [redacted]…"),
            ("key swordfis…", "key [redacted]…"),
            ("key swordfi…", "key swordfi…"),
            ("key swordfish-123", "key swordfish-123"),
            ("swordfish-12 and more…", "swordfish-12 and more…"),
        ];
        for (text, expected) in cases {
            assert_eq!(redactor.redact_truncated(text.to_owned()), expected);
        }
    }

    #[test]
    fn a_redactor_does_not_tell() {
        let shown = format!("{:?}", Redactor::new(["sk-12345678"]));
        assert!(!shown.contains("sk-12345678"), "{shown}");
    }
}
