//! Writes metrics in the Prometheus text format, version 0.0.4.

use std::fmt::{Display, Write};

use super::histogram::{BOUNDS, Histogram};

/// A page that is being written: metric families, each followed by its samples.
#[derive(Default)]
pub(super) struct Exposition(String);

/// Label names and values.
pub(super) type Labels<'a> = [(&'a str, &'a str)];

#[derive(Clone, Copy)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl Exposition {
    /// Begins a metric family; its samples follow.
    pub fn family(&mut self, name: &str, kind: MetricKind, help: &str) -> &mut Self {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"))
    }

    pub fn sample(&mut self, name: &str, labels: &Labels<'_>, value: impl Display) -> &mut Self {
        self.line(format_args!("{name}{} {value}\n", LabelSet(labels)))
    }

    pub fn histogram(&mut self, name: &str, labels: &Labels<'_>, histogram: &Histogram) {
        let reading = histogram.read();
        let bucket = format!("{name}_bucket");
        let mut counted = |bound: &str, count: u64| {
            let mut labels = labels.to_vec();
            labels.push(("le", bound));
            self.sample(&bucket, &labels, count);
        };
        for (bound, count) in BOUNDS.iter().zip(reading.cumulative_counts) {
            counted(&bound.to_string(), count);
        }
        counted("+Inf", reading.count);
        self.sample(&format!("{name}_sum"), labels, reading.seconds);
        self.sample(&format!("{name}_count"), labels, reading.count);
    }

    pub fn page(&mut self) -> String {
        std::mem::take(&mut self.0)
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(line);
        self
    }
}

struct LabelSet<'a>(&'a Labels<'a>);

impl Display for LabelSet<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            write!(formatter, "{}{name}=\"{value}\"", if index == 0 { "{" } else { "," })?;
        }
        formatter.write_str(if self.0.is_empty() { "" } else { "}" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_end_a_line_or_a_label_is_escaped() {
        let mut exposition = Exposition::default();
        exposition.family("a_total", MetricKind::Counter, "one \\ two\nthree");
        exposition.sample("a_total", &[("server", "\"\\\n"), ("outcome", "ok")], 3);
        exposition.sample("a_total", &[], 1.5);
        let expected = concat!(
            "# HELP a_total one \\\\ two\\nthree\n",
            "# TYPE a_total counter\n",
            "a_total{server=\"\\\"\\\\\\n\",outcome=\"ok\"} 3\n",
            "a_total 1.5\n",
        );
        assert_eq!(exposition.page(), expected);
    }
}
