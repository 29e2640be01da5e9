//! Sums up runs and calls, and formats the results.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use onecall_core::RunId;
use onecall_core::storage::{RunSummary, StoredCall};
use serde_json::{Value, json};

use crate::formatting::{Alignment, bar, duration, percent, short_number, table, wrap_lines};
use crate::terminal::neutralise;

/// How many rows of a table are shown; the JSON output has all.
const MAX_ROWS: usize = 20;

/// Columns that are left out in a narrow terminal.
const WIDE_ONLY: [&str; 3] = ["FAILED", "P50", "CACHED"];
const NARROW: usize = 80;

const LEGEND: &str = "\
The times in rows of days are times of runs, all other times are times of calls. TOKENS is what calls and results would \
have taken in a model's context; SAVED is TOKENS plus the tools' definitions, minus what onecall \
took, for the runs of agents. ~ marks estimates from sizes, at four bytes to a token.";

/// The figures for a period of time.
#[derive(Default)]
pub(super) struct Statistics {
    total: Totals,
    days: BTreeMap<String, Totals>,
    servers: BTreeMap<String, Totals>,
    tools: BTreeMap<String, Totals>,
}

/// The sums for one day, server or tool.
#[derive(Default)]
struct Totals {
    runs: HashSet<RunId>,
    failed_runs: u64,
    calls: u64,
    errors: u64,
    cached: u64,
    /// Durations of calls, or of runs if the sums are about runs.
    durations: Vec<Duration>,
    /// Runs that agents requested. Runs of commands save no tokens for an agent.
    agent_runs: u64,
    /// Tokens that direct calls would have used.
    direct_tokens: u64,
    saved_tokens: i64,
    estimated: bool,
}

impl Totals {
    fn add_run(&mut self, run: &RunSummary) {
        self.runs.insert(run.id.clone());
        self.failed_runs += u64::from(run.outcome != "ok");
        self.calls += run.call_count;
        self.errors += run.failed_calls;
        self.cached += run.cached_calls;
        self.durations.push(run.duration);
        if let Some(tokens) = run.agent_tokens() {
            self.agent_runs += 1;
            self.direct_tokens += tokens.direct;
            self.saved_tokens = self.saved_tokens.saturating_add(tokens.saved());
            self.estimated |= tokens.estimated;
        }
    }

    fn add_call(&mut self, run: &RunId, call: &StoredCall) {
        if !self.runs.contains(run) {
            self.runs.insert(run.clone());
        }
        self.calls += 1;
        self.errors += u64::from(call.error.is_some());
        self.cached += u64::from(call.cached);
        self.durations.extend(call.duration);
        self.direct_tokens += call.tokens();
        self.estimated |= call.counted_tokens.is_none();
    }

    fn runs(&self) -> u64 {
        u64::try_from(self.runs.len()).unwrap_or(u64::MAX)
    }

    /// The duration that this percentage of them does not exceed.
    fn percentile(&self, percent: usize) -> Option<Duration> {
        let mut durations = self.durations.clone();
        durations.sort_unstable();
        let rank = (durations.len() * percent).div_ceil(100).max(1);
        durations.get(rank - 1).copied()
    }

    /// The end of a sentence about these runs: how many tokens agents saved.
    fn savings_text(&self) -> String {
        if self.agent_runs == 0 {
            return ". All of them ran from the command line; tokens are saved when an agent runs \
                    programs."
                .to_owned();
        }
        let about = if self.estimated { "about " } else { "" };
        let direct = short_number(i64::try_from(self.direct_tokens).unwrap_or(i64::MAX));
        match u64::try_from(self.saved_tokens) {
            Ok(saved) => {
                let share = percent(saved, self.direct_tokens);
                format!(
                    ", {about}{} tokens saved of {direct} ({share})",
                    short_number(self.saved_tokens)
                )
            }
            Err(_) => {
                let more = short_number(self.saved_tokens.saturating_neg());
                format!(", {about}{more} tokens more than the {direct} of direct calls")
            }
        }
    }

