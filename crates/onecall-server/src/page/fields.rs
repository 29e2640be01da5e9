//! The fields of a query or a form.

use std::fmt::Write;

use url::form_urlencoded;

/// Names with their values, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads a query or the body of a form.
    pub(super) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value with this name, without spaces around it; `None` if it is empty or missing.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).map(str::trim).filter(|value| !value.is_empty())
    }

    /// The first value with this name, as it was sent.
    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether nothing was sent.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All names with their values.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Every value with this name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A whole number with this name.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }

    /// The query with some values replaced, and those removed that are `None`. It begins with `?`.
    pub(super) fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
        let kept = self.0.iter().filter(|(name, value)| !is_changed(name) && !value.is_empty());
        for (name, value) in kept {
            query.append_pair(name, value);
        }
        for (name, value) in changes {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        format!("?{}", query.finish())
    }
}

/// A text as one segment of a path.
pub(super) fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

/// The text that one segment of a path stands for; `None` if it is not UTF-8.
pub(super) fn unescaped(segment: &str) -> Option<String> {
    // A plus sign in a path stands for itself.
    let query = segment.replace('+', "%2B");
    let parsed = form_urlencoded::parse(query.as_bytes()).next();
    let text = parsed.map(|(name, value)| match value.is_empty() {
        true => name.into_owned(),
        false => format!("{name}={value}"),
    })?;
    (!text.contains(char::REPLACEMENT_CHARACTER)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_keeps_what_is_not_changed() {
        let fields = Fields::parse(b"a=1&b=x+y&c=");
        assert_eq!(fields.get("b"), Some("x y"));
        assert_eq!(fields.get("c"), None);
        assert_eq!(fields.with(&[("a", None), ("d", Some("&"))]), "?b=x+y&d=%26");
    }

    #[test]
    fn every_text_can_be_a_segment() {
        for text in ["a", "a/b", "ä+ b%", "<x>?&=#", ".."] {
            let encoded = segment(text);
            assert!(!encoded.contains('/'), "{encoded}");
            assert_eq!(unescaped(&encoded).as_deref(), Some(text));
        }
    }
}
