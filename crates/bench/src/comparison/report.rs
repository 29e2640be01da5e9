//! The comparison as a table and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::entrant::PYTHON;
use super::{Cell, Comparison, Row};
use crate::rounds::{Ratio, Samples};
use crate::section::Verdict;

/// How much of each cell is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Medians,
    /// The median and the quartiles.
    Spread,
}

impl Comparison {
    /// One row for each kind of work, one column for each entrant: the median, the quartiles if
    /// wanted, and the ratio to the default engine of onecall.
    pub fn to_markdown(&self, detail: Detail) -> String {
        let mut text = String::from("| work |");
        for (name, _) in &self.entrants {
            let _ = write!(text, " {name} |");
        }
        text.push_str("\n|---|");
        text.push_str(&"--:|".repeat(self.entrants.len()));
        text.push('\n');
        for row in &self.rows {
            let _ = write!(text, "| {} |", row.name);
            for index in 0..self.entrants.len() {
                let _ = write!(text, " {} |", self.cell(row, index, detail));
            }
            text.push('\n');
        }
        text
    }

    /// Explains the entrants, and how not to read the table.
    pub fn legend(&self) -> String {
        let mut text = String::new();
        for (name, about) in &self.entrants {
            let _ = writeln!(text, "- **{name}**: {about}.");
        }
        for entrant in &self.unavailable {
            let _ = writeln!(text, "- Not here: {entrant}.");
        }
        for note in &self.notes {
            let _ = writeln!(text, "- **{note}**");
        }
        for (row, name, error) in self.failures() {
            let _ = writeln!(text, "- **{name}** failed at “{row}”: {error}.");
        }
        text
    }

    fn cell(&self, row: &Row, index: usize, detail: Detail) -> String {
        match row.cells.get(index) {
            Some(Cell::Measured(samples)) => {
                let show = |share: f64| row.unit.show(samples.quantile(share));
                let mut cell = show(0.5);
                if detail == Detail::Spread {
                    let _ = write!(cell, " ({} – {})", show(0.25), show(0.75));
                }
                if let Some(ratio) = self.ratio(row, index) {
                    let _ = write!(cell, ", {}", format_ratio(ratio.value));
                }
                cell
            }
            Some(Cell::Failed(_)) => "failed".to_owned(),
            Some(Cell::None) | None => "–".to_owned(),
        }
    }

    /// The ratio to the default engine of onecall; `None` for that engine itself.
    pub fn ratio(&self, row: &Row, index: usize) -> Option<Ratio> {
        let ours = self.column(PYTHON)?;
        let samples = row.samples(index).filter(|_| index != ours)?;
        let ratio = Ratio::of(samples, row.samples(ours)?);
        ratio.value.is_finite().then_some(ratio)
    }

    /// The index of an entrant, if it was available.
    pub fn column(&self, entrant: &str) -> Option<usize> {
        self.entrants.iter().position(|(name, _)| *name == entrant)
    }

    fn failures(&self) -> Vec<(&str, &str, &str)> {
        let mut failures = Vec::new();
        for row in &self.rows {
            for ((name, _), cell) in self.entrants.iter().zip(&row.cells) {
                if let Cell::Failed(error) = cell {
                    failures.push((row.name, *name, error.as_str()));
                }
            }
        }
        failures
    }

    pub fn to_json(&self) -> Value {
        let entrants: Vec<Value> = self
            .entrants
            .iter()
            .map(|(name, about)| json!({ "name": name, "about": about }))
            .collect();
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row(row)).collect();
        let verdicts: Vec<Value> = self.verdicts().iter().map(Verdict::to_json).collect();
        json!({
            "entrants": entrants, "work": rows, "targets": verdicts,
            "absent": self.unavailable, "notes": self.notes,
        })
    }

    fn row(&self, row: &Row) -> Value {
        let cells = self.entrants.iter().enumerate().zip(&row.cells);
        let cells: Vec<Value> = cells
            .map(|((index, (name, _)), cell)| match cell {
                Cell::Measured(samples) => json!({
                    "entrant": name,
                    "median": samples.median(),
                    "quartiles": [samples.quantile(0.25), samples.quantile(0.75)],
                    "samples": samples.values(),
                    "ratio": self.ratio(row, index).map(|ratio| ratio.value),
                }),
                Cell::Failed(error) => json!({ "entrant": name, "error": error }),
                Cell::None => json!({ "entrant": name }),
            })
            .collect();
        json!({ "name": row.name, "unit": row.unit.name(), "entrants": cells })
    }
}

impl Row {
    /// The samples of an entrant, if it was measured.
    pub fn samples(&self, index: usize) -> Option<&Samples> {
        match self.cells.get(index) {
            Some(Cell::Measured(samples)) if !samples.values().is_empty() => Some(samples),
            _ => None,
        }
    }
}

/// A ratio with two significant digits.
pub fn format_ratio(ratio: f64) -> String {
    let digits = match ratio {
        10.0.. => 0,
        1.0.. => 1,
        0.1.. => 2,
        0.01.. => 3,
        _ => 4,
    };
    format!("{ratio:.digits$}×")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_keep_two_digits() {
        let shown = [125.4, 12.3, 4.56, 0.823, 0.0456, 0.0012].map(format_ratio);
        assert_eq!(shown, ["125×", "12×", "4.6×", "0.82×", "0.046×", "0.0012×"]);
    }
}
