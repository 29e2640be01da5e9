//! Parses the `WWW-Authenticate` header of a server that rejected a request without a valid token.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

use crate::scope;

/// The authentication that a server requires after it rejected a request.
#[derive(Debug, PartialEq, Eq)]
pub enum AuthRequirement {
    /// The server requires a token.
    Token(Challenge),
    /// The server does not say what it requires; a token is likely.
    Unspecified,
    /// The server requires something that a login cannot provide.
    Unsupported,
}

/// A server's request for a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The URL of the server's metadata.
    pub resource_metadata: Option<String>,
    /// The scopes that the token must have.
    pub scopes: Vec<String>,
    /// The error in the token that was sent.
    pub error: Option<String>,
}

impl AuthRequirement {
    /// Reads the headers of a response that rejected a request.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let mut requirement = Self::Unspecified;
        for value in headers.get_all(WWW_AUTHENTICATE) {
            let text = String::from_utf8_lossy(value.as_bytes());
            if let Some(challenge) = bearer(&text) {
                return Self::Token(challenge);
            }
            requirement = Self::Unsupported;
        }
        requirement
    }

    /// The details about the token, if the server requires one.
    pub(crate) fn into_challenge(self) -> Option<Challenge> {
        match self {
            Self::Token(challenge) => Some(challenge),
            Self::Unspecified => Some(Challenge::default()),
            Self::Unsupported => None,
        }
    }
}

/// The challenge with the scheme `Bearer` in a header value.
fn bearer(text: &str) -> Option<Challenge> {
    let mut challenge = None;
    for item in items(text) {
        let (scheme, parameter) = split_scheme(item);
        match scheme {
            // Only the first such challenge is used.
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
                "scope" => challenge.scopes = scope::parse(&value),
                "error" => challenge.error = Some(value),
                _ => {}
            }
        }
    }
    challenge
}

/// Splits a text at commas outside of quotes.
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

/// Splits the scheme off an item: `Bearer realm="x"` begins a challenge, `scope="y"` continues one.
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

    fn requirement(values: &[&'static str]) -> AuthRequirement {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_static(value));
        }
        AuthRequirement::of(&headers)
    }

    #[test]
    fn challenges_as_servers_write_them() {
        let token = |metadata: Option<&str>, scopes: &[&str], error: Option<&str>| {
            AuthRequirement::Token(Challenge {
                resource_metadata: metadata.map(str::to_owned),
                scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
                error: error.map(str::to_owned),
            })
        };
        let rows: [(&[&str], AuthRequirement); 9] = [
            (&[], AuthRequirement::Unspecified),
            (&["Basic realm=\"x\""], AuthRequirement::Unsupported),
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
            assert_eq!(requirement(values), expected, "{values:?}");
        }
    }
}
