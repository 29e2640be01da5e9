//! The report as text for a person. Marks have the same meaning as colours.

use std::io::IsTerminal;

use dialoguer::console::style;

use super::finding::{DoctorReport, Finding, Verdict};
use crate::formatting::{duration, terminal_width, wrap_lines};
use crate::terminal::TerminalEscaper;

/// The layout of the report: whether it goes to a terminal, and how wide that is.
pub(super) struct ReportLayout {
    escaper: TerminalEscaper,
    width: Option<usize>,
}

impl ReportLayout {
    pub(super) fn of_stdout() -> Self {
        let on_terminal = std::io::stdout().is_terminal();
        let width = on_terminal.then(terminal_width);
        Self { escaper: TerminalEscaper::new(on_terminal), width }
    }

    pub(super) fn text(&self, report: &DoctorReport) -> String {
        let mut text = String::new();
        for section in &report.sections {
            text.push_str(&format!("{}\n", style(section.name).bold()));
            let width = section.findings.iter().map(|it| it.name.chars().count()).max();
            for finding in &section.findings {
                text.push_str(&self.finding(finding, width.unwrap_or_default()));
            }
            text.push('\n');
        }
        let counts = Verdict::ALL.map(|verdict| {
            let count = format!("{} {}", report.count(verdict), verdict.name());
            if report.count(verdict) == 0 { count } else { coloured(verdict, &count) }
        });
        let next = match report.first_step() {
            Some(step) => format!("start with {}", self.escaper.text(&step)),
            None => "all is well".to_owned(),
        };
        text.push_str(&format!("{}; {next}\n", counts.join(", ")));
        text
    }

    fn finding(&self, finding: &Finding, width: usize) -> String {
        let mark = match finding.verdict {
            Verdict::Green => "✓",
            Verdict::Yellow => "!",
            Verdict::Red => "✗",
        };
        let took = finding.took.map(|span| format!(" ({})", duration(span))).unwrap_or_default();
        let mut lines = self.lines(&format!("{}{took}", finding.summary), width);
        for note in &finding.notes {
            lines.extend(self.lines(note, width));
        }
        if let Some(fix) = &finding.fix {
            lines.extend(self.lines(&format!("→ {fix}"), width));
        }
        let name = self.escaper.text(&finding.name);
        let mut text = format!("  {} {name:width$}", coloured(finding.verdict, mark));
        for (at, line) in lines.iter().enumerate() {
            let indent = if at == 0 { 2 } else { width + 6 };
            text.push_str(&format!("{:indent$}{line}\n", ""));
        }
        text
    }

    /// A text in lines that fit beside the names, if the width is known.
    fn lines(&self, text: &str, width: usize) -> Vec<String> {
        let text = self.escaper.text(text);
        let fit = |line: &str| match self.width {
            Some(edge) => wrap_lines(line, edge.saturating_sub(width + 6).max(20)),
            None => vec![line.to_owned()],
        };
        text.lines().flat_map(fit).collect()
    }
}

fn coloured(verdict: Verdict, text: &str) -> String {
    let text = style(text);
    match verdict {
        Verdict::Green => text.green(),
        Verdict::Yellow => text.yellow(),
        Verdict::Red => text.red(),
    }
    .to_string()
}
