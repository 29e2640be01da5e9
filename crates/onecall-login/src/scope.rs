//! OAuth scopes: words for what a token allows.

/// The largest number and length of scopes that are accepted.
const MAX_SCOPES: usize = 100;
const MAX_SCOPE_BYTES: usize = 300;

/// Parses a list of scopes; invalid words are left out.
pub(crate) fn parse(text: &str) -> Vec<String> {
    let is_allowed = |byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    let is_scope = |word: &&str| word.len() <= MAX_SCOPE_BYTES && word.bytes().all(is_allowed);
    let words = text.split_ascii_whitespace().filter(is_scope).map(str::to_owned);
    union([&words.take(MAX_SCOPES).collect::<Vec<_>>()])
}

/// The union of all lists, in the order of first occurrence.
pub(crate) fn union<'a>(lists: impl IntoIterator<Item = &'a Vec<String>>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for scope in lists.into_iter().flatten() {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}
