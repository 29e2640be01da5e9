//! A change of a client's file: shown, agreed to, made, and remembered.

use std::path::{Path, PathBuf};

use anyhow::Context;
use onecall_clients::{Client, FileError, Format, Readers, Record, Records, TextFile, secrets_in};
use onecall_config::Surroundings;

use super::TargetArguments;
use crate::commands::own_file::must_be_able_to_ask;
use crate::commands::{pin, say};
use crate::difference::unified;
use crate::{claude_code, terminal};

/// How often a change is made anew because a client has written its file meanwhile.
const TRIES: usize = 3;

/// A file that is to change.
pub(super) struct Step {
    pub(super) file: TextFile,
    /// What it is to hold; nothing if it is to go.
    pub(super) text: Option<String>,
    pub(super) record: Option<Record>,
    /// A copy that says the same again as the file, and can go.
    pub(super) obsolete: Option<PathBuf>,
    pub(super) format: Format,
    /// Who may read it if it is new.
    pub(super) readers: Readers,
}

/// What has become of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Nothing,
    Shown,
    Refused,
}

/// Shows what would change, asks, and changes it.
pub(super) fn carry_out(
    client: Client,
    arguments: &TargetArguments,
    plan: impl Fn(&Records) -> anyhow::Result<Vec<Step>>,
) -> anyhow::Result<Outcome> {
    let state = Surroundings::of_process().directories.state;
    let state = state
        .context("there is no place to remember what is changed: set HOME or XDG_STATE_HOME")?;
    let steps = plan(&Records::read(&state))?;
    if steps.is_empty() {
        return Ok(Outcome::Nothing);
    }
    for step in &steps {
        let new = step.text.as_deref().unwrap_or_default();
        let path = step.file.path().display().to_string();
        let mut hidden = secrets_in(step.file.text(), step.format);
        hidden.extend(secrets_in(new, step.format));
        // Colours are ours; everything else has been made visible.
        terminal::print_styled(&unified(&path, step.file.text(), new, &hidden))?;
    }
    if arguments.dry_run {
        return Ok(Outcome::Shown);
    }
    if !arguments.yes {
        must_be_able_to_ask("say --yes to change it, or --dry-run to look only")?;
        if !pin::agrees(&format!("Change {client}'s configuration like this?"))? {
            return Ok(Outcome::Refused);
        }
    }
    for attempt in 1.. {
        let steps = plan(&Records::read(&state))?;
        // Its program has had its chance, if it has one.
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

/// Changes one file; `program` says whether a client's own program may do it, and for a
/// project or not.
fn apply(step: &Step, program: Option<bool>, state: &Path) -> anyhow::Result<()> {
    let Step { file, text, record, .. } = step;
    let path = file.path();
    let records = Records::read(state);
    let before = records.of(path);
    let backup = match record {
        Some(_) => file.back_up()?,
        None => None,
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
                // What else it wrote is not to be undone.
                record.after.clear();
            }
            record.backup = before.and_then(|before| before.backup.clone()).or(backup.clone());
            Records::write(state, path, Some(record))
                .context("cannot remember what was changed")?;
            match &backup {
                Some(backup) => say(&format!("changed {shown}; as it was: {}", backup.display())),
                None => say(&format!("wrote {shown}")),
            }
        }
        None => {
            Records::write(state, path, None).context("cannot remember what was changed")?;
            if let Some(copy) = &step.obsolete {
                // It does no harm where it cannot be removed.
                _ = std::fs::remove_file(copy);
            }
            match text {
                Some(_) => say(&format!("changed {shown}")),
                None => say(&format!("removed {shown}, which held nothing else")),
            }
        }
    }
    Ok(())
}