    /// A number of tokens, marked if it contains estimates.
    fn marked(&self, tokens: i64) -> String {
        format!("{}{}", if self.estimated { "~" } else { "" }, short_number(tokens))
    }

    fn percentile_text(&self, percent: usize) -> String {
        self.percentile(percent).map_or("-".to_owned(), duration)
    }

    fn to_json(&self, name: &str, value: &str, is_of_runs: bool) -> Value {
        let seconds = |percent| self.percentile(percent).map(|it| it.as_micros() as f64 / 1e6);
        let mut figures = json!({
            name: value,
            "runs": self.runs(),
            "calls": self.calls,
            "errors": self.errors,
            "p50_seconds": seconds(50),
            "p95_seconds": seconds(95),
            "cache_hits": self.cached,
            "direct_tokens": self.direct_tokens,
        });
        if is_of_runs {
            figures["failed_runs"] = json!(self.failed_runs);
            figures["agent_runs"] = json!(self.agent_runs);
            figures["saved_tokens"] = json!(self.saved_tokens);
            figures["tokens_estimated"] = json!(self.estimated);
        }
        figures
    }
}

impl Statistics {
    pub(super) fn is_empty(&self) -> bool {
        self.total.runs.is_empty()
    }

    pub(super) fn add_run(&mut self, run: &RunSummary) {
        self.total.add_run(run);
        self.days.entry(run.started.day()).or_default().add_run(run);
    }

    pub(super) fn add_call(&mut self, run: &RunId, call: &StoredCall) {
        self.tools.entry(call.name.clone()).or_default().add_call(run, call);
        // Functions for resources and prompts belong to no server.
        if !call.server.is_empty() {
            self.servers.entry(call.server.clone()).or_default().add_call(run, call);
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let rows = |name: &str, sums: &BTreeMap<String, Totals>, is_of_runs| -> Value {
            sums.iter().map(|(value, sum)| sum.to_json(name, value, is_of_runs)).collect()
        };
        let mut total = self.total.to_json("name", "total", true);
        if let Some(total) = total.as_object_mut() {
            total.remove("name");
        }
        json!({
            "total": total,
            "days": rows("day", &self.days, true),
            "servers": rows("server", &self.servers, false),
            "tools": rows("tool", &self.tools, false),
        })
    }

    pub(super) fn to_text(&self, width: usize) -> String {
        let mut text = self.headline();
        text += &days(&self.days, width);
        text += &calls("SERVER", &self.servers, width);
        text += &calls("TOOL", &self.tools, width);
        text.push('\n');
        text += &(wrap_lines(LEGEND, width).join("\n") + "\n");
        text
    }

    fn headline(&self) -> String {
        let Totals { failed_runs, calls, errors, .. } = &self.total;
        format!(
            "{} runs ({failed_runs} failed), {calls} calls ({errors} failed){}\n",
            self.total.runs(),
            self.total.savings_text(),
        )
    }
}

fn days(days: &BTreeMap<String, Totals>, width: usize) -> String {
    let most = days.values().map(|sum| sum.saved_tokens.max(0).unsigned_abs()).max().unwrap_or(0);
    let headings = [
        ("DAY (UTC)", Alignment::Left),
        ("RUNS", Alignment::Right),
        ("FAILED", Alignment::Right),
        ("CALLS", Alignment::Right),
        ("ERRORS", Alignment::Right),
        ("P50", Alignment::Right),
        ("P95", Alignment::Right),
        ("CACHED", Alignment::Right),
        ("SAVED", Alignment::Right),
        ("", Alignment::Left),
    ];
    let rows: Vec<_> = days
        .iter()
        .rev()
        .take(MAX_ROWS)
        .map(|(day, sum)| {
            let saved = match sum.agent_runs {
                0 => "-".to_owned(),
                _ => sum.marked(sum.saved_tokens),
            };
            vec![
                day.clone(),
                sum.runs().to_string(),
                sum.failed_runs.to_string(),
                sum.calls.to_string(),
                sum.errors.to_string(),
                sum.percentile_text(50),
                sum.percentile_text(95),
                percent(sum.cached, sum.calls),
                saved,
                bar(sum.saved_tokens.max(0).unsigned_abs(), most, BAR_WIDTH),
            ]
        })
        .collect();
    format!("\n{}{}", fit_table(&headings, &rows, width), hidden_rows_text(days.len(), "days"))
}

fn calls(heading: &str, sums: &BTreeMap<String, Totals>, width: usize) -> String {
    if sums.is_empty() {
        return String::new();
    }
    let most = sums.values().map(|sum| sum.calls).max().unwrap_or(0);
    let headings = [
        (heading, Alignment::Left),
        ("RUNS", Alignment::Right),
        ("CALLS", Alignment::Right),
        ("ERRORS", Alignment::Right),
        ("P50", Alignment::Right),
        ("P95", Alignment::Right),
        ("CACHED", Alignment::Right),
        ("TOKENS", Alignment::Right),
        ("", Alignment::Left),
    ];
    let mut sorted: Vec<_> = sums.iter().collect();
    sorted.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.calls));
    let rows: Vec<_> = sorted
        .into_iter()
        .take(MAX_ROWS)
        .map(|(name, sum)| {
            vec![
                neutralise(name),
                sum.runs().to_string(),
                sum.calls.to_string(),
                sum.errors.to_string(),
                sum.percentile_text(50),
                sum.percentile_text(95),
                percent(sum.cached, sum.calls),
                sum.marked(i64::try_from(sum.direct_tokens).unwrap_or(i64::MAX)),
                bar(sum.calls, most, BAR_WIDTH),
            ]
        })
        .collect();
    format!("\n{}{}", fit_table(&headings, &rows, width), hidden_rows_text(sums.len(), "more"))
}

