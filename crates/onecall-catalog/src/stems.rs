//! Splits text into the words and stems that the search compares.

/// The number of characters of a word that are used; longer ones are not words.
const WORD_CHARS: usize = 40;

/// The words of an identifier or of prose, unchanged.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The stems of a word's parts (`getHTTPStatus2` has `get`, `http`, `status`, `2`) and, if it has
/// several, of the whole word too, so that `github` matches `GitHub`.
pub(crate) fn stems(word: &str) -> Vec<String> {
    let characters: Vec<char> = word.chars().take(WORD_CHARS).collect();
    let mut parts = vec![String::new()];
    for (at, &character) in characters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| characters.get(before).copied());
        let after = characters.get(at + 1).copied();
        if before.is_some_and(|before| starts_part(before, character, after)) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.extend(character.to_lowercase());
        }
    }
    let whole = (parts.len() > 1).then(|| parts.concat());
    parts.into_iter().chain(whole).map(stem).collect()
}

fn starts_part(before: char, character: char, after: Option<char>) -> bool {
    if before.is_numeric() != character.is_numeric() {
        return true;
    }
    let ends_acronym = before.is_uppercase() && after.is_some_and(char::is_lowercase);
    character.is_uppercase() && (before.is_lowercase() || ends_acronym)
}

/// Removes plurals and the endings `-ing`, `-ed`, `-e` and `-y` of English words, so that `queries`
/// matches `query` and `created` matches `create`. The result need not be a word; it only has to be
/// equal for equal words.
fn stem(mut word: String) -> String {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    strip_plural(&mut word);
    strip_verb_ending(&mut word);
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    } else if word.len() > 3 && word.ends_with('y') && !vowel_at_end(word.trim_end_matches('y')) {
        word.pop();
        word.push('i');
    }
    word
}

fn strip_plural(word: &mut String) {
    if word.ends_with("ies") || word.ends_with("sses") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
}

fn strip_verb_ending(word: &mut String) {
    if word.ends_with("ied") && word.len() > 4 {
        word.truncate(word.len() - 2);
        return;
    }
    let Some(root) = word
        .strip_suffix("ing")
        .or_else(|| word.strip_suffix("ed").filter(|root| !root.ends_with('e')))
        .filter(|root| root.len() > 2 && root.contains(['a', 'e', 'i', 'o', 'u', 'y']))
    else {
        return;
    };
    let mut root = root.to_owned();
    let doubled = root.chars().last().filter(|last| !matches!(last, 'l' | 's' | 'z'));
    if doubled.is_some_and(|last| root.ends_with(&format!("{last}{last}"))) {
        root.pop();
    }
    *word = root;
}

fn vowel_at_end(text: &str) -> bool {
    text.ends_with(['a', 'e', 'i', 'o', 'u'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_fall_apart_into_their_words() {
        for (text, expected) in [
            ("list_orders", vec!["list", "order"]),
            ("list-orders.v2", vec!["list", "order", "v", "2", "v2"]),
            ("listOrders", vec!["list", "order", "listorder"]),
            ("getHTTPStatus", vec!["get", "http", "status", "gethttpstatus"]),
            ("S3", vec!["s", "3", "s3"]),
            ("  ", vec![]),
            ("Größe ändern", vec!["größe", "ändern"]),
        ] {
            assert_eq!(words(text).flat_map(stems).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for forms in [
            vec!["order", "orders", "ordered", "ordering"],
            vec!["create", "creates", "created", "creating"],
            vec!["query", "queries", "queried", "querying"],
            vec!["movie", "movies"],
            vec!["box", "boxes"],
            vec!["search", "searches", "searching", "searched"],
            vec!["run", "runs", "running"],
            vec!["fill", "filled", "filling"],
            vec!["address", "addresses"],
            vec!["status", "statuses"],
            vec!["key", "keys"],
        ] {
            let stems: Vec<_> = forms.iter().map(|form| stem((*form).to_owned())).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{forms:?} → {stems:?}");
        }
    }

    #[test]
    fn short_words_stay_as_they_are() {
        for word in ["string", "bring", "feed", "class", "this", "bus", "day", "été"] {
            assert_eq!(stem(word.to_owned()), word);
        }
    }
}
