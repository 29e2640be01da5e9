//! Checks whether an installation has the requested versions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cargo::{output, root};
use crate::process::wait_until;

/// How long an installation may take.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(300);

/// The path of the file or folder that lists the versions.
pub fn versions_path(name: &str) -> PathBuf {
    root().join("tests/interop").join(name)
}

/// The path of an installation that tests share.
pub fn shared_path(name: &str) -> PathBuf {
    output("interop").join(name)
}

/// Creates a folder with `make`, unless it was made from the same `versions`.
pub fn install_if_changed(
    folder: PathBuf,
    versions: &Path,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let readable = |error| format!("{} cannot be read: {error}", versions.display());
    let wanted = std::fs::read(versions).map_err(readable)?;
    let stamp = folder.join("installed");
    if std::fs::read(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(folder);
    }
    eprintln!("installing {} into {}", versions.display(), folder.display());
    let write = |error| format!("{} cannot be written: {error}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(write)?;
    }
    std::fs::create_dir_all(&folder).map_err(write)?;
    make(&folder)?;
    std::fs::write(&stamp, wanted).map_err(write)?;
    Ok(folder)
}

/// Runs an installer to its end; the error contains its message.
pub fn run(mut command: Command) -> Result<(), String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{shown}: {error}"))?;
    let said = child.stderr.take();
    let said = std::thread::spawn(move || said.map(std::io::read_to_string));
    let mut status = None;
    wait_until(INSTALL_TIMEOUT, || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("{shown} took longer than {INSTALL_TIMEOUT:?}"));
    }
    if status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let said = said.join().ok().flatten().and_then(Result::ok).unwrap_or_default();
    let is_reason = |line: &&str| line.starts_with("ERROR") || line.starts_with("npm error");
    let reason = said.lines().find(is_reason).or(said.lines().last());
    Err(format!("{shown} failed: {}", reason.unwrap_or("it does not say why")))
}
