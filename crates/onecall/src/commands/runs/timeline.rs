//! Draws the calls of a run on a time line: one bar for each call or, if there are too many, one
//! for the calls of the same tool.

use std::collections::BTreeMap;
use std::time::Duration;

use onecall_core::storage::StoredCall;

use crate::formatting::{duration, truncate_line};
use crate::terminal::neutralise;

/// With more rows than this, calls are combined.
const MAX_ROWS: usize = 40;

/// The most characters after a bar.
const MAX_FACTS_WIDTH: usize = 34;

/// A row of the drawing: calls that are shown together.
struct TimelineRow<'a> {
    name: &'a str,
    calls: Vec<&'a StoredCall>,
}

/// Draws the calls within `width` characters.
pub(super) fn drawn(calls: &[StoredCall], total: Duration, width: usize) -> String {
    let (rows, hidden) = group_calls(calls);
    let label = |row: &TimelineRow<'_>| match row.calls.len() {
        1 => neutralise(row.name),
        count => format!("{} ×{count}", neutralise(row.name)),
    };
    let longest = rows.iter().map(|row| label(row).chars().count()).max().unwrap_or_default();
    let names = longest.min(width / 3).max(5);
    let facts: Vec<String> = rows.iter().map(facts).collect();
    let after = facts.iter().map(|facts| facts.chars().count()).max().unwrap_or_default();
    let columns = width.saturating_sub(names + after + 4).max(8);
    let end = format!("{:>1$}", duration(total), columns - 1);
    let mut text = format!("{:names$}  0{end}\n", "Calls");
    for (row, facts) in rows.iter().zip(facts) {
        let bar: String = bar(&row.calls, total, columns);
        let line = format!("{:names$} ▕{bar}▏ {facts}", shortened(&label(row), names));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if hidden > 0 {
        text.push_str(&format!("… and {hidden} more tools\n"));
    }
    text
}

/// Shortens a name at its beginning, because its end says more.
fn shortened(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    "…".chars().chain(name.chars().skip(length - width + 1)).collect()
}

/// One row for each call; or for consecutive calls of the same tool; or for each tool, of which
/// some may be hidden.
fn group_calls(calls: &[StoredCall]) -> (Vec<TimelineRow<'_>>, usize) {
    if calls.len() <= MAX_ROWS {
        let rows = calls.iter().map(|call| TimelineRow { name: &call.name, calls: vec![call] });
        return (rows.collect(), 0);
    }
    let mut rows: Vec<TimelineRow<'_>> = Vec::new();
    for call in calls {
        match rows.last_mut() {
            Some(row) if row.name == call.name => row.calls.push(call),
            _ => rows.push(TimelineRow { name: &call.name, calls: vec![call] }),
        }
    }
    if rows.len() <= MAX_ROWS {
        return (rows, 0);
    }
    let mut tools = BTreeMap::<&str, Vec<&StoredCall>>::new();
    for call in calls {
        tools.entry(&call.name).or_default().push(call);
    }
    let mut rows: Vec<_> =
        tools.into_iter().map(|(name, calls)| TimelineRow { name, calls }).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.calls.len()));
    let hidden = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    (rows, hidden)
}

/// A bar that shows when the calls were in progress; `x` marks a failed one.
fn bar(calls: &[&StoredCall], total: Duration, columns: usize) -> String {
    let mut bar = vec![' '; columns];
    let last = columns.saturating_sub(1);
    let column = |moment: Duration| -> usize {
        let columns = u128::try_from(columns).unwrap_or(0);
        let at = moment.as_micros().saturating_mul(columns) / total.as_micros().max(1);
        usize::try_from(at).unwrap_or(last).min(last)
    };
    for call in calls {
        let span = call.duration.unwrap_or_else(|| total.saturating_sub(call.started));
        let mark = match (&call.error, call.duration, call.cached) {
            (Some(_), ..) => 'x',
            (None, None, _) => '…',
            (None, Some(_), true) => '·',
            (None, Some(_), false) => '█',
        };
        let (from, to) = (column(call.started), column(call.started + span));
        for place in bar.iter_mut().take(to + 1).skip(from) {
            // The mark of a failure must stay visible.
            if *place != 'x' {
                *place = mark;
            }
        }
    }
    bar.into_iter().collect()
}

