//! Measures growth: whether ten times the work takes more than ten times as long.

mod fit;
mod series;

use std::fmt::Write;
use std::time::Instant;

use serde_json::{Value, json};

use super::machine;
use super::rounds::Samples;
use super::section::Unit;
use super::subject::Subject;
use fit::Growth;
use series::{SIZES, Series};

/// The results for every kind of work.
pub struct Report {
    results: Vec<SeriesResult>,
    failures: Vec<String>,
    /// Whether another process kept the machine busy.
    busy: bool,
}

struct SeriesResult {
    series: Series,
    /// One set of samples for each size.
    times: Vec<Samples>,
    growth: Growth,
}

pub fn measure(subject: &Subject) -> Report {
    let mut report = Report { results: Vec::new(), failures: Vec::new(), busy: machine::is_busy() };
    for series in series::all(subject) {
        let start = Instant::now();
        let name = format!("{}, {}", series.name, series.engine);
        match series.measure(subject) {
            Ok(times) => {
                let times: Vec<Samples> = times.into_iter().map(Samples::from).collect();
                // Other activity of the machine can only increase a time.
                let fastest = times.iter().map(|samples| samples.quantile(0.0));
                let sizes = SIZES.iter().map(|size| f64::from(*size));
                let points: Vec<_> = sizes.zip(fastest).collect();
                report.results.push(SeriesResult { series, times, growth: Growth::fit(&points) });
                eprintln!("growth      {:6.1} s  {name}", start.elapsed().as_secs_f64());
            }
            Err(error) => report.failures.push(format!("{name}: {error}")),
        }
    }
    report.busy |= machine::is_busy();
    report
}

impl Report {
    pub fn to_markdown(&self) -> String {
        let mut text = String::from(
            "| work | engine | 1 | 10 | 100 | 1,000 | 10,000 | exponent | last step |\n\
             |---|---|--:|--:|--:|--:|--:|--:|--:|\n",
        );
        for result in &self.results {
            let _ = write!(text, "| {} | {} |", result.series.name, result.series.engine);
            for times in &result.times {
                let _ = write!(text, " {} |", Unit::Seconds.show(times.median()));
            }
            let _ = match result.growth {
                Growth::Flat => writeln!(text, " constant | |"),
                Growth::Power { exponent, last } => writeln!(text, " {exponent:.2} | {last:.2} |"),
            };
        }
        text.push_str("\nWorse than linear: ");
        let worse: Vec<String> = self
            .results
            .iter()
            .filter(|result| result.growth.is_worse_than_linear())
            .map(|result| format!("**{}, {}**", result.series.name, result.series.engine))
            .collect();
        text.push_str(if worse.is_empty() { "nothing" } else { "" });
        text.push_str(&worse.join("; "));
        text.push_str(".\n");
        if self.busy {
            let _ = writeln!(text, "\n**{}**", machine::BUSY);
        }
        for failure in &self.failures {
            let _ = writeln!(text, "\n**Not measured:** {failure}");
        }
        text
    }

    pub fn to_json(&self) -> Value {
        let lines: Vec<Value> = self
            .results
            .iter()
            .map(|result| {
                let (exponent, last) = match result.growth {
                    Growth::Flat => (None, None),
                    Growth::Power { exponent, last } => (Some(exponent), Some(last)),
                };
                let samples: Vec<&[f64]> = result.times.iter().map(Samples::values).collect();
                json!({
                    "work": result.series.name, "engine": result.series.engine, "sizes": SIZES,
                    "seconds": result.times.iter().map(Samples::median).collect::<Vec<f64>>(),
                    "samples": samples, "exponent": exponent, "last_step": last,
                    "worse_than_linear": result.growth.is_worse_than_linear(),
                })
            })
            .collect();
        json!({ "lines": lines, "failures": self.failures, "busy": self.busy })
    }
}
