//! The findings of the doctor: lines with a verdict, in sections, also as JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// The part works.
    Green,
    /// The part works, with a reservation.
    Yellow,
    /// The part is broken.
    Red,
}

impl Verdict {
    /// All verdicts, from best to worst.
    pub(super) const ALL: [Self; 3] = [Self::Green, Self::Yellow, Self::Red];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Red => "red",
        }
    }
}

/// One line of the report.
pub(super) struct Finding {
    /// What the finding is about.
    pub(super) name: String,
    pub(super) verdict: Verdict,
    /// What was found.
    pub(super) summary: String,
    /// What to do about it.
    pub(super) fix: Option<String>,
    /// Further details, one line each.
    pub(super) notes: Vec<String>,
    pub(super) took: Option<Duration>,
    /// Details for the JSON output.
    facts: Map<String, Value>,
}

impl Finding {
    fn new(verdict: Verdict, name: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            verdict,
            summary: summary.into(),
            fix: None,
            notes: Vec::new(),
            took: None,
            facts: Map::new(),
        }
    }

    pub(super) fn green(name: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Verdict::Green, name, summary)
    }

    pub(super) fn yellow(name: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Verdict::Yellow, name, summary)
    }

    pub(super) fn red(name: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(Verdict::Red, name, summary)
    }

    /// A finding from a message of onecall, whose text after the first semicolon says what to do.
    pub(super) fn from_message(verdict: Verdict, name: impl Into<String>, message: &str) -> Self {
        match message.split_once("; ") {
            Some((summary, fix)) => Self::new(verdict, name, summary).fix(fix),
            None => Self::new(verdict, name, message),
        }
    }

    pub(super) fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(super) fn took(self, span: Duration) -> Self {
        Self { took: Some(span), ..self }
    }

    pub(super) fn fact(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(key.to_owned(), value.into());
        self
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "verdict": self.verdict.name(),
            "summary": self.summary,
            "fix": self.fix,
            "notes": self.notes,
            "milliseconds": self.took.map(milliseconds),
            "facts": self.facts,
        })
    }
}

/// Milliseconds, rounded to three decimals.
pub(super) fn milliseconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}

/// The findings about one area.
pub(super) struct ReportSection {
    pub(super) name: &'static str,
    pub(super) findings: Vec<Finding>,
}

/// All findings.
pub(super) struct DoctorReport {
    pub(super) sections: Vec<ReportSection>,
    pub(super) took: Duration,
}

impl DoctorReport {
    pub(super) fn count(&self, verdict: Verdict) -> usize {
        self.findings().filter(|(_, finding)| finding.verdict == verdict).count()
    }

    pub(super) fn worst(&self) -> Verdict {
        self.findings().map(|(_, finding)| finding.verdict).max().unwrap_or(Verdict::Green)
    }

    /// What to do first: earlier sections do not depend on later ones.
    pub(super) fn first_step(&self) -> Option<String> {
        let worst = self.worst();
        let is_first = |(_, finding): &(&str, &Finding)| finding.verdict == worst;
        let (section, finding) = self.findings().find(is_first)?;
        let what = finding.fix.as_ref().unwrap_or(&finding.summary);
        (worst > Verdict::Green).then(|| format!("{section}, {}: {what}", finding.name))
    }

    fn findings(&self) -> impl Iterator<Item = (&'static str, &Finding)> {
        self.sections
            .iter()
            .flat_map(|section| section.findings.iter().map(|finding| (section.name, finding)))
    }

    pub(super) fn json(&self) -> Value {
        let mut report = json!({
            "verdict": self.worst().name(),
            "counts": {},
            "first_step": self.first_step(),
            "milliseconds": milliseconds(self.took),
        });
        for verdict in Verdict::ALL {
            report["counts"][verdict.name()] = self.count(verdict).into();
        }
        for section in &self.sections {
            report[section.name] = section.findings.iter().map(Finding::json).collect();
        }
        report
    }
}
