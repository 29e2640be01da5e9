//! The bearer token that clients have to send.

use std::collections::BTreeSet;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use onecall_core::Digest;
use thiserror::Error;

/// The shortest token. Sixteen random hexadecimal digits are 64 bits: even at a hundred thousand
/// guesses a second, finding them takes millions of years. Shorter tokens tend to be words.
const MIN_LENGTH: usize = 16;

/// A token with fewer different characters than this is not random: sixteen random hexadecimal
/// digits have so few once in two million cases.
const MIN_DIFFERENT: usize = 5;

/// What examples and templates contain in place of a token, reduced to letters and digits.
const PLACEHOLDERS: [&str; 7] = [
    "changeme",
    "changethis",
    "replaceme",
    "replacewith",
    "placeholder",
    "yourtoken",
    "yoursecret",
];

/// A token, of which only the digest is kept.
#[derive(Clone)]
pub struct BearerToken([u8; 32]);

/// Why a text is not accepted as a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidToken {
    /// The text could not be sent in a header.
    #[error("a token consists of visible ASCII characters, without spaces; {ADVICE}")]
    NotSendable,
    /// The text is so short that it could be found by trying.
    #[error(
        "a token of {length} characters can be guessed: it needs at least {MIN_LENGTH}; {ADVICE}"
    )]
    TooShort {
        /// The number of characters in the text.
        length: usize,
    },
    /// The text has too few different characters.
    #[error(
        "a token of so few different characters can be guessed: it needs at least \
         {MIN_DIFFERENT}; {ADVICE}"
    )]
    Repetitive,
    /// The text was copied from an example.
    #[error("a token with '{word}' in it looks like one of an example; {ADVICE}")]
    Placeholder {
        /// The word that examples contain.
        word: &'static str,
    },
}

const ADVICE: &str = "`openssl rand -hex 32` prints a good one";

impl BearerToken {
    /// Accepts a text as a token if it can be sent in a header and is hard to guess.
    ///
    /// # Errors
    /// If the text is not acceptable.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidToken::NotSendable);
        }
        if text.len() < MIN_LENGTH {
            return Err(InvalidToken::TooShort { length: text.len() });
        }
        if text.bytes().collect::<BTreeSet<u8>>().len() < MIN_DIFFERENT {
            return Err(InvalidToken::Repetitive);
        }
        let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
        let plain = plain.to_ascii_lowercase();
        if let Some(word) = PLACEHOLDERS.into_iter().find(|word| plain.contains(word)) {
            return Err(InvalidToken::Placeholder { word });
        }
        Ok(Self(Digest::of(text).into_bytes()))
    }

    /// Whether the headers contain this token exactly once.
    pub(super) fn is_sent_in(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return false;
        };
        let (scheme, sent) = match value.as_bytes().split_at_checked(7) {
            Some((scheme, sent)) => (scheme, sent),
            None => return false,
        };
        scheme.eq_ignore_ascii_case(b"bearer ") && self.matches(sent.trim_ascii())
    }

    /// The SHA-256 digest of the token.
    pub(crate) fn digest(&self) -> Digest {
        Digest::from_bytes(self.0)
    }

    /// Compares in constant time: digests have the same length, and every byte is compared.
    pub(crate) fn matches(&self, sent: &[u8]) -> bool {
        let sent = Digest::of(sent).into_bytes();
        let difference = self.0.iter().zip(sent).fold(0, |sum, (one, other)| sum | (one ^ other));
        std::hint::black_box(difference) == 0
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn only_one_header_with_the_whole_token_is_good() {
        let token = BearerToken::new("s3cret-token-of-mine").unwrap();
        let rows: [(&[&str], bool); 9] = [
            (&["Bearer s3cret-token-of-mine"], true),
            (&["bearer  s3cret-token-of-mine"], true),
            (&[], false),
            (&["Bearer s3cret-token-of-min"], false),
            (&["Bearer s3cret-token-of-mine2"], false),
            (&["Bearer "], false),
            (&["Basic s3cret-token-of-mine"], false),
            (&["s3cret-token-of-mine"], false),
            (&["Bearer s3cret-token-of-mine", "Bearer s3cret-token-of-mine"], false),
        ];
        for (values, expected) in rows {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_static(value));
            }
            assert_eq!(token.is_sent_in(&headers), expected, "{values:?}");
        }
    }

    #[test]
    fn a_token_fits_into_a_header_and_cannot_be_guessed() {
        let refusal = |text: &str| BearerToken::new(text).err();
        for text in [
            "",
            "   ",
            "two words of a sentence",
            "line of many characters\n",
            "schlüsselschlüssel",
        ] {
            assert_eq!(refusal(text), Some(InvalidToken::NotSendable), "{text:?}");
        }
        assert_eq!(refusal("0123456789abcde"), Some(InvalidToken::TooShort { length: 15 }));
        assert_eq!(refusal("0123456789abcdef"), None);
        assert_eq!(refusal("abababababababababab"), Some(InvalidToken::Repetitive));
        for (text, word) in [
            ("Change-Me-Change-Me", "changeme"),
            ("<your_token_goes_here>", "yourtoken"),
            ("REPLACE_WITH_A_TOKEN", "replacewith"),
        ] {
            assert_eq!(refusal(text), Some(InvalidToken::Placeholder { word }), "{text:?}");
        }
    }
}
