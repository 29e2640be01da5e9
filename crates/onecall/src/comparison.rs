//! Two texts line by line, for a person who has to decide about the difference. The
//! texts come from a server that may want to hide something in them.

use onecall_core::text::visible_line;

/// Texts whose lines multiply to more are not searched for what they have in common.
const MAX_PAIRS: usize = 4_000_000;

/// The lines of both texts, marked with `-`, `+` or a space; nothing if they are equal.
pub(crate) fn compared(old: &str, new: &str) -> Vec<String> {
    if old == new {
        return Vec::new();
    }
    let lines = |text: &str| -> Vec<String> {
        if text.is_empty() {
            Vec::new()
        } else {
            text.split('\n').map(|line| visible_line(line).into_owned()).collect()
        }
    };
    let (old, new) = (lines(old), lines(new));
    let shared = shared_lines(&old, &new);
    let mut marked = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    for (in_old, in_new) in shared.into_iter().chain([(old.len(), new.len())]) {
        let removed = old.get(at_old..in_old).unwrap_or_default();
        let added = new.get(at_new..in_new).unwrap_or_default();
        marked.extend(removed.iter().map(|line| format!("- {line}")));
        marked.extend(added.iter().map(|line| format!("+ {line}")));
        marked.extend(old.get(in_old).map(|line| format!("  {line}")));
        (at_old, at_new) = (in_old + 1, in_new + 1);
    }
    marked
}

/// Where a longest common subsequence of lines stands in both.
fn shared_lines(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        return Vec::new();
    }
    // How many lines can be shared from each pair of positions on.
    let mut shared = vec![0_u32; (old.len() + 1) * width];
    let get = |shared: &[u32], row: usize, column: usize| {
        shared.get(row * width + column).copied().unwrap_or_default()
    };
    for (row, one) in old.iter().enumerate().rev() {
        for (column, other) in new.iter().enumerate().rev() {
            let most = match one == other {
                true => get(&shared, row + 1, column + 1) + 1,
                false => get(&shared, row + 1, column).max(get(&shared, row, column + 1)),
            };
            if let Some(cell) = shared.get_mut(row * width + column) {
                *cell = most;
            }
        }
    }
    let mut pairs = Vec::new();
    let (mut row, mut column) = (0, 0);
    while let (Some(one), Some(other)) = (old.get(row), new.get(column)) {
        if one == other {
            pairs.push((row, column));
            (row, column) = (row + 1, column + 1);
        } else if get(&shared, row + 1, column) >= get(&shared, row, column + 1) {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marked_by_where_they_are() {
        assert_eq!(compared("a\nb\nc", "a\nx\nc\nd"), ["  a", "- b", "+ x", "  c", "+ d"]);
        assert_eq!(compared("", "a"), ["+ a"]);
        assert_eq!(compared("a", ""), ["- a"]);
        assert_eq!(compared("a", "a"), [""; 0]);
        let many = |word: &str| [word; 3_000].join("\n");
        assert_eq!(compared(&many("a"), &many("b")).len(), 6_000);
    }
}
