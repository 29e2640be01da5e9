//! What is wrong with policies, and where.

use std::fmt;

use onecall_core::ServerName;
use thiserror::Error;

/// A place in a policy file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
}

impl Position {
    /// The position of a byte of `text`.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line, column }
    }
}

/// Something that is wrong with a policy or its file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct PolicyProblem {
    /// The file, as its folder names it.
    pub file: String,
    /// The place in the file; `None` if the problem is the file itself.
    pub position: Option<Position>,
    /// What is wrong, and what to do about it.
    pub message: String,
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(Position { line, column }) => {
                write!(formatter, "{}:{line}:{column}: {}", self.file, self.message)
            }
            None => write!(formatter, "{}: {}", self.file, self.message),
        }
    }
}

/// Why policies cannot be used: all that is wrong with them, in the order of the files and lines.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct PolicyErrors {
    /// The problems; there is at least one.
    pub problems: Vec<PolicyProblem>,
}

impl PolicyErrors {
    /// Succeeds with `value` if there are no problems.
    pub(crate) fn unless_empty<T>(value: T, mut problems: Vec<PolicyProblem>) -> Result<T, Self> {
        if problems.is_empty() {
            return Ok(value);
        }
        sort(&mut problems);
        Err(Self { problems })
    }
}

/// Sorts by file and place, and removes what was found twice.
pub(crate) fn sort(problems: &mut Vec<PolicyProblem>) {
    problems
        .sort_by(|a, b| (&a.file, a.position, &a.message).cmp(&(&b.file, b.position, &b.message)));
    problems.dedup();
}

impl From<PolicyProblem> for PolicyErrors {
    fn from(problem: PolicyProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            let separator = if number > 0 { "\n" } else { "" };
            write!(formatter, "{separator}{problem}")?;
        }
        Ok(())
    }
}

/// Something about policies that people should know, although the policies can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyWarning {
    /// What it means for calls.
    pub kind: WarningKind,
    /// What was noticed, and where.
    pub problem: PolicyProblem,
}

/// What a warning means for calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// The policy names a tool that is not known yet, because this server has not listed its tools. It is
    /// checked when the tool appears.
    NotListedYet(ServerName),
    /// The policy does not fit the tool's definition. Calls of the tool that the policy is about are
    /// denied.
    DoesNotFit,
    /// The policy is valid, but probably not what its author meant.
    Suspicious,
}

impl fmt::Display for PolicyWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_lines_and_characters() {
        let text = "äb\ncd";
        let positions = [0, 2, 4, 5, 6, 100].map(|offset| Position::of(text, offset));
        let expected = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (2, 3)];
        assert_eq!(positions, expected.map(|(line, column)| Position { line, column }));
    }
}
