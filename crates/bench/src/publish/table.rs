//! Parses Markdown tables, to check that they are well-formed.

/// Checks that every line has as many cells as the first and that no cell in the first column is
/// empty; returns the number of rows.
pub fn check(lines: &[&str]) -> Result<usize, String> {
    let (Some(head), Some(rule)) = (lines.first(), lines.get(1)) else {
        return Err("a table needs a head".to_owned());
    };
    let columns = cells(head)?.len();
    let is_rule = |cell: &str| !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':'));
    if !cells(rule)?.into_iter().all(is_rule) {
        return Err(format!("no rule below the head, but '{rule}'"));
    }
    for line in &lines[1..] {
        let cells = cells(line)?;
        if cells.len() != columns {
            return Err(format!("{} cells instead of {columns} in '{line}'", cells.len()));
        }
        if cells.first().is_none_or(|cell| cell.is_empty()) {
            return Err(format!("nothing is named in '{line}'"));
        }
    }
    match lines.len() - 2 {
        0 => Err("a table without figures".to_owned()),
        count => Ok(count),
    }
}

fn cells(line: &str) -> Result<Vec<&str>, String> {
    let inner = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    let inner = inner.ok_or_else(|| format!("'{line}' does not begin and end with |"))?;
    Ok(inner.split('|').map(str::trim).collect())
}

/// The tables in a text, each as its lines.
pub fn all(text: &str) -> Vec<Vec<&str>> {
    let mut tables: Vec<Vec<&str>> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let is_row = line.starts_with('|');
        if is_row && !inside {
            tables.push(Vec::new());
        }
        inside = is_row;
        if let Some(table) = tables.last_mut().filter(|_| is_row) {
            table.push(line);
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_told_from_what_is_none() {
        let error = |lines: &[&str]| check(lines).err().unwrap_or_default();
        assert_eq!(check(&["| work | a |", "|---|--:|", "| x | 1 ms |"]), Ok(1));
        assert_eq!(error(&["| work | a |", "|---|--:|"]), "a table without figures");
        assert_eq!(error(&["| a |", "|---|", "| 1 | 2 |"]), "2 cells instead of 1 in '| 1 | 2 |'");
        assert_eq!(error(&["| a |", "| b |"]), "no rule below the head, but '| b |'");
    }

    #[test]
    fn tables_are_found_between_other_lines() {
        let text = "a\n| 1 |\n|---|\n\n| 2 |\nb";
        assert_eq!(all(text), vec![vec!["| 1 |", "|---|"], vec!["| 2 |"]]);
    }
}
