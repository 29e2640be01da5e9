//! The problems that a configuration can have. Messages never contain values, which may be secrets;
//! they name keys, servers and variables.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::document::Position;

/// The largest number of problems that are kept, so that a hostile file cannot fill the memory.
const MAX_PROBLEMS: usize = 100;

/// Why the configuration could not be loaded.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file that was named explicitly does not exist.
    #[error(
        "configuration file '{path}' (from {origin}) does not exist; correct the path or create the file",
        path = path.display()
    )]
    NotFound {
        /// The path as it was given.
        path: PathBuf,
        /// The origin of the name: `--config` or a variable.
        origin: &'static str,
    },
    /// The file exists but cannot be read.
    #[error("cannot read configuration file '{path}': {reason}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        reason: std::io::Error,
    },
    /// The file is too large to be a configuration.
    #[error(
        "configuration file '{path}' is larger than 4 MiB; check that it is the right file",
        path = path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file was read and is invalid.
    #[error(transparent)]
    Invalid(#[from] ConfigErrors),
}

/// All problems of one configuration file, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    file: PathBuf,
    problems: Vec<Problem>,
    omitted: usize,
    /// Advice that concerns the whole file.
    advice: Option<String>,
}

/// One problem in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, counted from one.
    pub line: usize,
    /// The column, counted from one, in characters.
    pub column: usize,
    /// The description of the problem.
    pub message: String,
    /// What the user can do, without the word "help".
    pub help: Option<String>,
}

impl ConfigErrors {
    /// The file that the problems are in.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The problems, at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            let Problem { line, column, message, help } = problem;
            write!(formatter, "{}:{line}:{column}: {message}", self.file.display())?;
            if let Some(help) = help {
                write!(formatter, "\n  help: {help}")?;
            }
        }
        if self.omitted > 0 {
            write!(formatter, "\nand {} more problems", self.omitted)?;
        }
        if let Some(advice) = &self.advice {
            write!(formatter, "\n{advice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl Problem {
    /// The problem on one line that begins with its position in `file`.
    pub(crate) fn in_one_line(&self, file: &Path) -> String {
        let Self { line, column, message, help } = self;
        let help = help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("{}:{line}:{column}: {message}{help}", file.display())
    }

    pub(crate) fn new(at: Position, message: impl Into<String>) -> Self {
        Self { line: at.line, column: at.column, message: message.into(), help: None }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Collects problems while a file is read.
#[derive(Default)]
pub(crate) struct Report {
    problems: Vec<Problem>,
    omitted: usize,
}

impl Report {
    pub(crate) fn add(&mut self, problem: Problem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.omitted += 1;
        }
    }

    /// All problems, in the order of the file.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort();
        self.problems.dedup();
        self.problems
    }

    /// Returns `value` if there are no problems.
    pub(crate) fn finish<T>(self, value: T, file: &Path) -> Result<T, ConfigErrors> {
        if self.problems.is_empty() {
            return Ok(value);
        }
        let (file, omitted) = (file.to_path_buf(), self.omitted);
        Err(ConfigErrors { file, problems: self.into_problems(), omitted, advice: None })
    }
}

impl ConfigErrors {
    pub(crate) fn single(file: &Path, problem: Problem) -> Self {
        Self { file: file.to_path_buf(), problems: vec![problem], omitted: 0, advice: None }
    }

    /// Adds advice that concerns the whole file.
    pub(crate) fn with_advice(mut self, advice: String) -> Self {
        self.advice = Some(advice);
        self
    }

    /// Moves positions beyond the end of `text` to its end: if a text ends too soon, the YAML
    /// parser counts one line too many.
    pub(crate) fn within(mut self, text: &str) -> Self {
        let end = Position::end_of(text);
        for problem in &mut self.problems {
            let at = Position { line: problem.line, column: problem.column }.min(end);
            (problem.line, problem.column) = (at.line, at.column);
        }
        self
    }
}