fn facts(row: &TimelineRow<'_>) -> String {
    let failed = row.calls.iter().filter(|call| call.error.is_some()).count();
    if let [call] = row.calls.as_slice() {
        let span = call.duration.map_or("cut off".to_owned(), duration);
        return match (&call.error, call.cached) {
            (Some(_), _) => format!("{span} failed"),
            (None, true) => format!("{span} cached"),
            (None, false) => span,
        };
    }
    let sum: Duration = row.calls.iter().filter_map(|call| call.duration).sum();
    let count = u32::try_from(row.calls.len()).unwrap_or(u32::MAX);
    let mean = duration(sum / count.max(1));
    let at_once = match most_at_once(&row.calls) {
        0 | 1 => String::new(),
        most => format!(", {most} at once"),
    };
    let failed = if failed > 0 { format!("{failed} failed, ") } else { String::new() };
    truncate_line(&format!("{failed}{mean} each{at_once}"), MAX_FACTS_WIDTH)
}

fn most_at_once(calls: &[&StoredCall]) -> usize {
    let mut events: Vec<(Duration, bool)> = Vec::new();
    for call in calls {
        events.push((call.started, true));
        events.extend(call.duration.map(|span| (call.started + span, false)));
    }
    // At the same moment, ends come before beginnings.
    events.sort();
    let (mut now, mut most) = (0_usize, 0);
    for (_, begins) in events {
        now = if begins { now + 1 } else { now.saturating_sub(1) };
        most = most.max(now);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, start: u64, span: Option<u64>, error: bool, cached: bool) -> StoredCall {
        StoredCall {
            name: name.to_owned(),
            server: "s".to_owned(),
            arguments_hash: String::new(),
            arguments_bytes: 0,
            result_bytes: 0,
            started: Duration::from_millis(start),
            duration: span.map(Duration::from_millis),
            error: error.then(|| "no".to_owned()),
            denied_by: None,
            cached,
            arguments: None,
            result: None,
            counted_tokens: None,
        }
    }

    fn some() -> Vec<StoredCall> {
        vec![
            call("mcp__crm__customers", 0, Some(50), false, false),
            call("mcp__crm__orders_of_one_customer", 50, Some(100), false, false),
            call("mcp__crm__orders_of_one_customer", 51, Some(40), true, false),
            call("mcp__crm__customers", 150, Some(0), false, true),
            call("mcp__mail__send", 160, None, false, false),
        ]
    }

    #[test]
    fn each_call_has_a_bar() {
        let narrow = drawn(&some(), Duration::from_millis(200), 60);
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        insta::assert_snapshot!(narrow);
        insta::assert_snapshot!(drawn(&some(), Duration::from_millis(200), 120));
    }

    #[test]
    fn many_calls_are_folded() {
        let mut calls = vec![call("mcp__a__first", 0, Some(10), false, false)];
        calls.extend(
            (0..1_000).map(|at| call("mcp__a__many", 10 + at / 10, Some(3), at == 500, false)),
        );
        calls.push(call("mcp__a__last", 115, Some(85), false, false));
        insta::assert_snapshot!(drawn(&calls, Duration::from_millis(200), 80));
        let mixed: Vec<_> = (0..5_000)
            .map(|at| call(["mcp__a__x", "mcp__a__y"][at % 2], at as u64, Some(1), false, false))
            .collect();
        insta::assert_snapshot!(drawn(&mixed, Duration::from_millis(5_001), 80));
        let tools: Vec<_> = (0..100)
            .map(|at| call(&format!("mcp__a__tool{at:02}"), at, Some(1), false, false))
            .collect();
        let text = drawn(&tools, Duration::from_millis(100), 80);
        assert_eq!(text.lines().count(), 42);
        assert!(text.ends_with("… and 60 more tools\n"));
    }
}
