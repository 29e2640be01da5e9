//! Tables that fit the width of a terminal.

use dialoguer::console::{Term, measure_text_width, truncate_str};

/// Formats rows in columns, each but the last as wide as its widest cell. On a terminal, the last
/// two columns share the remaining width.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    fit_to_width(rows, columns())
}

/// The width of the terminal, if stdout is one.
pub(crate) fn columns() -> Option<usize> {
    Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}

fn fit_to_width<const COLUMNS: usize>(rows: &[[String; COLUMNS]], width: Option<usize>) -> String {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = measure_text_width(cell).max(*width);
        }
    }
    if let (Some(total), [fixed @ .., first, last]) = (width, widths.as_mut_slice()) {
        let gaps = 2 * (COLUMNS - 1);
        let left = total.saturating_sub(fixed.iter().sum::<usize>() + gaps).max(20);
        if *first + *last > left {
            let half = left / 2;
            let least = (*last).min(half);
            *first = (*first).min(left - least);
            *last = (*last).min(left - *first);
        }
    }
    let mut table = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            let cell = truncate_str(cell, width, "…");
            let padding = width.saturating_sub(measure_text_width(&cell));
            format!("{cell}{}", " ".repeat(padding))
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [[String; 3]; 2] {
        [
            ["SERVER", "HOW", "FROM"].map(str::to_owned),
            ["time", "uvx mcp-server-time --local-timezone Europe/Berlin", "Claude Code, Cursor"]
                .map(str::to_owned),
        ]
    }

    #[test]
    fn a_table_fits_its_terminal() {
        insta::assert_snapshot!(fit_to_width(&rows(), Some(50)), @r"
        SERVER  HOW                    FROM
        time    uvx mcp-server-time …  Claude Code, Cursor
        ");
    }

    #[test]
    fn a_pipe_gets_everything() {
        insta::assert_snapshot!(fit_to_width(&rows(), None), @r"
        SERVER  HOW                                                 FROM
        time    uvx mcp-server-time --local-timezone Europe/Berlin  Claude Code, Cursor
        ");
    }
}
