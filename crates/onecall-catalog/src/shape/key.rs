//! Which keys are names that somebody chose for a field, and which are data.

/// A longer key is no name.
const LONGEST: usize = 40;
/// Digits that a name has at most: `address2`, `sha1`, `utf16`.
const MOST_DIGITS: usize = 2;
/// From here on, letters of both cases mixed with digits are a token.
const TOKEN: usize = 16;

/// Names with more digits that everybody knows.
const KNOWN: [&str; 4] = ["sha256", "sha384", "sha512", "iso8601"];

/// Whether a key may be kept.
pub(super) fn is_name(key: &str) -> bool {
    let is_start = |it: char| it.is_ascii_alphabetic() || "_$@".contains(it);
    let is_rest = |it: char| it.is_ascii_alphanumeric() || "_$-".contains(it);
    let mut characters = key.chars();
    if !characters.next().is_some_and(is_start) || !characters.all(is_rest) || key.len() > LONGEST {
        return false;
    }
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = digits > 0
        && key.bytes().any(|it| it.is_ascii_uppercase())
        && key.bytes().any(|it| it.is_ascii_lowercase());
    KNOWN.contains(&key) || (digits <= MOST_DIGITS && !(is_mixed && key.len() >= TOKEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_data() {
        for name in ["id", "created_at", "Content-Type", "$ref", "@type", "_id", "line2", "sha256"]
        {
            assert!(is_name(name), "{name}");
        }
        for data in ["", "1", "E001", "2025-01-31", "a b", "a.b", "a@b.c", "/usr", "é", "x1y2z3"] {
            assert!(!is_name(data), "{data}");
        }
    }
}
