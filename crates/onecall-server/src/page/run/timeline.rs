//! The calls of a run on a time line, as a picture: calls that ran at once are above each other. With very
//! many calls, the picture shows how many ran at each moment. A part of the time can be looked at closely.

use std::collections::BTreeMap;
use std::time::Duration;

use maud::{Markup, html};
use onecall_core::storage::{RunRecord, StoredCall};

use crate::page::fields::Fields;
use crate::page::text;

/// The width of the picture, in its own units.
const WIDTH: u64 = 1_000;

/// How many calls are drawn one by one, and how many of them with their names.
const MAX_BARS: usize = 300;
const MAX_NAMED: usize = 100;

/// How many calls are drawn above each other. With more, the picture shows how many ran at each moment.
const MAX_LANES: usize = 64;

/// How much of a page bars with names take, in bytes.
const NAMED_SIZE: usize = 10_000;

/// How many columns a picture of very many calls has.
const COLUMNS: usize = 100;

/// A part of the time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeWindow {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl TimeWindow {
    /// The part that a query asks for, in microseconds, or the part in which calls were made.
    pub(super) fn read(record: &RunRecord, query: &Fields) -> Self {
        let (whole, calls) = (Self::whole(record), Self::of_calls(record));
        let from = query.number("from").unwrap_or(calls.from).min(whole.to.saturating_sub(1));
        let to = query.number("to").unwrap_or(calls.to).clamp(from + 1, whole.to.max(from + 1));
        Self { from, to }
    }

    fn whole(record: &RunRecord) -> Self {
        let ends = record.calls.iter().map(|call| end(call, record.run.duration));
        Self { from: 0, to: ends.max().unwrap_or(0).max(micros(record.run.duration)).max(1) }
    }

    /// From the first call to the end of the last one.
    fn of_calls(record: &RunRecord) -> Self {
        let starts = record.calls.iter().map(|call| micros(call.started));
        let ends = record.calls.iter().map(|call| end(call, record.run.duration));
        Self { from: starts.min().unwrap_or(0), to: ends.max().unwrap_or(0) }
    }

    fn length(self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// Whether a call is in this part.
    pub(super) fn has(self, call: &StoredCall, total: Duration) -> bool {
        micros(call.started) <= self.to && end(call, total) >= self.from
    }

    /// The place of a moment in a picture of this width.
    pub(super) fn place(self, moment: u64, width: u64) -> u64 {
        let length = u128::from(self.to.saturating_sub(self.from).max(1));
        let at =
            u128::from(moment.clamp(self.from, self.to) - self.from) * u128::from(width) / length;
        u64::try_from(at).unwrap_or(width).min(width)
    }
}

pub(super) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// When a call ended, or the run before it.
pub(super) fn end(call: &StoredCall, total: Duration) -> u64 {
    let span = call.duration.unwrap_or_else(|| total.saturating_sub(call.started));
    micros(call.started.saturating_add(span))
}

/// The class of the bar of a call.
pub(super) fn bar_class(call: &StoredCall) -> &'static str {
    match (&call.error, call.duration, call.cached) {
        (Some(_), ..) => "bar failed",
        (None, None, _) => "bar cut",
        (None, Some(_), true) => "bar cached",
        (None, Some(_), false) => "bar",
    }
}

