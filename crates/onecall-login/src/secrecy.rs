//! Random values, PKCE challenges, and comparison in constant time.

use std::fs::File;
use std::io::{self, Read};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onecall_core::Digest;

/// A random text of 256 bits, in 43 letters, digits, `-` and `_`.
///
/// # Errors
/// If the system provides no random numbers.
pub fn random_text() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The PKCE challenge for a verifier.
#[must_use]
pub fn challenge_for(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Digest::of(verifier).into_bytes())
}

/// Compares two texts in a time that does not depend on where they differ.
pub(crate) fn constant_time_eq(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    one.len() == other.len() && pairs.fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_the_hash_of_its_verifier() {
        // The example of RFC 7636.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge_for(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn no_two_are_the_same() {
        let (one, other) = (random_text().unwrap(), random_text().unwrap());
        assert_eq!(one.len(), 43);
        assert!(
            one != other && !constant_time_eq(&one, &other) && constant_time_eq(&one, &one.clone())
        );
        assert!(!constant_time_eq(&one, &one[..42]));
    }
}
