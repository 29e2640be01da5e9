//! A change of a client's file: shown, confirmed, made, and recorded.

use std::path::{Path, PathBuf};

use anyhow::Context;
use onecall_clients::{
    Client, FileError, FileFormat, InstallRecord, InstallRecords, ReadableBy, TextFile, secrets_in,
};
use onecall_config::ProcessContext;

use super::TargetArguments;
use crate::commands::editable_config::require_terminal;
use crate::commands::{note, pin};
use crate::file_diff::unified_diff;
use crate::{claude_code, terminal};

/// How often a change is retried because the client has written its file meanwhile.
const MAX_ATTEMPTS: usize = 3;

/// A file that is to be changed.
pub(super) struct InstallStep {
    pub(super) file: TextFile,
    /// The new content; `None` if the file is to be removed.
    pub(super) text: Option<String>,
    pub(super) record: Option<InstallRecord>,
    pub(super) original: OriginalContent,
    pub(super) format: FileFormat,
    /// The permissions for a new file.
    pub(super) readers: ReadableBy,
}

/// Where the content is that the file had before onecall was installed.
pub(super) enum OriginalContent {
    /// In the file itself, which is copied before it changes.
    ThisFile,
    /// In an earlier copy. `None` if others have changed the file since; their changes are kept
    /// when onecall is removed.
    Known(Option<PathBuf>),
}

/// The result of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Done,
    Nothing,
    Shown,
    Refused,
}

/// Shows the changes, asks for confirmation, and makes them.
pub(super) fn apply_steps(
    client: Client,
    arguments: &TargetArguments,
    plan: impl Fn(&InstallRecords) -> anyhow::Result<Vec<InstallStep>>,
) -> anyhow::Result<StepOutcome> {
    let state = ProcessContext::current().directories.state;
    let state =
        state.context("onecall cannot find your state directory, where it records the change: set HOME or XDG_STATE_HOME")?;
    let steps = plan(&InstallRecords::read(&state))?;
    if steps.is_empty() {
        return Ok(StepOutcome::Nothing);
    }
    for step in &steps {
        let new = step.text.as_deref().unwrap_or_default();
        let path = step.file.path().display().to_string();
        let mut hidden = secrets_in(step.file.text(), step.format);
        hidden.extend(secrets_in(new, step.format));
        // Only the colours are control characters; all others have been escaped.
        terminal::print_styled(&unified_diff(&path, step.file.text(), new, &hidden))?;
    }
    if arguments.dry_run {
        return Ok(StepOutcome::Shown);
    }
    if !arguments.yes {
        require_terminal("pass --yes to apply the change, or --dry-run to only see it")?;
        if !pin::confirm(&format!("Change {client}'s configuration like this?"))? {
            return Ok(StepOutcome::Refused);
        }
    }
    for attempt in 1.. {
        let steps = plan(&InstallRecords::read(&state))?;
        // The client's own command is tried only in the first attempt.
        let program = (client == Client::ClaudeCode && attempt == 1).then_some(arguments.project);
        match steps.into_iter().try_for_each(|step| apply(&step, program, &state)) {
            Ok(()) => return Ok(StepOutcome::Done),
            Err(error)
                if attempt < MAX_ATTEMPTS
                    && matches!(error.downcast_ref(), Some(FileError::ChangedSinceRead { .. })) => {
            }
            Err(error) => return Err(error),
        }
    }
    Ok(StepOutcome::Done)
}

/// Changes one file. `program` says whether the client's own command may do it, and whether for a
/// project.
fn apply(step: &InstallStep, program: Option<bool>, state: &Path) -> anyhow::Result<()> {
    let InstallStep { file, text, record, .. } = step;
    let path = file.path();
    let (backup, restored) = match (record, &step.original) {
        (None, OriginalContent::Known(copy)) => (None, copy.as_deref()),
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
                OriginalContent::ThisFile => backup.clone(),
                OriginalContent::Known(copy) => copy.clone(),
            };
            InstallRecords::write(state, path, Some(record)).context("cannot record the change")?;
        }
        None => {
            InstallRecords::write(state, path, None).context("cannot record the change")?;
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
