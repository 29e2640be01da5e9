//! Sums up runs and calls, and formats the results.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use onecall_core::RunId;
use onecall_core::storage::{CallFacts, RunSummary};
use serde_json::{Value, json};

use crate::commands::runs::agent_tokens;
use crate::figures::{Side, amount, bar, duration, percent, table, wrapped};
use crate::terminal::neutralise;

/// How many rows of a table are shown; the JSON output has all.
const MOST_ROWS: usize = 20;

/// Columns that are left out in a narrow terminal.
const WIDE_ONLY: [&str; 3] = ["FAILED", "P50", "CACHED"];
const NARROW: usize = 80;

const LEGEND: &str = "\
Times of days are those of runs, the others those of calls. TOKENS is what calls and results would \
have taken in a model's context; SAVED is that and the tools' definitions, less what onecall took, \
for the runs of agents. ~ stands for estimates from sizes, at four bytes to a token.";

/// The figures for a period of time.
#[derive(Default)]
pub(super) struct Figures {
    total: Sum,
    days: BTreeMap<String, Sum>,
    servers: BTreeMap<String, Sum>,
    tools: BTreeMap<String, Sum>,
}

/// The sums for one day, server or tool.
#[derive(Default)]
struct Sum {
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

impl Sum {
    fn add_run(&mut self, run: &RunSummary) {
        self.runs.insert(run.id.clone());
        self.failed_runs += u64::from(run.outcome != "ok");
        self.calls += run.call_count;
        self.errors += run.failed_calls;
        self.cached += run.cached_calls;
        self.durations.push(run.duration);
        if let Some(tokens) = agent_tokens(run) {
            self.agent_runs += 1;
            self.direct_tokens += tokens.direct;
            self.saved_tokens = self.saved_tokens.saturating_add(tokens.saved());
            self.estimated |= tokens.estimated;
        }
    }

    fn add_call(&mut self, run: &RunId, call: &CallFacts) {
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
    fn shown_savings(&self) -> String {
        if self.agent_runs == 0 {
            return ". All of them ran from the command line; tokens are saved when an agent runs \
                    programs."
                .to_owned();
        }
        let about = if self.estimated { "about " } else { "" };
        let direct = amount(i64::try_from(self.direct_tokens).unwrap_or(i64::MAX));
        match u64::try_from(self.saved_tokens) {
            Ok(saved) => {
                let share = percent(saved, self.direct_tokens);
                format!(", {about}{} tokens saved of {direct} ({share})", amount(self.saved_tokens))
            }
            Err(_) => {
                let more = amount(self.saved_tokens.saturating_neg());
                format!(", {about}{more} tokens more than the {direct} of direct calls")
            }
        }
    }

    /// A number of tokens, marked if it contains estimates.
    fn marked(&self, tokens: i64) -> String {
        format!("{}{}", if self.estimated { "~" } else { "" }, amount(tokens))
    }

    fn shown_percentile(&self, percent: usize) -> String {
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

impl Figures {
    pub(super) fn is_empty(&self) -> bool {
        self.total.runs.is_empty()
    }

    pub(super) fn add_run(&mut self, run: &RunSummary) {
        self.total.add_run(run);
        self.days.entry(run.started.day()).or_default().add_run(run);
    }

    pub(super) fn add_call(&mut self, run: &RunId, call: &CallFacts) {
        self.tools.entry(call.name.clone()).or_default().add_call(run, call);
        // Functions for resources and prompts belong to no server.
        if !call.server.is_empty() {
            self.servers.entry(call.server.clone()).or_default().add_call(run, call);
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let rows = |name: &str, sums: &BTreeMap<String, Sum>, is_of_runs| -> Value {
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

    pub(super) fn shown(&self, width: usize) -> String {
        let mut text = self.headline();
        text += &days(&self.days, width);
        text += &calls("SERVER", &self.servers, width);
        text += &calls("TOOL", &self.tools, width);
        text.push('\n');
        text += &(wrapped(LEGEND, width).join("\n") + "\n");
        text
    }

    fn headline(&self) -> String {
        let Sum { failed_runs, calls, errors, .. } = &self.total;
        format!(
            "{} runs ({failed_runs} failed), {calls} calls ({errors} failed){}\n",
            self.total.runs(),
            self.total.shown_savings(),
        )
    }
}

fn days(days: &BTreeMap<String, Sum>, width: usize) -> String {
    let most = days.values().map(|sum| sum.saved_tokens.max(0).unsigned_abs()).max().unwrap_or(0);
    let headings = [
        ("DAY (UTC)", Side::Left),
        ("RUNS", Side::Right),
        ("FAILED", Side::Right),
        ("CALLS", Side::Right),
        ("ERRORS", Side::Right),
        ("P50", Side::Right),
        ("P95", Side::Right),
        ("CACHED", Side::Right),
        ("SAVED", Side::Right),
        ("", Side::Left),
    ];
    let rows: Vec<_> = days
        .iter()
        .rev()
        .take(MOST_ROWS)
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
                sum.shown_percentile(50),
                sum.shown_percentile(95),
                percent(sum.cached, sum.calls),
                saved,
                bar(sum.saved_tokens.max(0).unsigned_abs(), most, BAR),
            ]
        })
        .collect();
    format!("\n{}{}", fitting(&headings, &rows, width), hidden(days.len(), "days"))
}

fn calls(heading: &str, sums: &BTreeMap<String, Sum>, width: usize) -> String {
    if sums.is_empty() {
        return String::new();
    }
    let most = sums.values().map(|sum| sum.calls).max().unwrap_or(0);
    let headings = [
        (heading, Side::Left),
        ("RUNS", Side::Right),
        ("CALLS", Side::Right),
        ("ERRORS", Side::Right),
        ("P50", Side::Right),
        ("P95", Side::Right),
        ("CACHED", Side::Right),
        ("TOKENS", Side::Right),
        ("", Side::Left),
    ];
    let mut sorted: Vec<_> = sums.iter().collect();
    sorted.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.calls));
    let rows: Vec<_> = sorted
        .into_iter()
        .take(MOST_ROWS)
        .map(|(name, sum)| {
            vec![
                neutralise(name),
                sum.runs().to_string(),
                sum.calls.to_string(),
                sum.errors.to_string(),
                sum.shown_percentile(50),
                sum.shown_percentile(95),
                percent(sum.cached, sum.calls),
                sum.marked(i64::try_from(sum.direct_tokens).unwrap_or(i64::MAX)),
                bar(sum.calls, most, BAR),
            ]
        })
        .collect();
    format!("\n{}{}", fitting(&headings, &rows, width), hidden(sums.len(), "more"))
}

/// The width of a bar in characters.
const BAR: usize = 12;

/// A table that fits the width: in a narrow terminal some columns are left out and names are
/// shortened.
fn fitting(headings: &[(&str, Side)], rows: &[Vec<String>], width: usize) -> String {
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

fn hidden(count: usize, what: &str) -> String {
    match count.saturating_sub(MOST_ROWS) {
        0 => String::new(),
        hidden => format!("… and {hidden} {what} (--json has all)\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_durations_that_there_were() {
        let sum = |milliseconds: &[u64]| Sum {
            durations: milliseconds.iter().copied().map(Duration::from_millis).collect(),
            ..Sum::default()
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
