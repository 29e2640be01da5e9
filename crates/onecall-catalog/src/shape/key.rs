//! Distinguishes keys that are field names from keys that are data.

/// The longest key that counts as a field name.
const MAX_LENGTH: usize = 40;
/// The largest number of digits in a field name: `address2`, `sha1`, `utf16`.
const MAX_DIGITS: usize = 2;
/// From this length on, a mixture of digits and letters of both cases is a token.
const MIN_TOKEN_LENGTH: usize = 16;

/// Well-known names with more digits.
const KNOWN_NAMES: [&str; 4] = ["sha256", "sha384", "sha512", "iso8601"];

/// Whether a key is a field name and may be stored.
pub(super) fn is_field_name(key: &str) -> bool {
    let is_start = |it: char| it.is_ascii_alphabetic() || "_$@".contains(it);
    let is_rest = |it: char| it.is_ascii_alphanumeric() || "_$-".contains(it);
    let mut characters = key.chars();
    if !characters.next().is_some_and(is_start)
        || !characters.all(is_rest)
        || key.len() > MAX_LENGTH
    {
        return false;
    }
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = digits > 0
        && key.bytes().any(|it| it.is_ascii_uppercase())
        && key.bytes().any(|it| it.is_ascii_lowercase());
    KNOWN_NAMES.contains(&key)
        || (digits <= MAX_DIGITS && !(is_mixed && key.len() >= MIN_TOKEN_LENGTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_data() {
        for name in ["id", "created_at", "Content-Type", "$ref", "@type", "_id", "line2", "sha256"]
        {
            assert!(is_field_name(name), "{name}");
        }
        for data in ["", "1", "E001", "2025-01-31", "a b", "a.b", "a@b.c", "/usr", "é", "x1y2z3"] {
            assert!(!is_field_name(data), "{data}");
        }
    }
}
