//! A change of a client's file: shown, confirmed, made, and recorded.

use std::path::{Path, PathBuf};

use anyhow::Context;
use onecall_clients::{Client, FileError, Format, Readers, Record, Records, TextFile, secrets_in};
use onecall_config::Surroundings;

use super::TargetArguments;
use crate::commands::own_file::must_be_able_to_ask;
use crate::commands::{note, pin};
use crate::difference::unified;
use crate::{claude_code, terminal};

/// How often a change is retried because the client has written its file meanwhile.
const TRIES: usize = 3;

/// A file that is to be changed.
pub(super) struct Step {
    pub(super) file: TextFile,
    /// The new content; `None` if the file is to be removed.
    pub(super) text: Option<String>,
    pub(super) record: Option<Record>,
    pub(super) original: Original,
    pub(super) format: Format,
    /// The permissions for a new file.
    pub(super) readers: Readers,
}

/// Where the content is that the file had before onecall was installed.
pub(super) enum Original {
    /// In the file itself, which is copied before it changes.
    ThisFile,
    /// In an earlier copy. `None` if others have changed the file since; their changes are kept
    /// when onecall is removed.
    Known(Option<PathBuf>),
}

/// The result of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Nothing,
    Shown,
    Refused,
}

/// Shows the changes, asks for confirmation, and makes them.
pub(super) fn carry_out(
    client: Client,
    arguments: &TargetArguments,
    plan: impl Fn(&Records) -> anyhow::Result<Vec<Step>>,
) -> anyhow::Result<Outcome> {
    let state = Surroundings::of_process().directories.state;
    let state =
        state.context("there is no place to record the change: set HOME or XDG_STATE_HOME")?;
    let steps = plan(&Records::read(&state))?;
    if steps.is_empty() {
        return Ok(Outcome::Nothing);
    }
    for step in &steps {
        let new = step.text.as_deref().unwrap_or_default();
        let path = step.file.path().display().to_string();
        let mut hidden = secrets_in(step.file.text(), step.format);
        hidden.extend(secrets_in(new, step.format));
        // Only the colours are control characters; all others have been escaped.
        terminal::print_styled(&unified(&path, step.file.text(), new, &hidden))?;
    }
    if arguments.dry_run {
        return Ok(Outcome::Shown);
    }
    if !arguments.yes {
        must_be_able_to_ask("pass --yes to apply the change, or --dry-run to only see it")?;
        if !pin::agrees(&format!("Change {client}'s configuration like this?"))? {
            return Ok(Outcome::Refused);
        }
    }
    for attempt in 1.. {
        let steps = plan(&Records::read(&state))?;
        // The client's own command is tried only in the first attempt.
        let program = (client == Client::ClaudeCode && attempt == 1).then_some(arguments.project);
        match steps.into_iter().try_for_each(|step| apply(&step, program, &state)) {
            Ok(()) => return Ok(Outcome::Done),
            Err(error)
                if attempt < TRIES
                    && matches!(error.downcast_ref(), Some(FileError::ChangedMeanwhile { .. })) => {
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Outcome::Done)
}

/// Changes one file. `program` says whether the client's own command may do it, and whether for a
/// project.
fn apply(step: &Step, program: Option<bool>, state: &Path) -> anyhow::Result<()> {
    let Step { file, text, record, .. } = step;
    let path = file.path();
    let (backup, restored) = match (record, &step.original) {
        (None, Original::Known(copy)) => (None, copy.as_deref()),
        _ => (file.back_up()?, None),
    };
    let mut by_program = false;
    match text {
        Some(text) => {
            by_program = program
                .is_some_and(|is_project| claude_code::change(path, file.text(), text, is_project));
            if !by_program {
                file.replace(text, step.readers)?;
            }
        }
        None => file.delete()?,
    }
    let shown = path.display();
    match record {
        Some(record) => {
            let mut record = record.clone();
            if by_program {
                // Other changes of that command must not be undone later.
                record.after.clear();
            }
            record.backup = match &step.original {
                Original::ThisFile => backup.clone(),
                Original::Known(copy) => copy.clone(),
            };
            Records::write(state, path, Some(record)).context("cannot record the change")?;
        }
        None => {
            Records::write(state, path, None).context("cannot record the change")?;
            if let Some(copy) = restored {
                // The file has its original content again, so the copy is not needed; failing to
                // remove it is harmless.
                _ = std::fs::remove_file(copy);
            }
        }
    }
    let backup = backup.map_or_else(String::new, |copy| format!(" (backup: {})", copy.display()));
    match (text, file.exists()) {
        (Some(_), true) => note(&format!("Updated {shown}{backup}")),
        (Some(_), false) => note(&format!("Created {shown}")),
        (None, _) => note(&format!("Removed {shown}, which had no other content{backup}")),
    }
    Ok(())
}
