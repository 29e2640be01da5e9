//! The line of the program that made each call.

use std::collections::{HashMap, VecDeque};

use onecall_core::JournalEvent;
use onecall_core::storage::{ReplayData, RunRecord};

/// The lines of the calls of a run.
pub(super) struct CallLines {
    /// For each call, its line in the program, if it is known.
    pub(super) lines: Vec<Option<usize>>,
    pub(super) source: LineSource,
}

/// How lines are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineSource {
    /// The journal of the run has them.
    Journal,
    /// They were found by the names of tools in the program: a name that stands in one line only.
    Names,
}

/// The lines of all calls of a run.
pub(super) fn of(record: &RunRecord) -> CallLines {
    match &record.replay {
        ReplayData::Journal(journal) => {
            let lines = from_journal(record, &journal.events);
            CallLines { lines, source: LineSource::Journal }
        }
        ReplayData::None | ReplayData::Impossible(_) => {
            CallLines { lines: from_names(record), source: LineSource::Names }
        }
    }
}

/// Calls of one tool are in the same order in the record and in the journal.
fn from_journal(record: &RunRecord, events: &[JournalEvent]) -> Vec<Option<usize>> {
    let mut lines = HashMap::<&str, VecDeque<Option<usize>>>::new();
    for event in events {
        if let JournalEvent::Called(call) = event {
            let line = call.site.as_ref().and_then(|site| usize::try_from(site.line).ok());
            lines.entry(call.name.as_str()).or_default().push_back(line.filter(|line| *line > 0));
        }
    }
    let next = |name: &str| lines.get_mut(name).and_then(VecDeque::pop_front).flatten();
    record.calls.iter().map(|call| call.name.as_str()).map(next).collect()
}

fn from_names(record: &RunRecord) -> Vec<Option<usize>> {
    let mut known = HashMap::<&str, Option<usize>>::new();
    let mut line_of = |name| *known.entry(name).or_insert_with(|| only_line(&record.program, name));
    record.calls.iter().map(|call| line_of(call.name.as_str())).collect()
}

/// The line that has this name, if only one has it.
fn only_line(program: &str, name: &str) -> Option<usize> {
    let is_part = |symbol: char| symbol.is_alphanumeric() || symbol == '_';
    let has_name = |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            let before = line.get(..at).and_then(|before| before.chars().next_back());
            let after = line.get(at + name.len()..).and_then(|after| after.chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    };
    let mut lines = program.lines().enumerate().filter(|(_, line)| has_name(line));
    match (lines.next(), lines.next()) {
        (Some((index, _)), None) => Some(index + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_once_has_a_line() {
        let program = "a = mcp__x__get(1)\nb = mcp__x__get_all()\nmcp__x__put()\nmcp__x__put()";
        assert_eq!(only_line(program, "mcp__x__get"), Some(1));
        assert_eq!(only_line(program, "mcp__x__get_all"), Some(2));
        assert_eq!(only_line(program, "mcp__x__put"), None);
        assert_eq!(only_line(program, "mcp__y__z"), None);
    }
}
