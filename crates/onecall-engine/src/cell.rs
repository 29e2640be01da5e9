//! How the cell of a program is to be built, told by the gateway to its zygotes.

use std::path::{Path, PathBuf};

use onecall_core::{Workspace, WorkspaceAccess};
use onecall_jail::{Jail, Mode, Property, Requirement};
use serde::{Deserialize, Serialize};

use crate::files::{self, Files};
use crate::scratch::{Provision, Scratch};

/// The one thing any program of the system's Python may read from disk: the time zones.
const TIME_ZONES: &str = "/usr/share/zoneinfo";

/// Where a program finds a file for each tool.
const TOOLS: &str = "/tools";

/// A folder as a program sees it.
#[derive(Debug)]
pub(crate) struct Visible {
    /// Where it is for the program.
    pub(crate) path: String,
    /// By which the gateway knows it.
    pub(crate) number: u8,
}

/// What a zygote has to know; its one argument, as JSON.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Plan {
    #[serde(with = "JailMode")]
    mode: Mode,
    /// Names of the properties that the configuration does without.
    without: Vec<String>,
    /// The folder that programs may use.
    pub(crate) folder: Option<Folder>,
    /// The folder with a file for each tool.
    #[serde(default)]
    pub(crate) tools: Option<PathBuf>,
    /// The memory of the scratch folder in the root of its programs, if they have one there.
    #[serde(default)]
    pub(crate) scratch_bytes: Option<u64>,
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
    pub(crate) fn new(
        requirement: &Requirement,
        workspace: Option<&Workspace>,
        tools: Option<&Path>,
    ) -> Self {
        let taken = workspace.is_some_and(|workspace| workspace.path.starts_with(TOOLS));
        let tools = tools.filter(|_| !taken).map(Path::to_owned);
        let folder = workspace.map(|workspace| Folder {
            path: workspace.path.clone(),
            writable: workspace.access != WorkspaceAccess::ReadOnly,
        });
        let without = requirement.without.iter().map(|it| it.name().to_owned()).collect();
        let (scratch_bytes, interpreter) = (None, None);
        Self { mode: requirement.mode, without, folder, tools, scratch_bytes, interpreter }
    }

    /// Reads the argument of a zygote.
    pub(crate) fn parse(argument: &str) -> serde_json::Result<Self> {
        serde_json::from_str(argument)
    }

    /// What has to hold of the sandbox before a program runs.
    pub(crate) fn requirement(&self) -> Requirement {
        let without = self.without.iter().filter_map(|name| Property::named(name)).collect();
        Requirement { mode: self.mode, without }
    }

    /// The folders for programs of the embedded interpreter, the one they start in first.
    pub(crate) fn visible(&self) -> Vec<Visible> {
        let workspace = self.folder.as_ref().map(|folder| Visible {
            path: folder.path.to_string_lossy().into_owned(),
            number: files::WORKSPACE,
        });
        let tools =
            self.tools.as_ref().map(|_| Visible { path: TOOLS.to_owned(), number: files::TOOLS });
        workspace.into_iter().chain(tools).collect()
    }

    /// What the gateway opens for programs of the embedded interpreter. Without a sandbox,
    /// they open files themselves.
    pub(crate) fn files(&self) -> Option<Files> {
        let workspace = self.folder.as_ref().map(|folder| (folder.path.as_path(), folder.writable));
        (self.mode != Mode::Off).then(|| Files::new(workspace, self.tools.as_deref()))
    }

    /// How programs that name a scratch folder come to it, given how they would otherwise.
    pub(crate) fn provision(&self, otherwise: Provision) -> Provision {
        let place = Path::new(Scratch::PLACE);
        let taken = self.folder.as_ref().is_some_and(|folder| place.starts_with(&folder.path));
        match self.scratch_bytes {
            _ if taken || self.mode == Mode::Off => Provision::Never,
            Some(bytes) => Provision::Mounted(Scratch { bytes }),
            None => otherwise,
        }
    }

    /// The walls. Programs of the embedded interpreters make no file call; those of another
    /// one open its files and those of their folders themselves.
    pub(crate) fn jail(&self) -> Jail {
        let mut jail = Jail { requirement: self.requirement(), ..Jail::default() };
        let Some(interpreter) = &self.interpreter else {
            if self.mode == Mode::Off {
                jail.folder = self.folder.as_ref().map(|folder| folder.path.clone());
            }
            return jail;
        };
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
        jail.scratch = self.scratch_bytes.map(|bytes| Scratch { bytes });
        jail.loadable.push(interpreter.executable.clone());
        jail.loadable.extend(interpreter.paths.iter().cloned());
        jail
    }
}
