//! What a server that lets nobody in says about how to be let in.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

use crate::scope;

/// What a server wants to see with a request it refused.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A token.
    Token(Challenge),
    /// It does not say; a token is a good guess.
    Something,
    /// Something that we cannot get by logging in.
    Other,
}

/// A server's request for a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where it describes itself.
    pub resource_metadata: Option<String>,
    /// What the token must allow.
    pub scopes: Vec<String>,
    /// What was wrong with the token it got.
    pub error: Option<String>,
}

impl Wanted {
    /// Reads the headers of a refusal.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let mut wanted = Self::Something;
        for value in headers.get_all(WWW_AUTHENTICATE) {
            let text = String::from_utf8_lossy(value.as_bytes());
            if let Some(challenge) = bearer(&text) {
                return Self::Token(challenge);
            }
            wanted = Self::Other;
        }
        wanted
    }

    /// What it says about the token, if it wants one.
    pub(crate) fn into_challenge(self) -> Option<Challenge> {
        match self {
            Self::Token(challenge) => Some(challenge),
            Self::Something => Some(Challenge::default()),
            Self::Other => None,
        }
    }
}

/// The challenge of the scheme `Bearer` among those of a header.
fn bearer(text: &str) -> Option<Challenge> {
    let mut challenge = None;
    for item in items(text) {
        let (scheme, parameter) = split_scheme(item);
        match scheme {
            // Only the first one counts.
            Some(_) if challenge.is_some() => break,
            Some(scheme) if scheme.eq_ignore_ascii_case("bearer") => {
                challenge = Some(Challenge::default());
            }
            _ => {}
        }
        if let Some(challenge) = &mut challenge
            && let Some((name, value)) = parameter.split_once('=')
        {
            let value = unquoted(value.trim());
            match name.trim().to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => challenge.scopes = scope::read(&value),
                "error" => challenge.error = Some(value),
                _ => {}
            }
        }
    }
    challenge
}

/// What stands between commas, apart from those in quotes.
fn items(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                items.push(text.get(start..position).unwrap_or_default().trim());
                start = position + 1;
            }
            _ => {}
        }
    }
    items.push(text.get(start..).unwrap_or_default().trim());
    items
}

/// `Bearer realm="x"` begins a challenge, `scope="y"` goes on with one.
fn split_scheme(item: &str) -> (Option<&str>, &str) {
    let (head, rest) = item.split_once(char::is_whitespace).unwrap_or((item, ""));
    if head.is_empty() || head.contains('=') || rest.trim_start().starts_with('=') {
        (None, item)
    } else {
        (Some(head), rest.trim_start())
    }
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else { return value.to_owned() };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        text.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    text
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn wanted(values: &[&'static str]) -> Wanted {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_static(value));
        }
        Wanted::of(&headers)
    }

    #[test]
    fn challenges_as_servers_write_them() {
        let token = |metadata: Option<&str>, scopes: &[&str], error: Option<&str>| {
            Wanted::Token(Challenge {
                resource_metadata: metadata.map(str::to_owned),
                scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
                error: error.map(str::to_owned),
            })
        };
        let rows: [(&[&str], Wanted); 9] = [
            (&[], Wanted::Something),
            (&["Basic realm=\"x\""], Wanted::Other),
            (&["Bearer"], token(None, &[], None)),
            (&["bearer scope=one"], token(None, &["one"], None)),
            (
                &["Bearer resource_metadata=\"https://a/b,c\", scope=\"r  w\", error=\"oops\""],
                token(Some("https://a/b,c"), &["r", "w"], Some("oops")),
            ),
            (
                &["Basic realm=\"a, Bearer b\", Bearer realm=\"\\\"\", scope = \"s\""],
                token(None, &["s"], None),
            ),
            (&["Negotiate", "Bearer scope=\"s\""], token(None, &["s"], None)),
            (&["Bearer scope=\"a\", DPoP scope=\"b\""], token(None, &["a"], None)),
            (&["Bearer ,,,=,\"", ""], token(None, &[], None)),
        ];
        for (values, expected) in rows {
            assert_eq!(wanted(values), expected, "{values:?}");
        }
    }
}