/// The width of a bar in characters.
const BAR_WIDTH: usize = 12;

/// A table that fits the width: in a narrow terminal some columns are left out and names are
/// shortened.
fn fit_table(headings: &[(&str, Alignment)], rows: &[Vec<String>], width: usize) -> String {
    let stays = |heading: &str| width >= NARROW || !WIDE_ONLY.contains(&heading);
    let columns: Vec<usize> =
        (0..headings.len()).filter(|at| headings.get(*at).is_some_and(|it| stays(it.0))).collect();
    let headings: Vec<_> = columns.iter().filter_map(|at| headings.get(*at).copied()).collect();
    let mut rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| columns.iter().filter_map(|at| row.get(*at).cloned()).collect())
        .collect();
    let length = |cell: &String| cell.chars().count();
    let others = headings.iter().enumerate().skip(1).map(|(column, (heading, _))| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(length);
        cells.chain([heading.chars().count()]).max().unwrap_or(0) + 2
    });
    let room = width.saturating_sub(others.sum()).max(12);
    for name in rows.iter_mut().filter_map(|row| row.first_mut()) {
        if length(name) > room {
            let tail = length(name) - room + 1;
            *name = "…".chars().chain(name.chars().skip(tail)).collect();
        }
    }
    table(&headings, &rows, width)
}

fn hidden_rows_text(count: usize, what: &str) -> String {
    match count.saturating_sub(MAX_ROWS) {
        0 => String::new(),
        hidden => format!("… and {hidden} {what} (--json has all)\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_durations_that_there_were() {
        let sum = |milliseconds: &[u64]| Totals {
            durations: milliseconds.iter().copied().map(Duration::from_millis).collect(),
            ..Totals::default()
        };
        let of = |milliseconds: &[u64], percent| {
            sum(milliseconds).percentile(percent).map(|it| it.as_millis())
        };
        assert_eq!(of(&[], 50), None);
        assert_eq!(of(&[7], 50), Some(7));
        assert_eq!(of(&[4, 1, 3, 2], 50), Some(2));
        assert_eq!(of(&(1..=100).collect::<Vec<_>>(), 95), Some(95));
        assert_eq!(of(&[1, 2], 95), Some(2));
    }
}
