//! The line editor of the REPL: history, completion, and the check whether the input is complete.

use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};

use super::completion::Completions;
use super::input::is_complete;

const PROMPT: &str = ">>> ";

/// How many programs the history keeps.
const MAX_HISTORY: usize = 1_000;

/// What the user typed.
pub(super) enum ReplInput {
    Text(String),
    /// Ctrl-C: the input is discarded.
    Nothing,
    /// Ctrl-D, or the end of the input.
    End,
}

/// Reads programs from a terminal, or from another input in its place.
pub(super) struct InputReader {
    editor: Editor<EditorHelper, FileHistory>,
    history: Option<PathBuf>,
}

impl InputReader {
    pub(super) fn new(completions: Completions, history: Option<PathBuf>) -> anyhow::Result<Self> {
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)?
            .history_ignore_space(true)
            .auto_add_history(true)
            .completion_type(rustyline::CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(EditorHelper(completions)));
        if let Some(file) = &history {
            // There is no file the first time.
            _ = editor.load_history(file);
        }
        Ok(Self { editor, history })
    }

    /// Waits for a complete program. The error is that the terminal cannot be read.
    pub(super) fn read(&mut self) -> anyhow::Result<ReplInput> {
        match self.editor.readline(PROMPT) {
            Ok(text) => Ok(ReplInput::Text(text)),
            Err(ReadlineError::Interrupted) => Ok(ReplInput::Nothing),
            Err(ReadlineError::Eof) => Ok(ReplInput::End),
            Err(error) => Err(error.into()),
        }
    }

    /// Saves the history. The caller reports an error but does not fail.
    pub(super) fn save_history(&mut self) -> Result<(), String> {
        let Some(file) = &self.history else { return Ok(()) };
        self.editor
            .save_history(file)
            .map_err(|error| format!("the history cannot be kept in {}: {error}", file.display()))
    }
}

struct EditorHelper(Completions);

impl Completer for EditorHelper {
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

impl Validator for EditorHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        Ok(if text.starts_with(':') || is_complete(text) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Hinter for EditorHelper {
    type Hint = String;
}

impl Highlighter for EditorHelper {}

impl Helper for EditorHelper {}
