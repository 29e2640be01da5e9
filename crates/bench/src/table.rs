//! The report as Markdown.

use std::fmt::Write;

use super::section::{Figure, Section, Verdict};

/// All figures, one table per measurement, then the promises that they and the comparison decide.
pub fn render(sections: &[Section], compared: &[Verdict], failures: &[String]) -> String {
    let mut text = String::new();
    for section in sections {
        let _ = writeln!(text, "\n### {}: {}\n", section.name, section.title);
        text.push_str("| what | median | quartiles | rounds | ratio |\n|---|--:|--:|--:|---|\n");
        for figure in &section.figures {
            push_figure(&mut text, section, figure);
        }
        for note in &section.notes {
            let _ = writeln!(text, "\n{note}");
        }
    }
    let verdicts = sections.iter().flat_map(|section| &section.verdicts);
    push_verdicts(&mut text, compared.iter().chain(verdicts));
    for failure in failures {
        let _ = writeln!(text, "\n**Not measured:** {failure}");
    }
    text
}

fn push_figure(text: &mut String, section: &Section, figure: &Figure) {
    let (samples, unit) = (&figure.samples, figure.unit);
    let ratio = match (section.ratio(figure), figure.against) {
        (Some(ratio), Some(against)) => format!("{:.2}× {against}", ratio.value),
        _ => String::new(),
    };
    let _ = writeln!(
        text,
        "| {} | {} | {} – {} | {} | {ratio} |",
        figure.name,
        unit.show(samples.median()),
        unit.show(samples.quantile(0.25)),
        unit.show(samples.quantile(0.75)),
        samples.values().len(),
    );
}

fn push_verdicts<'a>(text: &mut String, verdicts: impl Iterator<Item = &'a Verdict>) {
    let mut verdicts = verdicts.peekable();
    if verdicts.peek().is_none() {
        return;
    }
    text.push_str("\n### The numbers of the design\n\n");
    text.push_str("| promise | measured | holds |\n|---|---|---|\n");
    for verdict in verdicts {
        let holds = if verdict.holds { "yes" } else { "**no**" };
        let _ = writeln!(text, "| {} | {} | {holds} |", verdict.promise, verdict.measured);
    }
    text.push_str("\nWhat the design promises about tokens is measured by `cargo xtask tokens`.\n");
}