/// The picture, with its axis.
pub(super) fn picture(record: &RunRecord, query: &Fields) -> Markup {
    let window = TimeWindow::read(record, query);
    let total = record.run.duration;
    let calls: Vec<&StoredCall> = record.calls.iter().filter(|it| window.has(it, total)).collect();
    let failed = calls.iter().filter(|call| call.error.is_some()).count();
    let moment = |micros: u64| {
        text::moment(Duration::from_micros(micros), Duration::from_micros(window.length()))
    };
    let label = format!(
        "{} on a time line from {} to {}, {failed} failed",
        text::count(u64::try_from(calls.len()).unwrap_or(u64::MAX), "call", "calls"),
        moment(window.from),
        moment(window.to),
    );
    let lanes = (calls.len() <= MAX_BARS).then(|| lanes(&calls, window, total)).flatten();
    let is_density = lanes.is_none();
    let picture = match lanes {
        Some(lanes) => lanes.picture(&label),
        None => density(&calls, window, total, &label),
    };
    html! {
        div.strip #timeline data-from=(window.from) data-to=(window.to) {
            (picture)
            @if is_density { p.help { "The height is the number of calls that ran at once. Zoom in to see each call." } }
            div.axis aria-hidden="true" {
                span { (moment(window.from)) }
                span { (moment(window.from + window.length() / 2)) }
                span { (moment(window.to)) }
            }
        }
    }
}

/// The picture, with the links for looking closely.
pub(super) fn strip(record: &RunRecord, query: &Fields) -> Markup {
    let (window, whole) = (TimeWindow::read(record, query), TimeWindow::whole(record));
    let zoom = |from: u64, to: u64| {
        let (from, to) = (from.to_string(), to.min(whole.to).to_string());
        query.with(&[("from", Some(&from)), ("to", Some(&to)), ("after", None)])
    };
    let TimeWindow { from, to } = window;
    let (quarter, half) = (window.length() / 4, window.length() / 2);
    html! {
        (picture(record, query))
        p.zoom {
            @if quarter > 0 { a href=(zoom(from + quarter, to - quarter)) { "Zoom in" } }
            @if window != whole {
                a href=(zoom(from.saturating_sub(half), to + half)) { "Zoom out" }
                @if from > 0 { a href=(zoom(from.saturating_sub(half), to - from.min(half))) { "Earlier" } }
                @if to < whole.to { a href=(zoom(from + half, to + half)) { "Later" } }
                a href=(zoom(0, whole.to)) { "Whole run" }
            }
            span.legend {
                span.key { "answered" } span.key.cached { "from the cache" } span.key.failed { "failed" }
                span.key.cut { "cut off" }
            }
        }
    }
}

/// The calls with the lanes that their bars are in.
struct Lanes<'a> {
    bars: Vec<Bar<'a>>,
    count: usize,
}

/// The bar of one call.
struct Bar<'a> {
    call: &'a StoredCall,
    lane: usize,
    start: u64,
    end: u64,
}

/// One bar for each call. A call takes the first lane that is free when it begins. `None` if there would be too
/// many lanes.
fn lanes<'a>(calls: &[&'a StoredCall], window: TimeWindow, total: Duration) -> Option<Lanes<'a>> {
    let mut free = Vec::<u64>::new();
    let mut bars = Vec::new();
    for call in calls {
        let (start, end) = (micros(call.started), end(call, total));
        let lane = free.iter().position(|until| *until <= start).unwrap_or(free.len());
        match free.get_mut(lane) {
            Some(until) => *until = end,
            None if lane < MAX_LANES => free.push(end),
            None => return None,
        }
        let (start, end) = (window.place(start, WIDTH), window.place(end, WIDTH));
        bars.push(Bar { call, lane, start, end });
    }
    Some(Lanes { bars, count: free.len().max(1) })
}

