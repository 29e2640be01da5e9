//! Selects the system's Python. Each candidate is run once to find out its version and modules; it
//! runs inside the sandbox, because an environment may contain code that runs whenever Python
//! starts.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::installation::Installation;
use super::search::{self, DEFAULT};
use super::{CANNOT_EXECUTE, CANNOT_LOCK_IN, PROBE};
use crate::cell::{Interpreter, Plan};
use crate::engines::EngineSettings;
use crate::pool::EngineError;

/// How long an interpreter may take to answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes of an interpreter's output that are read; its answer is shorter.
const MOST_BYTES: u64 = 64 * 1024;

const OLDEST: (u32, u32) = (3, 11);

/// The folders of libraries on Linux, and the linker's cache.
const LIBRARIES: [&str; 6] =
    ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"];

#[derive(Deserialize)]
struct Probed {
    implementation: String,
    version: (u32, u32, u32),
    lacks: Vec<String>,
}

/// The files of the system's Python, found without running it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonFiles {
    /// Executables, virtual environments, and folders of modules and libraries.
    pub installed: Vec<PathBuf>,
    /// Folders elsewhere that modules are imported from, such as the sources of editable installs.
    pub linked: Vec<PathBuf>,
}

impl PythonFiles {
    /// The files of every interpreter that `python` may refer to: an executable, the folder of a
    /// virtual environment, or a name on `PATH`; `python3` if absent.
    #[must_use]
    pub fn of(python: Option<&Path>) -> Self {
        let mut files = Self::default();
        for executable in search::executables(python) {
            let installation = Installation::of(&executable);
            files.installed.push(executable);
            files.installed.extend(installation.environment().map(Path::to_owned));
            files.installed.extend(installation.files());
            files.linked.extend(installation.linked_folders());
        }
        files
    }
}

/// Finds the interpreter that `settings` ask for: the first candidate that can be used.
pub(crate) async fn find(settings: &EngineSettings) -> Result<Interpreter, EngineError> {
    let python = settings.python.as_deref();
    let mut first = None;
    for executable in search::executables(python) {
        match examine(settings, &executable).await {
            Err(error @ EngineError::NoInterpreter { .. }) => _ = first.get_or_insert(error),
            answer => return answer,
        }
    }
    let missing = || {
        let not_found = io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
        refused(python.unwrap_or(Path::new(DEFAULT)), &Unusable::NotStarted(not_found))
    };
    Err(first.unwrap_or_else(missing))
}

async fn examine(settings: &EngineSettings, path: &Path) -> Result<Interpreter, EngineError> {
    if let Err(error) = std::fs::metadata(path) {
        return Err(refused(path, &Unusable::NotStarted(error)));
    }
    if search::is_script(path) {
        return Err(refused(path, &Unusable::Script));
    }
    let interpreter = interpreter(&Installation::of(path), &settings.withheld);
    let said = probe(settings, &interpreter).await;
    match said.and_then(judge) {
        Ok(()) => Ok(interpreter),
        Err(Unusable::NotLockedIn { reason }) => Err(EngineError::Died { reason }),
        Err(unusable) => Err(refused(path, &unusable)),
    }
}

fn interpreter(installation: &Installation, withheld: &[(PathBuf, String)]) -> Interpreter {
    let mut paths = installation.files();
    for folder in installation.linked_folders() {
        match withheld.iter().find(|(path, _)| *path == folder) {
            Some((_, reason)) => {
                tracing::warn!(
                    "Python programs cannot import from '{}': {reason}",
                    folder.display()
                );
            }
            None => paths.push(folder),
        }
    }
    paths.extend(LIBRARIES.map(PathBuf::from));
    Interpreter { executable: installation.executable.clone(), paths }
}

fn refused(program: &Path, reason: &Unusable) -> EngineError {
    let (shown, setting) = (program.display(), "set `python` to a CPython from 3.11 on");
    EngineError::NoInterpreter { reason: format!("{shown} {reason}; {setting}") }
}

/// Why an interpreter cannot be used.
#[derive(Debug, Error)]
enum Unusable {
    #[error("cannot be started: {0}")]
    NotStarted(#[source] io::Error),
    #[error("is a script; only an interpreter itself can be locked in")]
    Script,
    /// The interpreter was not started, because its sandbox could not be built.
    #[error("{reason}")]
    NotLockedIn { reason: String },
    #[error("did not answer within {}s", TIMEOUT.as_secs())]
    NoAnswer,
    #[error("is no Python that can be used ({status}): {last_words}")]
    NoPython { status: ExitStatus, last_words: String },
    #[error("is {implementation} {}.{}.{}", version.0, version.1, version.2)]
    OtherPython { implementation: String, version: (u32, u32, u32) },
    #[error("lacks the module {}", modules.join(" and "))]
    Lacks { modules: Vec<String> },
}

/// Decides whether an interpreter can be used, from what it reports about itself.
fn judge(probed: Probed) -> Result<(), Unusable> {
    let Probed { implementation, version, lacks: modules } = probed;
    let (major, minor, _) = version;
    if implementation != "CPython" || (major, minor) < OLDEST {
        return Err(Unusable::OtherPython { implementation, version });
    }
    if !modules.is_empty() {
        return Err(Unusable::Lacks { modules });
    }
    Ok(())
}

async fn probe(settings: &EngineSettings, interpreter: &Interpreter) -> Result<Probed, Unusable> {
    let asked = tokio::time::timeout(TIMEOUT, ask(settings, interpreter)).await;
    let (status, stdout, stderr) =
        asked.map_err(|_| Unusable::NoAnswer)?.map_err(Unusable::NotStarted)?;
    let said = String::from_utf8_lossy(&stderr);
    let last_words = said.lines().last().unwrap_or("it said nothing").to_owned();
    match status.code() {
        Some(CANNOT_LOCK_IN) => return Err(Unusable::NotLockedIn { reason: last_words }),
        Some(CANNOT_EXECUTE) => return Err(Unusable::NotStarted(io::Error::other(last_words))),
        _ => {}
    }
    serde_json::from_slice(&stdout).map_err(|_| Unusable::NoPython { status, last_words })
}

/// Starts this binary again, which builds the sandbox and then executes the interpreter.
async fn ask(
    settings: &EngineSettings,
    interpreter: &Interpreter,
) -> io::Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
    let mut plan = Plan::new(&settings.sandbox, None, None);
    plan.interpreter = Some(interpreter.clone());
    let (setting, value) = onecall_jail::ALLOCATOR_SETTING;
    let mut child = Command::new(&settings.executable)
        .arg(PROBE)
        .arg(serde_json::to_string(&plan)?)
        .env_clear()
        .env(setting, value)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = tokio::join!(beginning(stdout), beginning(stderr));
    Ok((child.wait().await?, stdout?, stderr?))
}

/// Reads the beginning of a pipe, up to the limit; then the pipe is closed.
async fn beginning(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(MOST_BYTES).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
