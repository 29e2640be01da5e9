//! Shows the change of a file like a patch: only the lines around changes, with colours if the
//! output supports them.

use dialoguer::console::style;

use onecall_server::diff_lines;

/// How many lines are shown around a change.
const CONTEXT: usize = 3;

/// The difference between two contents of a file; texts in `hidden` are not shown.
pub(crate) fn unified_diff(path: &str, old: &str, new: &str, hidden: &[String]) -> String {
    let (old, new) = (without_last_break(old), without_last_break(new));
    let lines = diff_lines(old, new);
    let mut shown = format!("--- {path}\n+++ {path}\n");
    for line in shortened(&lines) {
        let line = hidden.iter().fold(line, |line, secret| line.replace(secret.as_str(), "***"));
        let coloured = match line.as_bytes().first() {
            Some(b'+') => style(&line).green(),
            Some(b'-') => style(&line).red(),
            Some(b'@') => style(&line).cyan(),
            _ => style(&line),
        };
        shown.push_str(&format!("{coloured}\n"));
    }
    shown
}

fn without_last_break(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// Leaves out lines that are far from any change.
fn shortened(lines: &[String]) -> Vec<String> {
    let is_change = |line: &String| line.starts_with(['+', '-']);
    let is_near = |index: usize| {
        let near = index.saturating_sub(CONTEXT)..(index + CONTEXT + 1).min(lines.len());
        lines.get(near).unwrap_or_default().iter().any(is_change)
    };
    let mut shown: Vec<String> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if is_near(index) {
            shown.push(line.clone());
        } else if shown.last().is_some_and(|last| last != "@@") {
            shown.push("@@".to_owned());
        }
    }
    shown.pop_if(|last| last == "@@");
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_a_change_is_shown() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nsecret s3\nn\no\np\nq\nr\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\ni\nj\nk\nl\nm\nsecret s3\nn\no\np\nq\nr\n";
        let shown = unified_diff("x.json", old, new, &["s3".to_owned()]);
        insta::assert_snapshot!(shown, @r"
        --- x.json
        +++ x.json
          b
          c
          d
        - e
        + E
          f
          g
          h
        @@
          j
          k
          l
        + m
          secret ***
          n
          o
        ");
    }
}
