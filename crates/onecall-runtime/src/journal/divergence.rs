//! The differences between what a program does and what its journal says that it did.

use std::fmt;

use onecall_core::text::visible;
use onecall_core::{CallSite, CallableName, ErrorSummary, Failure, JournalCall};

/// The class of the error with which a run ends that does not repeat its journal.
const REPLAY_ERROR: &str = "ReplayError";

/// Why a program is executed again, for the text of its failure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Repetition {
    /// To continue its run.
    Continued,
    /// To replay its run.
    Replay,
}

/// How a continued or replayed run differs from its journal. The run is stopped, and nothing is
/// executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The line of the program at which it differs, if it is known.
    pub line: Option<u32>,
    /// What differs.
    pub difference: Difference,
    /// How the interpreter has changed since the run began, as a sentence, if it has.
    pub interpreter: Option<String>,
}

/// What differs between a run and its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The program calls another tool than before.
    Name {
        /// The tool that it called before.
        before: CallableName,
        /// The tool that it calls now.
        now: CallableName,
    },
    /// The program calls the tool from another place than before.
    Site {
        /// The tool.
        name: CallableName,
        /// The place before.
        before: CallSite,
        /// The place now.
        now: CallSite,
    },
    /// The program calls the tool with other arguments than before.
    Arguments {
        /// The tool.
        name: CallableName,
    },
    /// The definition of the tool has changed since the call was made.
    Definition {
        /// The tool.
        name: CallableName,
    },
    /// The program makes a call that it did not make before.
    NewCall {
        /// The tool.
        name: CallableName,
    },
    /// The program ended, or ran out of time, without a call that it made before.
    MissingCall {
        /// The tool.
        name: CallableName,
        /// The error with which the program ended, if it failed.
        error: Option<String>,
    },
    /// The worker of the program found the difference.
    Observed(String),
}

impl Divergence {
    /// A call that is not the one in the journal.
    pub(super) fn at(site: Option<&CallSite>, difference: Difference) -> Self {
        Self { line: line_of(site), difference, interpreter: None }
    }

    /// The journalled call was not made again.
    pub(super) fn missing(call: &JournalCall, error: Option<String>) -> Self {
        let difference = Difference::MissingCall { name: call.name.clone(), error };
        Self::at(call.site.as_ref(), difference)
    }

    /// The worker found a difference; `next` is the journalled call that would have come next.
    pub(super) fn observed(difference: &str, next: Option<&JournalCall>) -> Self {
        let line = next.and_then(|call| line_of(call.site.as_ref()));
        let next = match (next, line) {
            (Some(call), Some(line)) => {
                format!("; its next call was that of '{}' in line {line}", call.name)
            }
            _ => String::new(),
        };
        Self::at(None, Difference::Observed(format!("{difference}{next}")))
    }

    /// The failure of a run that is stopped for this reason.
    pub(super) fn failure(&self, repetition: Repetition) -> Failure {
        let (aim, end) = match repetition {
            Repetition::Continued => (
                "continued",
                "Nothing was executed after the difference; start the program again as a new run",
            ),
            Repetition::Replay => ("replayed", "A replay makes no calls, so nothing was executed"),
        };
        let place = self.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let change =
            self.interpreter.iter().map(|change| format!(". {change}")).collect::<String>();
        let message = format!(
            "the run cannot be {aim}, because the program does not repeat what it did before{place}: \
             {}{change}. {end}",
            self.difference
        );
        let error = ErrorSummary {
            kind: REPLAY_ERROR.to_owned(),
            message: visible(&message).into_owned(),
            line: self.line.map(u64::from),
            ..ErrorSummary::default()
        };
        Failure::Refused { text: format!("{REPLAY_ERROR}: {}", error.message), error }
    }
}

fn line_of(site: Option<&CallSite>) -> Option<u32> {
    site.map(|site| site.line).filter(|line| *line > 0)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { before, now } => write!(f, "it calls '{now}', and it called '{before}'"),
            Self::Site { name, before, now } => {
                let (before, now) = (Place(before), Place(now));
                write!(f, "it calls '{name}' at {now}, and it called it at {before}")
            }
            Self::Arguments { name } => write!(f, "it calls '{name}' with other arguments"),
            Self::Definition { name } => {
                write!(f, "the definition of '{name}' has changed since the call")
            }
            Self::NewCall { name } => {
                write!(f, "it calls '{name}', which it did not call at this point")
            }
            Self::MissingCall { name, error: None } => write!(f, "it did not call '{name}' again"),
            Self::MissingCall { name, error: Some(error) } => {
                write!(f, "it did not call '{name}' again. It ended with: {error}")
            }
            Self::Observed(difference) => f.write_str(difference),
        }
    }
}

/// A place as a part of a sentence.
struct Place<'a>(&'a CallSite);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallSite { task, line, column } = self.0;
        write!(f, "line {line}, column {column}")?;
        if task.is_empty() || task == "0" { Ok(()) } else { write!(f, " in task {task}") }
    }
}
