//! The token that a client has to show.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// A secret that is never kept: only its digest is.
#[derive(Clone)]
pub struct Token([u8; 32]);

/// A text that cannot be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a token is one or more visible ASCII characters, without spaces")]
pub struct InvalidToken;

impl Token {
    /// A token that can be sent in a header.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidToken);
        }
        Ok(Self(Sha256::digest(text.as_bytes()).into()))
    }

    /// Whether these headers show it, once.
    pub(super) fn is_shown_in(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return false;
        };
        let (scheme, shown) = match value.as_bytes().split_at_checked(7) {
            Some((scheme, shown)) => (scheme, shown),
            None => return false,
        };
        scheme.eq_ignore_ascii_case(b"bearer ") && self.is(shown.trim_ascii())
    }

    /// Takes the same time whatever is shown: digests are of one length, and every byte
    /// of them is looked at.
    fn is(&self, shown: &[u8]) -> bool {
        let shown: [u8; 32] = Sha256::digest(shown).into();
        let difference = self.0.iter().zip(shown).fold(0, |sum, (one, other)| sum | (one ^ other));
        std::hint::black_box(difference) == 0
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn only_one_header_with_the_whole_token_is_good() {
        let token = Token::new("s3cret-token").unwrap();
        let rows: [(&[&str], bool); 9] = [
            (&["Bearer s3cret-token"], true),
            (&["bearer  s3cret-token"], true),
            (&[], false),
            (&["Bearer s3cret-toke"], false),
            (&["Bearer s3cret-token2"], false),
            (&["Bearer "], false),
            (&["Basic s3cret-token"], false),
            (&["s3cret-token"], false),
            (&["Bearer s3cret-token", "Bearer s3cret-token"], false),
        ];
        for (values, expected) in rows {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_static(value));
            }
            assert_eq!(token.is_shown_in(&headers), expected, "{values:?}");
        }
    }

    #[test]
    fn a_token_fits_into_a_header() {
        for text in ["", "two words", "line\n", "schlüssel"] {
            assert_eq!(Token::new(text).err(), Some(InvalidToken), "{text:?}");
        }
    }
}
