//! Converts names to the naming conventions of a language. The result is always an ASCII
//! identifier.

/// Replaces every character that is invalid in an identifier by an underscore.
#[must_use]
pub fn identifier(name: &str) -> String {
    let kept = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
    let name: String = name.chars().map(kept).collect();
    match name.is_empty() || name.starts_with(|it: char| it.is_ascii_digit()) {
        true => format!("_{name}"),
        false => name,
    }
}

/// Converts a name to camel case: `queryFinancials`.
#[must_use]
pub fn camel_case(name: &str) -> String {
    let mut words = words(name);
    let first = words.next().map(|word| change_first_letter(word, char::to_ascii_lowercase));
    let rest = words.map(|word| change_first_letter(word, char::to_ascii_uppercase));
    identifier(&first.into_iter().chain(rest).collect::<String>())
}

/// Converts a name to Pascal case: `QueryFinancials`.
pub(crate) fn pascal_case(name: &str) -> String {
    words(name).map(|word| change_first_letter(word, char::to_ascii_uppercase)).collect()
}

/// Converts a name to snake case: `query_financials`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for word in words(name) {
        if !snake.is_empty() {
            snake.push('_');
        }
        let mut before = None;
        let mut characters = word.chars().peekable();
        while let Some(character) = characters.next() {
            // A capital begins a word after a lower-case letter (`getUser`), and before one
            // (`HTTPServer`).
            let ends_capitals = characters.peek().is_some_and(char::is_ascii_lowercase);
            let is_start = character.is_ascii_uppercase()
                && before.is_some_and(|it: char| !it.is_ascii_uppercase() || ends_capitals);
            if is_start {
                snake.push('_');
            }
            snake.push(character.to_ascii_lowercase());
            before = Some(character);
        }
    }
    identifier(&snake)
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty())
}

fn change_first_letter(word: &str, change: fn(&char) -> char) -> String {
    let mut characters = word.chars();
    let first = characters.next().map(|it| change(&it));
    first.into_iter().chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_manner() {
        for (name, camel, pascal, snake) in [
            ("query_financials", "queryFinancials", "QueryFinancials", "query_financials"),
            ("queryFinancials", "queryFinancials", "QueryFinancials", "query_financials"),
            ("get-user.by-id", "getUserById", "GetUserById", "get_user_by_id"),
            ("List Orders", "listOrders", "ListOrders", "list_orders"),
            ("HTTPServer", "hTTPServer", "HTTPServer", "http_server"),
            ("2fa", "_2fa", "2fa", "_2fa"),
            ("größe 💰", "grE", "GrE", "gr_e"),
            ("", "_", "", "_"),
        ] {
            assert_eq!(camel_case(name), camel);
            assert_eq!(pascal_case(name), pascal);
            assert_eq!(snake_case(name), snake);
        }
    }
}
