//! Finds the system's Python and where its files are.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::process::Command;

use crate::cell::Interpreter;
use crate::pool::EngineError;

const PROBE: &str = include_str!("probe.py");

/// What is looked for on `PATH` where the configuration names nothing.
const DEFAULT: &str = "python3";

/// An interpreter that has said nothing by then is none.
const TIMEOUT: Duration = Duration::from_secs(20);

const OLDEST: (u32, u32) = (3, 11);

/// Where the libraries of a Linux system are, and the list of them.
const LIBRARIES: [&str; 6] =
    ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"];

#[derive(Deserialize)]
struct Probed {
    implementation: String,
    version: (u32, u32, u32),
    executable: PathBuf,
    paths: Vec<PathBuf>,
    lacks: Vec<String>,
}

/// The interpreter that `python` names, an executable or the folder of a virtual
/// environment.
pub(crate) async fn find(python: Option<&Path>) -> Result<Interpreter, EngineError> {
    let program = match python {
        Some(folder) if folder.is_dir() => folder.join("bin/python"),
        Some(file) => file.to_owned(),
        None => DEFAULT.into(),
    };
    let refused = |reason: String| {
        let (shown, setting) = (program.display(), "set `python` to a CPython from 3.11 on");
        EngineError::NoInterpreter { reason: format!("{shown} {reason}; {setting}") }
    };
    let probed = probe(&program).await.map_err(refused)?;
    let (major, minor, patch) = probed.version;
    if probed.implementation != "CPython" || (major, minor) < OLDEST {
        let is = format!("is {} {major}.{minor}.{patch}", probed.implementation);
        return Err(refused(is));
    }
    if !probed.lacks.is_empty() {
        return Err(refused(format!("lacks the module {}", probed.lacks.join(" and "))));
    }
    let mut paths = probed.paths;
    paths.extend(LIBRARIES.map(PathBuf::from));
    Ok(Interpreter { executable: probed.executable, paths })
}

async fn probe(program: &Path) -> Result<Probed, String> {
    let child = Command::new(program)
        .args(["-I", "-B", "-c", PROBE])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(TIMEOUT, child)
        .await
        .map_err(|_| format!("did not answer within {}s", TIMEOUT.as_secs()))?
        .map_err(|error| format!("cannot be started: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("it said nothing");
        format!("is no Python that can be used ({}): {last}", output.status)
    })
}
