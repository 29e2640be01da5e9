//! Words of a server inside comments and docstrings. Whatever is in them, they end where
//! we end them, and show nothing that is invisible.

use std::fmt::Write;

use crate::literal::is_visible;

/// Characters and lines of one comment.
const MAX_CHARS: usize = 4_000;
const MAX_LINES: usize = 80;

/// A text as lines of plain characters, cut where it gets too long.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut characters = text.trim().chars().filter(|it| *it != '\r');
    for character in characters.by_ref().take(MAX_CHARS) {
        let is_last = lines.len() == MAX_LINES;
        let Some(line) = lines.last_mut() else { break };
        match character {
            '\n' if is_last => {
                line.push_str(" …");
                break;
            }
            '\n' => lines.push(String::new()),
            '\t' => line.push_str("    "),
            _ if is_visible(character) => line.push(character),
            // Writing to a String cannot fail.
            _ => _ = write!(line, "\\u{{{:x}}}", u32::from(character)),
        }
    }
    if characters.next().is_some()
        && let Some(line) = lines.last_mut()
        && !line.ends_with('…')
    {
        line.push_str(" …");
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines.retain({
        let mut before_is_empty = true;
        move |line| {
            let keep = !(line.is_empty() && before_is_empty);
            before_is_empty = line.is_empty();
            keep
        }
    });
    lines
}

/// `/** … */` with a line break after it; nothing for no lines.
pub(crate) fn jsdoc(lines: &[String], indent: &str) -> String {
    let safe = |line: &String| line.replace("*/", "*\\/");
    match lines {
        [] => String::new(),
        [line] => format!("{indent}/** {} */\n", safe(line)),
        lines => {
            let mut comment = format!("{indent}/**\n");
            for line in lines {
                comment.push_str(format!("{indent} * {}", safe(line)).trim_end());
                comment.push('\n');
            }
            comment + indent + " */\n"
        }
    }
}

/// `# …`, line by line.
pub(crate) fn hashes(lines: &[String], indent: &str) -> String {
    lines.iter().map(|line| format!("{indent}# {line}").trim_end().to_owned() + "\n").collect()
}

/// `"""…"""` with a line break after it; nothing for no lines.
pub(crate) fn docstring(lines: &[String], indent: &str) -> String {
    let safe = |line: &String| line.replace('\\', "\\\\").replace("\"\"", "\\\"\\\"");
    // Two backslashes are one that is meant, and escape nothing.
    let is_escaped = |start: &str| (start.len() - start.trim_end_matches('\\').len()) % 2 == 1;
    let last = |line: &str| match line.strip_suffix('"') {
        Some(start) if !is_escaped(start) => format!("{start}\\\""),
        _ => line.to_owned(),
    };
    match lines {
        [] => String::new(),
        [line] => format!("{indent}\"\"\"{}\"\"\"\n", last(&safe(line))),
        [first, rest @ ..] => {
            let mut text = format!("{indent}\"\"\"{}\n", safe(first));
            for line in rest {
                text.push_str(format!("{indent}{}", safe(line)).trim_end());
                text.push('\n');
            }
            text + indent + "\"\"\"\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_comment_early() {
        let text = lines("a */ b\u{2028}c\r\n\n\n\"\"\"d\\\u{202e}\"");
        assert_eq!(text, ["a */ b\\u{2028}c", "", "\"\"\"d\\\\u{202e}\""]);
        assert_eq!(
            jsdoc(&text, "  "),
            "  /**\n   * a *\\/ b\\u{2028}c\n   *\n   * \"\"\"d\\\\u{202e}\"\n   */\n"
        );
        assert_eq!(
            docstring(&text, ""),
            "\"\"\"a */ b\\\\u{2028}c\n\n\\\"\\\"\"d\\\\\\\\u{202e}\"\n\"\"\"\n"
        );
        assert_eq!(docstring(&lines("say \"hi\""), ""), "\"\"\"say \"hi\\\"\"\"\"\n");
        assert_eq!(docstring(&lines("\"\""), ""), "\"\"\"\\\"\\\"\"\"\"\n");
        assert_eq!(docstring(&lines(r#"a \""#), ""), format!("{}\n", r#""""a \\\"""""#));
        assert_eq!(hashes(&text, ""), "# a */ b\\u{2028}c\n#\n# \"\"\"d\\\\u{202e}\"\n");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(lines(&"x".repeat(10_000)).concat().chars().count(), MAX_CHARS + 2);
        assert_eq!(lines(&"x\n".repeat(1_000)).len(), MAX_LINES);
        assert!(lines("  \n ").concat().is_empty());
    }
}
