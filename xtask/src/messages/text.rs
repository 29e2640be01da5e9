//! Tells messages from other literals by their text.

/// The first words of SQL statements and of their parts.
const SQL: [&str; 14] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "PRAGMA", "BEGIN", "WITH",
    "WHERE", "ORDER", "AND", "ON",
];

/// Whether a literal has at least two words with a blank between them, and is neither SQL nor code
/// nor a bare list of names.
pub(super) fn is_message(text: &str) -> bool {
    text.split_whitespace().filter(|part| is_word(part)).count() >= 2
        && !is_sql(text)
        && !is_code(text)
        && !is_list(text)
}

/// Whether this part of a text is a word: letters, perhaps with an apostrophe or a hyphen, and with
/// punctuation around them. `snake_case`, `a::path` and `{placeholder}` are no words.
fn is_word(part: &str) -> bool {
    let bare = part.trim_matches(|c: char| !c.is_alphanumeric());
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '\'' | '’' | '-');
    let is_long_enough = bare.chars().count() >= 2 || matches!(bare, "a" | "I");
    is_long_enough && bare.chars().all(is_letter) && !part.contains(['{', '}'])
}

fn is_sql(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|first| SQL.contains(&first))
}

/// Whether a text is Python, JavaScript or HTTP that onecall writes: it assigns, declares, imports
/// or begins as a response does.
fn is_code(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_import = match first {
        "import" => text.trim_end().ends_with([';', '"']) || text.trim().contains('\n'),
        "from" => text.contains(" import "),
        _ => false,
    };
    let assigns = text.split_whitespace().take(4).any(|part| part == "=" || part == "=>");
    assigns
        || text == "use strict"
        || ["async", "def", "const", "export", "HTTP/1.1"].contains(&first)
        || is_import
}

/// Whether a text is names with commas between them, such as columns of a table.
fn is_list(text: &str) -> bool {
    let mut parts = text.split_whitespace().rev().skip(1);
    parts.all(|part| part.ends_with(','))
}

#[cfg(test)]
mod tests {
    use super::is_message;

    #[test]
    fn a_message_has_two_words() {
        for text in ["not found", "the server '{server}' is gone", "a {} file", "\nno output\n"] {
            assert!(is_message(text), "{text:?}");
        }
    }

    #[test]
    fn keys_paths_and_fragments_are_no_messages() {
        let fragments =
            ["", "max_tool_calls", "/proc/self", "{name}: {value}", ", ", "tools/list", "{} {}"];
        for text in fragments {
            assert!(!is_message(text), "{text:?}");
        }
    }

    #[test]
    fn code_is_no_message() {
        let code = [
            "from typing import Any",
            "import {{ call }} from \"client.js\";",
            "async def double of it",
            "some rows = await it",
            "id, client, kind",
        ];
        for text in code {
            assert!(!is_message(text), "{text:?}");
        }
        assert!(is_message("import tools from './servers', or call them by name"));
        assert!(is_message("from which it is started"));
    }

    #[test]
    fn sql_is_no_message() {
        assert!(!is_message("SELECT name FROM runs"));
        assert!(!is_message(" WHERE ended AND began"));
    }
}
