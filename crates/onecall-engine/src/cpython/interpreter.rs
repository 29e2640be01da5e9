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
use super::search::{self, DEFAULT_PYTHON};
use super::{EXIT_NOT_EXECUTED, EXIT_SANDBOX_FAILED, PROBE_ARGUMENT};
use crate::engines::EngineSettings;
use crate::pool::EngineError;
use crate::sandbox_plan::{Interpreter, SandboxPlan};

/// How long an interpreter may take to answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes of an interpreter's output that are read; its answer is shorter.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;

const MIN_VERSION: (u32, u32) = (3, 11);

/// The folders of libraries on Linux, and the linker's cache.
const LIBRARIES: [&str; 6] =
    ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"];

#[derive(Deserialize)]
struct ProbeReport {
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
pub(crate) async fn find_interpreter(
    settings: &EngineSettings,
) -> Result<Interpreter, EngineError> {
    let python = settings.python.as_deref();
    let mut first = None;
    for executable in search::executables(python) {
        match check_candidate(settings, &executable).await {
            Err(error @ EngineError::NoInterpreter { .. }) => _ = first.get_or_insert(error),
            answer => return answer,
        }
    }
    let missing = || {
        let not_found = io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
        no_interpreter(
            python.unwrap_or(Path::new(DEFAULT_PYTHON)),
            &Unusable::NotStarted(not_found),
        )
    };
    Err(first.unwrap_or_else(missing))
}

async fn check_candidate(
    settings: &EngineSettings,
    path: &Path,
) -> Result<Interpreter, EngineError> {
    if let Err(error) = std::fs::metadata(path) {
        return Err(no_interpreter(path, &Unusable::NotStarted(error)));
    }
    if search::is_script(path) {
        return Err(no_interpreter(path, &Unusable::Script));
    }
    let interpreter = interpreter(&Installation::of(path), &settings.unreadable_module_folders);
    let report = probe(settings, &interpreter).await;
    match report.and_then(check_report) {
        Ok((major, minor, micro)) => {
            Ok(Interpreter { version: Some(format!("{major}.{minor}.{micro}")), ..interpreter })
        }
        Err(Unusable::SandboxFailed { reason }) => Err(EngineError::Died { reason }),
        Err(unusable) => Err(no_interpreter(path, &unusable)),
    }
}

fn interpreter(
    installation: &Installation,
    unreadable_module_folders: &[(PathBuf, String)],
) -> Interpreter {
    let mut paths = installation.files();
    for folder in installation.linked_folders() {
        match unreadable_module_folders.iter().find(|(path, _)| *path == folder) {
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
    Interpreter { executable: installation.executable.clone(), paths, version: None }
}

fn no_interpreter(program: &Path, reason: &Unusable) -> EngineError {
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
    SandboxFailed { reason: String },
    #[error("did not answer within {}s", PROBE_TIMEOUT.as_secs())]
    NoAnswer,
    #[error("is not a Python that onecall can use ({status}): {last_line}")]
    NotPython { status: ExitStatus, last_line: String },
    #[error("is {implementation} {}.{}.{}", version.0, version.1, version.2)]
    UnsupportedPython { implementation: String, version: (u32, u32, u32) },
    #[error("lacks the module {}", modules.join(" and "))]
    MissingModules { modules: Vec<String> },
}

/// Decides whether an interpreter can be used, from what it reports about itself. The result is its
/// version.
fn check_report(probed: ProbeReport) -> Result<(u32, u32, u32), Unusable> {
    let ProbeReport { implementation, version, lacks: modules } = probed;
    let (major, minor, _) = version;
    if implementation != "CPython" || (major, minor) < MIN_VERSION {
        return Err(Unusable::UnsupportedPython { implementation, version });
    }
    if !modules.is_empty() {
        return Err(Unusable::MissingModules { modules });
    }
    Ok(version)
}

async fn probe(
    settings: &EngineSettings,
    interpreter: &Interpreter,
) -> Result<ProbeReport, Unusable> {
    let asked = tokio::time::timeout(PROBE_TIMEOUT, run_probe_process(settings, interpreter)).await;
    let (status, stdout, stderr) =
        asked.map_err(|_| Unusable::NoAnswer)?.map_err(Unusable::NotStarted)?;
    let stderr = String::from_utf8_lossy(&stderr);
    let last_line = stderr.lines().last().unwrap_or("it printed nothing").to_owned();
    match status.code() {
        Some(EXIT_SANDBOX_FAILED) => return Err(Unusable::SandboxFailed { reason: last_line }),
        Some(EXIT_NOT_EXECUTED) => return Err(Unusable::NotStarted(io::Error::other(last_line))),
        _ => {}
    }
    serde_json::from_slice(&stdout).map_err(|_| Unusable::NotPython { status, last_line })
}

/// Starts this binary again, which builds the sandbox and then executes the interpreter.
async fn run_probe_process(
    settings: &EngineSettings,
    interpreter: &Interpreter,
) -> io::Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
    let mut plan = SandboxPlan::new(&settings.sandbox, None, None);
    plan.interpreter = Some(interpreter.clone());
    let (setting, value) = onecall_jail::ALLOCATOR_SETTING;
    let mut child = Command::new(&settings.executable)
        .arg(PROBE_ARGUMENT)
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
    let (stdout, stderr) = tokio::join!(read_limited(stdout), read_limited(stderr));
    Ok((child.wait().await?, stdout?, stderr?))
}

/// Reads the beginning of a pipe, up to the limit; then the pipe is closed.
async fn read_limited(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
