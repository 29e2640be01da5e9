//! Decides whether the text that was typed so far is a complete program.

/// Whether the text is complete. Python would wait for more lines after an open bracket or string,
/// a line that is continued, or a block without an empty line after it.
pub(super) fn is_complete(text: &str) -> bool {
    let Some(ending) = scan(text) else { return false };
    let last = text.rsplit('\n').next().unwrap_or_default();
    // An empty line ends a block.
    last.trim().is_empty() || !(ending.in_block || ending.character == ':')
}

/// The end of a text in which nothing is left open.
struct Ending {
    /// The last character that is code.
    character: char,
    /// Whether the last statement is part of a block, or is followed by one.
    in_block: bool,
}

fn scan(text: &str) -> Option<Ending> {
    let mut open = 0_usize;
    let mut ending = Ending { character: '\n', in_block: false };
    let mut begins_statement = true;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if character == '#' {
            rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or_default();
            continue;
        }
        if begins_statement && character != '\n' {
            ending.in_block = matches!(character, ' ' | '\t' | '@');
        }
        begins_statement = character == '\n' && open == 0;
        if matches!(character, '"' | '\'') {
            rest = after_string(rest, character)?;
            ending.character = character;
            continue;
        }
        match character {
            '\\' if matches!(rest.get(1..), Some("" | "\n")) => return None,
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            _ => {}
        }
        if !character.is_whitespace() {
            ending.character = character;
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    (open == 0).then_some(ending)
}

/// The text after the string at the start of `text`; `None` if the string does not end.
fn after_string(text: &str, quote: char) -> Option<&str> {
    let triple = quote.to_string().repeat(3);
    let (mut rest, closing) = match text.strip_prefix(&triple) {
        Some(rest) => (rest, triple.as_str()),
        None => (text.get(1..)?, triple.get(..1)?),
    };
    loop {
        if let Some(after) = rest.strip_prefix(closing) {
            return Some(after);
        }
        let mut characters = rest.chars();
        match characters.next() {
            Some('\\') => {
                characters.next();
            }
            // A syntax error, for which Python has the better message.
            Some('\n') | None if closing.len() == 1 => return Some(rest),
            None => return None,
            Some(_) => {}
        }
        rest = characters.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn whole_programs_and_beginnings() {
        let whole = [
            "1 + 1",
            "print('it\\'s')",
            "x = '''a\nb'''",
            "x = [1,\n 2]",
            "for i in x: print(i)",
            "for i in x:\n    print(i)\n",
            "for i in x:\n    print(i)\n\nprint(2)",
            "x = 1  # if this:",
            "'unclosed",
            "]",
            "",
        ];
        let begun = [
            "for i in x:",
            "for i in x:\n    print(i)",
            "f(1,",
            "x = '''a",
            "x = {'a': [",
            "x = 1 + \\",
            "@decorator",
            "if x:  # why",
        ];
        for text in whole {
            assert!(is_complete(text), "{text:?}");
        }
        for text in begun {
            assert!(!is_complete(text), "{text:?}");
        }
    }
}
