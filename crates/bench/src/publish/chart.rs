//! The comparison as a chart: for each kind of work, how many times onecall's default engine the
//! other entrants need. Its colours suit light and dark backgrounds.

use std::fmt::Write;

use super::super::comparison::{Comparison, Row, format_ratio};

const WIDTH: f64 = 920.0;
/// The right edge of the names of the work.
const LEFT: f64 = 340.0;
const RIGHT: f64 = WIDTH - 30.0;
const TOP: f64 = 86.0;
const STEP: f64 = 30.0;

/// One colour for each entrant, of medium lightness.
const COLOURS: [&str; 7] =
    ["#8a8a8a", "#2f81f7", "#1a9e96", "#8a63d2", "#d08700", "#d1447a", "#5b8c2a"];

const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.small { font-size: 11px; fill: #6e7781 }
line { stroke: #d0d7de }
.one { stroke: #2f81f7; stroke-width: 2 }
circle { stroke: #ffffff; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #8b949e }
  line { stroke: #30363d }
  .one { stroke: #2f81f7 }
  circle { stroke: #0d1117 }
}";

/// The chart as SVG.
pub fn draw(comparison: &Comparison) -> String {
    let rows: Vec<(&Row, Vec<(usize, f64)>)> = comparison
        .rows
        .iter()
        .map(|row| (row, ratios(comparison, row)))
        .filter(|(_, ratios)| ratios.len() > 1)
        .collect();
    let all = rows.iter().flat_map(|(_, ratios)| ratios).map(|(_, ratio)| ratio.log10());
    let (least, most) =
        all.fold((0.0_f64, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    let scale = Scale { least: least.floor(), most: most.ceil().max(1.0) };
    let height = TOP + STEP * rows.len() as f64 + 30.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"How many times onecall's time and memory others need, on a logarithmic scale\">\n\
         <style>\n{STYLE}\n</style>\n"
    );
    legend(&mut svg, comparison);
    axis(&mut svg, &scale, height - 24.0);
    for (index, (row, ratios)) in rows.iter().enumerate() {
        let y = TOP + STEP * (index as f64 + 0.5);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 12.0,
            y + 4.0,
            escaped(row.name)
        );
        let _ = writeln!(svg, "<line x1=\"{LEFT}\" y1=\"{y}\" x2=\"{RIGHT}\" y2=\"{y}\"/>");
        for &(entrant, ratio) in ratios {
            let name = comparison.entrants.get(entrant).map_or("", |(name, _)| name);
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"6\" fill=\"{}\"><title>{}: {}</title></circle>",
                scale.at(ratio.log10()),
                colour(entrant),
                escaped(name),
                format_ratio(ratio)
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// The entrants that were measured, with their ratio to the default engine, which itself is 1.
fn ratios(comparison: &Comparison, row: &Row) -> Vec<(usize, f64)> {
    let ratio = |index| match (comparison.ratio(row, index), row.samples(index)) {
        (Some(ratio), _) => Some(ratio.value),
        (None, Some(_)) => Some(1.0),
        (None, None) => None,
    };
    let all = (0..comparison.entrants.len()).filter_map(|index| Some((index, ratio(index)?)));
    all.filter(|(_, ratio)| *ratio > 0.0).collect()
}

/// A logarithmic scale from left to right.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    fn at(&self, power: f64) -> f64 {
        LEFT + (power - self.least) / (self.most - self.least) * (RIGHT - LEFT)
    }
}

fn legend(svg: &mut String, comparison: &Comparison) {
    for (index, (name, _)) in comparison.entrants.iter().enumerate() {
        let (column, line) = (index % 4, index / 4);
        let (x, y) = (20.0 + column as f64 * 210.0, 18.0 + line as f64 * 22.0);
        let _ = writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"6\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>",
            colour(index),
            x + 12.0,
            y + 4.0,
            escaped(name)
        );
    }
}

fn axis(svg: &mut String, scale: &Scale, bottom: f64) {
    let mut power = scale.least;
    while power <= scale.most {
        let x = scale.at(power);
        let kind = if power == 0.0 { " class=\"one\"" } else { "" };
        let _ = writeln!(
            svg,
            "<line{kind} x1=\"{x:.1}\" y1=\"{}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>",
            TOP - 8.0
        );
        let _ = writeln!(
            svg,
            "<text class=\"small\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}×</text>",
            TOP - 14.0,
            10_f64.powf(power)
        );
        power += 1.0;
    }
    let _ = writeln!(
        svg,
        "<text class=\"small\" x=\"{LEFT}\" y=\"{}\">left of the blue line: less than onecall with its default engine; right of it: more</text>",
        bottom + 16.0
    );
}

fn colour(entrant: usize) -> &'static str {
    COLOURS[entrant % COLOURS.len()]
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
