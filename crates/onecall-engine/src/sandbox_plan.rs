//! The sandbox plan: how the sandbox of a program is to be built. The gateway passes it to its
//! zygotes.

use std::path::{Path, PathBuf};

use onecall_core::{Workspace, WorkspaceAccess};
use onecall_jail::{Jail, JailMode, Property, Requirement};
use serde::{Deserialize, Serialize};

use crate::files::{self, FileServer};
use crate::scratch::{ScratchFolder, ScratchProvision};

/// The only files that every program on the system's Python may read: the time zones.
const TIME_ZONES: &str = "/usr/share/zoneinfo";

/// The path at which a program finds a file for each tool.
const TOOLS_PATH: &str = "/tools";

/// A folder as a program sees it.
#[derive(Debug)]
pub(crate) struct VisibleFolder {
    /// The path that the program sees.
    pub(crate) path: String,
    /// The number by which the gateway knows the folder.
    pub(crate) number: u8,
}

/// The sandbox plan of a zygote, passed to it as JSON in one argument.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct SandboxPlan {
    #[serde(with = "SerializedMode")]
    mode: JailMode,
    /// Names of the sandbox properties that the configuration does not require.
    without: Vec<String>,
    /// The workspace folder.
    pub(crate) folder: Option<WorkspaceFolder>,
    /// The folder with a file for each tool.
    #[serde(default)]
    pub(crate) tools: Option<PathBuf>,
    /// The size of the scratch folder in the root of the sandbox, if there is one there.
    #[serde(default)]
    pub(crate) scratch_bytes: Option<u64>,
    /// The interpreter to execute, if it is not part of this binary.
    pub(crate) interpreter: Option<Interpreter>,
}

/// A workspace folder, and whether programs may write to it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct WorkspaceFolder {
    path: PathBuf,
    writable: bool,
}

/// An interpreter on this machine.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Interpreter {
    pub(crate) executable: PathBuf,
    /// The folders of its modules and libraries.
    pub(crate) paths: Vec<PathBuf>,
    /// Its version, once it was asked.
    #[serde(default)]
    pub(crate) version: Option<String>,
}

/// Whether a sandbox that fulfils `requirement` keeps programs from changing files, other processes and the
/// network by themselves.
pub(crate) fn confines_effects(requirement: &Requirement) -> bool {
    [Property::Files, Property::Network, Property::Processes]
        .into_iter()
        .all(|property| requirement.demands(property))
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "JailMode")]
enum SerializedMode {
    Required,
    BestEffort,
    Off,
}

impl SandboxPlan {
    /// A plan for programs that may use `workspace` and read `tools`. A workspace below `/tools`
    /// hides the tools.
    pub(crate) fn new(
        requirement: &Requirement,
        workspace: Option<&Workspace>,
        tools: Option<&Path>,
    ) -> Self {
        let taken = workspace.is_some_and(|workspace| workspace.path.starts_with(TOOLS_PATH));
        let tools = tools.filter(|_| !taken).map(Path::to_owned);
        let folder = workspace.map(|workspace| WorkspaceFolder {
            path: workspace.path.clone(),
            writable: workspace.access != WorkspaceAccess::ReadOnly,
        });
        let without = requirement.without.iter().map(|it| it.name().to_owned()).collect();
        let (scratch_bytes, interpreter) = (None, None);
        Self { mode: requirement.mode, without, folder, tools, scratch_bytes, interpreter }
    }

    /// Parses the argument of a zygote.
    pub(crate) fn parse(argument: &str) -> serde_json::Result<Self> {
        serde_json::from_str(argument)
    }

    /// The sandbox properties that are required before a program runs.
    pub(crate) fn requirement(&self) -> Requirement {
        let without = self.without.iter().filter_map(|name| Property::named(name)).collect();
        Requirement { mode: self.mode, without }
    }

    /// The folders for programs on the embedded interpreter; their working directory comes first.
    pub(crate) fn visible_folders(&self) -> Vec<VisibleFolder> {
        let workspace = self.folder.as_ref().map(|folder| VisibleFolder {
            path: folder.path.to_string_lossy().into_owned(),
            number: files::WORKSPACE,
        });
        let tools = self
            .tools
            .as_ref()
            .map(|_| VisibleFolder { path: TOOLS_PATH.to_owned(), number: files::TOOLS });
        workspace.into_iter().chain(tools).collect()
    }

    /// The files that the gateway opens for programs on the embedded interpreter; `None` without a
    /// sandbox, where programs open files themselves.
    pub(crate) fn files(&self) -> Option<FileServer> {
        let workspace = self.folder.as_ref().map(|folder| (folder.path.as_path(), folder.writable));
        (self.mode != JailMode::Off).then(|| FileServer::new(workspace, self.tools.as_deref()))
    }

    /// How programs that use a scratch folder get it; `otherwise` is the engine's usual way.
    pub(crate) fn scratch_provision(&self, otherwise: ScratchProvision) -> ScratchProvision {
        let scratch_path = Path::new(ScratchFolder::PATH);
        let taken =
            self.folder.as_ref().is_some_and(|folder| scratch_path.starts_with(&folder.path));
        match self.scratch_bytes {
            _ if taken || self.mode == JailMode::Off => ScratchProvision::Never,
            Some(bytes) => ScratchProvision::Mounted(ScratchFolder { bytes }),
            None => otherwise,
        }
    }

    /// The sandbox. Programs on the embedded interpreters make no system call for files; programs
    /// on another interpreter open its files and those of their folders themselves.
    pub(crate) fn jail(&self) -> Jail {
        let mut jail = Jail { requirement: self.requirement(), ..Jail::default() };
        let Some(interpreter) = &self.interpreter else {
            if self.mode == JailMode::Off {
                jail.start_folder = self.folder.as_ref().map(|folder| folder.path.clone());
            }
            return jail;
        };
        jail.readable.push(TIME_ZONES.into());
        if let Some(WorkspaceFolder { path, writable }) = &self.folder {
            jail.start_folder = Some(path.clone());
            if *writable {
                jail.writable = Some(path.clone());
            } else {
                jail.readable.push(path.clone());
            }
        }
        if let Some(tools) = &self.tools {
            jail.remapped.push((tools.clone(), TOOLS_PATH.into()));
        }
        jail.scratch = self.scratch_bytes.map(|bytes| ScratchFolder { bytes });
        jail.loadable.push(interpreter.executable.clone());
        jail.loadable.extend(interpreter.paths.iter().cloned());
        jail
    }
}
