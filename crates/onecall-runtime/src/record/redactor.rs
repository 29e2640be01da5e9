//! Takes secrets out of what is stored.

use std::borrow::Cow;

use onecall_core::Secret;

/// What stands where a secret was.
const REDACTED: &str = "[redacted]";

/// A secret of this length is taken out wherever it occurs.
const LONG: usize = 8;

/// A shorter one is taken out where it stands alone, and one below this is no secret but a
/// word or a number that programs are full of.
const SHORT: usize = 4;

/// Takes values out of texts that nobody but their user may see.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// The longest first, so that none is taken for a part of another.
    secrets: Vec<Secret>,
}

impl Redactor {
    /// A redactor that takes these values out.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets = Vec::new();
        for value in values {
            let value = value.trim();
            secrets.push(value.to_owned());
            // `Bearer abc`: what follows the scheme is the secret itself.
            secrets.extend(value.split_whitespace().skip(1).map(str::to_owned));
        }
        // As they look inside JSON.
        let escaped: Vec<_> = secrets.iter().map(|secret| in_json(secret)).collect();
        secrets.extend(escaped);
        secrets.retain(|secret| secret.chars().count() >= SHORT);
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets: secrets.into_iter().map(Secret::new).collect() }
    }

    /// Takes out those of another one, too.
    pub fn add(&mut self, other: Self) {
        let known = std::mem::take(&mut self.secrets);
        let all = known.iter().chain(&other.secrets).map(Secret::reveal);
        *self = Self::new(all);
    }

    /// The text without secrets. If it ends with `…`, it was cut off there, and the beginning of
    /// a secret that was cut in two is taken out as well.
    #[must_use]
    pub fn clean_cut(&self, text: String) -> String {
        let text = self.clean(text);
        let Some(kept) = text.strip_suffix('…') else { return text };
        let kept = self.secrets.iter().filter_map(|secret| without_beginning(kept, secret));
        match kept.min_by_key(|kept| kept.len()) {
            Some(kept) => format!("{kept}{REDACTED}…"),
            None => text,
        }
    }

    /// Whether a secret is in the text that is too long to be a common word.
    #[must_use]
    pub fn finds_in(&self, text: &str) -> bool {
        let is_long = |secret: &&Secret| secret.reveal().chars().count() >= LONG;
        self.secrets.iter().filter(is_long).any(|secret| text.contains(secret.reveal()))
    }

    /// The text without secrets.
    #[must_use]
    pub fn clean(&self, text: String) -> String {
        let mut text = text;
        for secret in &self.secrets {
            if let Cow::Owned(cleaned) = without(&text, secret.reveal()) {
                text = cleaned;
            }
        }
        text
    }
}

/// The text with `secret` replaced where it counts.
fn without<'a>(text: &'a str, secret: &str) -> Cow<'a, str> {
    let is_long = secret.chars().count() >= LONG;
    let mut cleaned = String::new();
    let mut kept = 0;
    for (at, _) in text.match_indices(secret) {
        let end = at + secret.len();
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(end..).and_then(|text| text.chars().next());
        let touches = |side: Option<char>| side.is_some_and(|it| it.is_alphanumeric() || it == '_');
        if is_long || !(touches(before) || touches(after)) {
            cleaned.push_str(text.get(kept..at).unwrap_or_default());
            cleaned.push_str(REDACTED);
            kept = end;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    cleaned.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(cleaned)
}

/// The text before the beginning of `secret` that it ends with, if that is a long one.
fn without_beginning<'a>(text: &'a str, secret: &Secret) -> Option<&'a str> {
    let secret = secret.reveal();
    let mut beginnings = (LONG..secret.len()).rev().filter_map(|end| secret.get(..end));
    beginnings.find_map(|beginning| text.strip_suffix(beginning))
}

/// The inside of a JSON string that says this.
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
            (r#"{"password": "p\"ss\\word"}"#, r#"{"password": "[redacted]"}"#),
            ("päss pässe", "[redacted] pässe"),
            ("nothing", "nothing"),
        ];
        for (text, expected) in cases {
            assert_eq!(redactor.clean(text.to_owned()), expected);
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
            assert_eq!(redactor.clean_cut(text.to_owned()), expected);
        }
    }

    #[test]
    fn a_redactor_does_not_tell() {
        let shown = format!("{:?}", Redactor::new(["sk-12345678"]));
        assert!(!shown.contains("sk-12345678"), "{shown}");
    }
}
