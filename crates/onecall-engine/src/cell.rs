//! How the cell of a program is to be built, told by the gateway to its zygotes.

use std::path::{Path, PathBuf};

use onecall_core::{Workspace, WorkspaceAccess};
use onecall_jail::{Jail, Mode};
use serde::{Deserialize, Serialize};

/// The one thing any Python program may read from disk: the time zones.
const TIME_ZONES: &str = "/usr/share/zoneinfo";

/// Where a program finds a file for each tool.
const TOOLS: &str = "/tools";

/// What a zygote has to know; its one argument, as JSON.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Plan {
    #[serde(with = "JailMode")]
    pub(crate) mode: Mode,
    /// The folder that programs may use.
    pub(crate) folder: Option<Folder>,
    /// The folder with a file for each tool.
    #[serde(default)]
    pub(crate) tools: Option<PathBuf>,
    /// The interpreter to become, if it is not this binary's own.
    pub(crate) interpreter: Option<Interpreter>,
}

/// A folder for programs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Folder {
    path: PathBuf,
    writable: bool,
}

/// An interpreter on this machine.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Interpreter {
    pub(crate) executable: PathBuf,
    /// Where its modules and libraries are.
    pub(crate) paths: Vec<PathBuf>,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Mode")]
enum JailMode {
    Required,
    BestEffort,
    Off,
}

impl Plan {
    /// For programs that may use `workspace`, and look into `tools` unless that is where
    /// their workspace is.
    pub(crate) fn new(mode: Mode, workspace: Option<&Workspace>, tools: Option<&Path>) -> Self {
        let taken = workspace.is_some_and(|workspace| workspace.path.starts_with(TOOLS));
        let tools = tools.filter(|_| !taken).map(Path::to_owned);
        let folder = workspace.map(|workspace| Folder {
            path: workspace.path.clone(),
            writable: workspace.access != WorkspaceAccess::ReadOnly,
        });
        Self { mode, folder, tools, interpreter: None }
    }

    /// Reads the argument of a zygote.
    pub(crate) fn parse(argument: &str) -> serde_json::Result<Self> {
        serde_json::from_str(argument)
    }

    pub(crate) fn jail(&self) -> Jail {
        let mut jail = Jail { mode: self.mode, ..Jail::default() };
        jail.readable.push(TIME_ZONES.into());
        if let Some(Folder { path, writable }) = &self.folder {
            jail.folder = Some(path.clone());
            if *writable {
                jail.writable = Some(path.clone());
            } else {
                jail.readable.push(path.clone());
            }
        }
        if let Some(tools) = &self.tools {
            jail.presented.push((tools.clone(), TOOLS.into()));
        }
        if let Some(interpreter) = &self.interpreter {
            jail.loadable.push(interpreter.executable.clone());
            jail.loadable.extend(interpreter.paths.iter().cloned());
        }
        jail
    }
}
