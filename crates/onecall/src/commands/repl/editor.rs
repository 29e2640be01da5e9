//! The line editor of the REPL: history, completion, and the check whether the input is complete.

use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};

use super::completion::Vocabulary;
use super::input::is_complete;

const PROMPT: &str = ">>> ";

/// How many programs the history keeps.
const HISTORY: usize = 1_000;

/// What the user typed.
pub(super) enum Typed {
    Text(String),
    /// Ctrl-C: the input is discarded.
    Nothing,
    /// Ctrl-D, or the end of the input.
    End,
}

/// Reads programs from a terminal, or from another input in its place.
pub(super) struct Keyboard {
    editor: Editor<Assistance, FileHistory>,
    history: Option<PathBuf>,
}

impl Keyboard {
    pub(super) fn new(vocabulary: Vocabulary, history: Option<PathBuf>) -> anyhow::Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY)?
            .history_ignore_space(true)
            .auto_add_history(true)
            .completion_type(rustyline::CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Assistance(vocabulary)));
        if let Some(file) = &history {
            // There is no file the first time.
            _ = editor.load_history(file);
        }
        Ok(Self { editor, history })
    }

    /// Waits for a complete program. The error is that the terminal cannot be read.
    pub(super) fn read(&mut self) -> anyhow::Result<Typed> {
        match self.editor.readline(PROMPT) {
            Ok(text) => Ok(Typed::Text(text)),
            Err(ReadlineError::Interrupted) => Ok(Typed::Nothing),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(error.into()),
        }
    }

    /// Saves the history. The caller reports an error but does not fail.
    pub(super) fn keep_history(&mut self) -> Result<(), String> {
        let Some(file) = &self.history else { return Ok(()) };
        self.editor
            .save_history(file)
            .map_err(|error| format!("the history cannot be kept in {}: {error}", file.display()))
    }
}

struct Assistance(Vocabulary);

impl Completer for Assistance {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.0.candidates(line.get(..position).unwrap_or_default()))
    }
}

impl Validator for Assistance {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        Ok(if text.starts_with(':') || is_complete(text) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Hinter for Assistance {
    type Hint = String;
}

impl Highlighter for Assistance {}

impl Helper for Assistance {}
