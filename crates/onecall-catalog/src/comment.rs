//! Writes text of a server into comments and docstrings. The text cannot end the comment, and
//! contains no invisible characters.

use onecall_core::text::readable;

use crate::shown_definition::DESCRIPTION_TOKENS;

/// The largest number of lines in one comment.
const MAX_LINES: usize = 80;

/// Splits a text into lines that are safe to show, and cuts it if it is too long.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let text = readable(text.trim(), DESCRIPTION_TOKENS).replace('\t', "    ");
    let mut all = text.lines().map(|line| line.trim_end().to_owned());
    let mut lines: Vec<String> = all.by_ref().take(MAX_LINES).collect();
    if let (Some(_), Some(last)) = (all.next(), lines.last_mut()) {
        last.push_str(" …");
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

/// A JSDoc comment `/** … */` with a line break after it; empty if there are no lines.
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

/// Lines of a comment with `# ` in front.
pub(crate) fn hash_comment(lines: &[String], indent: &str) -> String {
    lines.iter().map(|line| format!("{indent}# {line}").trim_end().to_owned() + "\n").collect()
}

/// A docstring `"""…"""` with a line break after it; empty if there are no lines.
pub(crate) fn docstring(lines: &[String], indent: &str) -> String {
    let safe = |line: &String| line.replace('\\', "\\\\").replace("\"\"", "\\\"\\\"");
    // A pair of backslashes is an escaped backslash and does not escape what follows.
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
        assert_eq!(hash_comment(&text, ""), "# a */ b\\u{2028}c\n#\n# \"\"\"d\\\\u{202e}\"\n");
    }

    #[test]
    fn long_texts_are_cut() {
        let long = lines(&"x".repeat(10_000)).concat();
        assert!(long.ends_with("x … (cut: about 1,358 of 3,334 tokens)"), "{long}");
        assert_eq!(lines(&"x\n".repeat(1_000)).len(), MAX_LINES);
        assert!(lines("  \n ").concat().is_empty());
    }
}