impl Lanes<'_> {
    fn picture(&self, label: &str) -> Markup {
        let height = self.count * 10;
        let named = (self.bars.len() <= MAX_NAMED).then(|| self.named());
        let bars = named.filter(|named| named.0.len() <= NAMED_SIZE);
        let bars = bars.unwrap_or_else(|| self.unnamed());
        html! {
            svg.timeline viewBox={ "0 0 " (WIDTH) " " (height) } height=(height) preserveAspectRatio="none"
                role="img" aria-label=(label) { (bars) }
        }
    }

    fn named(&self) -> Markup {
        html! {
            @for Bar { call, lane, start, end } in &self.bars {
                rect class=(bar_class(call)) x=(start) y=(lane * 10 + 1) width=((end - start).max(2)) height="8" {
                    title { (text::line(&call.name, 80)) }
                }
            }
        }
    }

    /// All bars of a class as one shape, which takes less of a page.
    fn unnamed(&self) -> Markup {
        let mut shapes = BTreeMap::<&str, String>::new();
        for Bar { call, lane, start, end } in &self.bars {
            let width = (end - start).max(2);
            let shape = format!("M{start} {}h{width}v8h-{width}z", lane * 10 + 1);
            shapes.entry(bar_class(call)).or_default().push_str(&shape);
        }
        html! { @for (class, shape) in shapes { path class=(class) d=(shape) {} } }
    }
}

/// How many calls were under way in each part of the time.
fn density(calls: &[&StoredCall], window: TimeWindow, total: Duration, label: &str) -> Markup {
    let mut columns = vec![(0_u64, 0_u64); COLUMNS];
    let last = u64::try_from(COLUMNS).unwrap_or(1);
    for call in calls {
        let first = window.place(micros(call.started), last);
        let end = window.place(end(call, total), last).max(first + 1);
        let (first, end) = (usize::try_from(first).unwrap_or(0), usize::try_from(end).unwrap_or(0));
        for (count, failed) in columns.iter_mut().take(end).skip(first) {
            *count += 1;
            *failed += u64::from(call.error.is_some());
        }
    }
    let most = columns.iter().map(|(count, _)| *count).max().unwrap_or(1).max(1);
    let step = WIDTH / last;
    let (mut all, mut failures) = (String::new(), String::new());
    for (index, (count, failed)) in (0_u64..).zip(&columns) {
        for (number, shapes) in [(count, &mut all), (failed, &mut failures)] {
            if *number > 0 {
                let (left, width) = (index * step, step - 1);
                let height = (number * 58 / most).max(1);
                shapes.push_str(&format!("M{left} 60v-{height}h{width}v{height}z"));
            }
        }
    }
    let label = format!("{label}, at most {most} at once");
    html! {
        svg.timeline viewBox={ "0 0 " (WIDTH) " 60" } height="60" preserveAspectRatio="none" role="img"
            aria-label=(label) {
            path class="bar" d=(all) {}
            @if !failures.is_empty() { path class="bar failed" d=(failures) {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(started: u64) -> StoredCall {
        StoredCall {
            name: "mcp__a__b".to_owned(),
            server: "a".to_owned(),
            arguments_hash: String::new(),
            arguments_bytes: 0,
            result_bytes: 0,
            started: Duration::from_millis(started),
            duration: Some(Duration::from_millis(100)),
            error: None,
            denied_by: None,
            cached: false,
            arguments: None,
            result: None,
            counted_tokens: None,
        }
    }

    fn drawn(count: u64) -> Option<(usize, usize, String)> {
        let calls: Vec<StoredCall> = (0..count).map(call).collect();
        let calls: Vec<&StoredCall> = calls.iter().collect();
        let window = TimeWindow { from: 0, to: 200_000 };
        let lanes = lanes(&calls, window, Duration::from_millis(200))?;
        Some((lanes.bars.len(), lanes.count, lanes.picture("label").into_string()))
    }

    #[test]
    fn no_call_is_missing_in_the_picture() {
        let (bars, lanes, picture) = drawn(64).unwrap();
        assert_eq!((bars, lanes, picture.matches("<rect").count()), (64, 64, 64));
        // With more, the picture shows how many ran at once.
        assert!(drawn(65).is_none());
        let calls: Vec<StoredCall> = (0..65).map(call).collect();
        let calls: Vec<&StoredCall> = calls.iter().collect();
        let window = TimeWindow { from: 0, to: 200_000 };
        let picture = density(&calls, window, Duration::from_millis(200), "65 calls");
        assert!(picture.into_string().contains("65 calls, at most 65 at once"));
    }
}
