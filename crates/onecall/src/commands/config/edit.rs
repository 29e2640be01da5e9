//! `onecall config edit`: opens a copy of the configuration in an editor.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail, ensure};
use onecall_clients::{ReadableBy, TextFile, with_servers};

use crate::commands::editable_config::EditableConfig;
use crate::commands::pin::confirm;
use crate::commands::{note, say};

/// Lets the user edit the configuration, and saves it if it is valid.
pub(super) fn edit(own: &EditableConfig) -> anyhow::Result<ExitCode> {
    let editor = editor()?;
    let start = match own.exists() {
        true => own.text().to_owned(),
        false => with_servers("", &[]).map_err(|error| own.edit_error(&error))?,
    };
    let draft = draft(own.path());
    TextFile::read(&draft)?.replace(&start, ReadableBy::Owner)?;
    let text = match edited(&editor, &draft, own) {
        Ok(text) => text,
        Err(error) if is_unchanged(&draft, &start) => {
            remove(&draft)?;
            return Err(error.context("nothing was changed"));
        }
        Err(error) => {
            let place = draft.display();
            return Err(error.context(format!("nothing was changed; your text is in {place}")));
        }
    };
    if text == start {
        note(&format!("{} was not changed", own.path().display()));
    } else {
        own.save(&text)?;
        note(&format!("Saved {}", own.path().display()));
    }
    remove(&draft)?;
    Ok(ExitCode::SUCCESS)
}

fn is_unchanged(draft: &Path, start: &str) -> bool {
    TextFile::read(draft).is_ok_and(|draft| draft.text() == start)
}

fn remove(draft: &Path) -> anyhow::Result<()> {
    std::fs::remove_file(draft).with_context(|| format!("cannot remove '{}'", draft.display()))
}

/// Opens the draft until it is valid or the user gives up.
fn edited(editor: &str, draft: &Path, own: &EditableConfig) -> anyhow::Result<String> {
    loop {
        open(editor, draft)?;
        let text = TextFile::read(draft)?.text().to_owned();
        let Err(error) = own.check(&text) else { return Ok(text) };
        if !io::stdin().is_terminal() {
            return Err(error);
        }
        say(&format!("error: {error:#}"));
        if !confirm("Edit it again?")? {
            bail!("the configuration is not valid");
        }
    }
}

fn editor() -> anyhow::Result<String> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    named
        .into_iter()
        .find(|editor| !editor.trim().is_empty())
        .context("no editor is set; name one, as in `EDITOR=nano onecall config edit`")
}

/// Starts the editor through a shell, because the variable may contain arguments.
fn open(editor: &str, file: &Path) -> anyhow::Result<()> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(file);
    let status = shell.status().with_context(|| format!("cannot start the editor '{editor}'"))?;
    ensure!(status.success(), "the editor '{editor}' ended with {status}");
    Ok(())
}

/// The path of the copy: beside the file and with its extension, so that editors know its syntax.
fn draft(file: &Path) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>, instead: &str| {
        part.map_or_else(|| instead.to_owned(), |part| part.to_string_lossy().into_owned())
    };
    let (stem, extension) = (part(file.file_stem(), "config"), part(file.extension(), "yaml"));
    file.with_file_name(format!("{stem}.edit-{}.{extension}", std::process::id()))
}
