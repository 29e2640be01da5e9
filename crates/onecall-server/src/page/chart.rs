//! Charts as SVG. Each has a text for people who do not see it, and the same figures as a table.

use std::time::Duration;

use maud::{Markup, html};
use onecall_core::Timestamp;

use super::text;

const WIDTH: u64 = 600;
const HEIGHT: u64 = 120;

/// One series of a chart.
pub(super) struct Series<'a> {
    pub(super) name: &'a str,
    /// The class that gives it its colour and its outline, by which those who see no colours tell it from others.
    pub(super) class: &'static str,
    pub(super) values: Vec<u64>,
}

/// What the intervals of a chart are.
pub(super) struct Axis {
    pub(super) from: Timestamp,
    pub(super) interval: Duration,
    /// How a value is written.
    pub(super) write: fn(u64) -> String,
}

/// Bars; the second series stands inside the bars of the first.
pub(super) fn bars(title: &str, axis: &Axis, series: &[Series<'_>]) -> Markup {
    let count = series.iter().map(|it| it.values.len()).max().unwrap_or(0);
    let most = series.iter().flat_map(|it| &it.values).copied().max().unwrap_or(0);
    let step = WIDTH / u64::try_from(count).unwrap_or(1).max(1);
    let height = |value: u64| {
        if value == 0 { 0 } else { (value.saturating_mul(HEIGHT - 4) / most.max(1)).max(2) }
    };
    let picture = html! {
        @for one in series {
            @for (index, value) in (0_u64..).zip(&one.values) {
                @if *value > 0 {
                    rect class=(one.class) x=(index * step + 1) y=(HEIGHT - height(*value)) width=(step.saturating_sub(2).max(1)) height=(height(*value)) {
                        title { (one.name) ": " ((axis.write)(*value)) }
                    }
                }
            }
        }
    };
    figure(title, axis, series, most, &picture)
}

/// Lines, one for each series. An interval without a value is a gap.
pub(super) fn lines(title: &str, axis: &Axis, series: &[Series<'_>]) -> Markup {
    let count = series.iter().map(|it| it.values.len()).max().unwrap_or(0);
    let most = series.iter().flat_map(|it| &it.values).copied().max().unwrap_or(0);
    let step = WIDTH / u64::try_from(count).unwrap_or(1).max(1);
    let y = |value: u64| HEIGHT - 2 - value.saturating_mul(HEIGHT - 6) / most.max(1);
    let picture = html! {
        @for one in series {
            @for part in parts(&one.values) {
                @let points: Vec<String> = part.iter().map(|(index, value)| format!("{},{}", index * step + step / 2, y(*value))).collect();
                // A line needs two points.
                @let before = match part.as_slice() { [(index, value)] => format!("{},{} ", index * step, y(*value)), _ => String::new() };
                polyline class=(one.class) points={ (before) (points.join(" ")) } {}
            }
        }
    };
    figure(title, axis, series, most, &picture)
}

/// The values between intervals that have none, with their indices.
fn parts(values: &[u64]) -> Vec<Vec<(u64, u64)>> {
    let numbered: Vec<(u64, u64)> = (0..).zip(values.iter().copied()).collect();
    let parts = numbered.split(|(_, value)| *value == 0).filter(|part| !part.is_empty());
    parts.map(<[(u64, u64)]>::to_vec).collect()
}

/// The chart with its title, legend, scale and table.
fn figure(title: &str, axis: &Axis, series: &[Series<'_>], most: u64, picture: &Markup) -> Markup {
    let sums: Vec<String> = series
        .iter()
        .map(|one| {
            let highest = one.values.iter().copied().max().unwrap_or(0);
            format!("{}: at most {}", one.name, (axis.write)(highest))
        })
        .collect();
    let count = series.iter().map(|it| it.values.len()).max().unwrap_or(0);
    let moment = |index: usize| {
        let steps = u32::try_from(index).unwrap_or(u32::MAX);
        axis.from.after(axis.interval.saturating_mul(steps))
    };
    html! {
        figure.chart {
            figcaption { strong { (title) }
                @if series.len() > 1 { span.legend { @for one in series { span class={ "key " (one.class) } { (one.name) } } } }
                @if most > 0 { span.scale { "up to " ((axis.write)(most)) } }
            }
            @if most == 0 { p.muted { "Nothing in this time." } } @else { svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label={ (title) ". " (sums.join(", ")) } {
                line.grid x1="0" x2=(WIDTH) y1=(HEIGHT / 2) y2=(HEIGHT / 2) {}
                line.grid x1="0" x2=(WIDTH) y1=(HEIGHT - 1) y2=(HEIGHT - 1) {}
                (picture)
            } }
            div.axis aria-hidden="true" { span { (text::time(moment(0))) } span { (text::time(moment(count))) } }
            details { summary { "As a table" } div.scroll { table {
                caption.sr { (title) }
                thead { tr { th scope="col" { "From" } @for one in series { th.number scope="col" { (one.name) } } } }
                tbody { @for index in 0..count { @if series.iter().any(|it| it.values.get(index).is_some_and(|value| *value > 0)) {
                    tr { td { (text::time(moment(index))) }
                        @for one in series { td.number { ((axis.write)(one.values.get(index).copied().unwrap_or(0))) } } }
                } } }
            } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_gaps_where_nothing_is_known() {
        assert_eq!(parts(&[0, 3, 4, 0, 0, 5]), [vec![(1, 3), (2, 4)], vec![(5, 5)]]);
        assert_eq!(parts(&[0, 0]), Vec::<Vec<(u64, u64)>>::new());
    }
}
