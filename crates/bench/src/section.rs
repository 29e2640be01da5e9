//! The result of one measurement: figures, what they are compared with, and which of the design's
//! promises they decide.

use serde_json::{Value, json};

use super::rounds::{Ratio, Samples};

/// The unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
    /// How often something happens.
    Times,
}

/// One line of a table.
#[derive(Debug)]
pub struct Figure {
    pub name: String,
    pub unit: Unit,
    pub samples: Samples,
    /// The name of the figure that this one is compared with.
    pub against: Option<&'static str>,
}

/// A promise of the design, and whether it is kept.
#[derive(Debug)]
pub struct Verdict {
    pub promise: String,
    pub measured: String,
    pub holds: bool,
}

/// The result of one measurement.
#[derive(Debug)]
pub struct Section {
    pub name: &'static str,
    pub title: &'static str,
    pub figures: Vec<Figure>,
    pub notes: Vec<String>,
    pub verdicts: Vec<Verdict>,
}

impl Section {
    pub fn new(title: &'static str) -> Self {
        let (figures, notes, verdicts) = Default::default();
        Self { name: "", title, figures, notes, verdicts }
    }

    pub fn add(&mut self, name: impl Into<String>, unit: Unit, samples: Samples) {
        self.figures.push(Figure { name: name.into(), unit, samples, against: None });
    }

    /// Adds the results of [`super::rounds::interleave`].
    pub fn add_times(&mut self, measured: Vec<(&'static str, Samples)>) {
        for (name, samples) in measured {
            self.add(name, Unit::Seconds, samples);
        }
    }

    /// Compares one figure with another and returns the ratio, if both exist.
    pub fn compare(&mut self, name: &str, baseline: &'static str) -> Option<Ratio> {
        let ratio = Ratio::of(self.samples(name)?, self.samples(baseline)?);
        let figure = self.figures.iter_mut().find(|figure| figure.name == name)?;
        figure.against = Some(baseline);
        Some(ratio)
    }

    pub fn samples(&self, name: &str) -> Option<&Samples> {
        Some(&self.figures.iter().find(|figure| figure.name == name)?.samples)
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Decides a promise about a ratio.
    pub fn promise_ratio(&mut self, promise: &str, ratio: Option<Ratio>, at_most: f64) {
        self.verdicts.extend(ratio.map(|ratio| Verdict::of_ratio(promise, ratio, at_most)));
    }

    /// Decides a promise about the median of a figure.
    pub fn promise_at_most(&mut self, promise: &str, name: &str, at_most: f64) {
        let Some(figure) = self.figures.iter().find(|figure| figure.name == name) else { return };
        let verdict = Verdict::of_median(promise, &figure.samples, figure.unit, at_most);
        self.verdicts.push(verdict);
    }

    pub fn ratio(&self, figure: &Figure) -> Option<Ratio> {
        Some(Ratio::of(&figure.samples, self.samples(figure.against?)?))
    }

    pub fn to_json(&self) -> Value {
        let figures: Vec<Value> = self.figures.iter().map(|figure| self.figure(figure)).collect();
        let verdicts: Vec<Value> = self.verdicts.iter().map(Verdict::to_json).collect();
        json!({
            "name": self.name, "title": self.title,
            "figures": figures, "notes": self.notes, "targets": verdicts,
        })
    }

    fn figure(&self, figure: &Figure) -> Value {
        let samples = &figure.samples;
        json!({
            "name": figure.name,
            "unit": figure.unit.name(),
            "median": samples.median(),
            "quartiles": [samples.quantile(0.25), samples.quantile(0.75)],
            "range": [samples.quantile(0.0), samples.quantile(1.0)],
            "samples": samples.values(),
            "against": figure.against,
            "ratio": self.ratio(figure).map(|ratio| ratio.value),
        })
    }
}

impl Verdict {
    /// Decides a promise about a ratio.
    pub fn of_ratio(promise: &str, ratio: Ratio, at_most: f64) -> Self {
        let Ratio { value, quartiles: (low, high) } = ratio;
        Self {
            promise: format!("{promise} ≤ {at_most}×"),
            measured: format!("{value:.2}× ({low:.2}–{high:.2})"),
            holds: value <= at_most,
        }
    }

    /// Decides a promise about the median of some samples.
    pub fn of_median(promise: &str, samples: &Samples, unit: Unit, at_most: f64) -> Self {
        let median = samples.median();
        Self {
            promise: format!("{promise} ≤ {}", unit.show(at_most)),
            measured: format!("{} ({:.2} of the target)", unit.show(median), median / at_most),
            holds: median <= at_most,
        }
    }

    pub fn to_json(&self) -> Value {
        json!({ "promise": self.promise, "measured": self.measured, "holds": self.holds })
    }
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Times => "times",
        }
    }

    /// A value for a person, with three significant digits.
    pub fn show(self, value: f64) -> String {
        let (scaled, name) = match self {
            Self::Seconds if value < 1e-3 => (value * 1e6, "µs"),
            Self::Seconds if value < 1.0 => (value * 1e3, "ms"),
            Self::Seconds => (value, "s"),
            Self::Bytes => (value / 1e6, "MB"),
            Self::Times => (value, "times"),
        };
        let digits = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
        format!("{scaled:.digits$} {name}")
    }
}
