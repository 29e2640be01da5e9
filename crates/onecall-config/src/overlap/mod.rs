//! Keeps the folders that programs may use apart from what must be kept from them: files
//! that onecall or another program starts, loads or believes, and files with secrets.
//! Everything is compared by its real path, so that a link hides nothing.

mod real_path;

use std::fmt;
use std::path::{Path, PathBuf};

use onecall_core::{Workspace, WorkspaceAccess};

use self::real_path::RealPath;
use crate::local_tools::{FileAction, FilesTool, LocalTool, LocalWork};
use crate::model::Config;

/// What programs may do with the files of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FolderAccess {
    /// Read them.
    Read,
    /// Read, change, remove and create them.
    Write,
}

/// A folder whose files programs may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFolder {
    /// What it is in a sentence: `the workspace`.
    pub name: String,
    /// Where it is, as it is written.
    pub path: PathBuf,
    /// What programs may do there.
    pub access: FolderAccess,
}

/// How far a protected place reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The file or folder itself: a folder for programs must not hold it, but may lie inside.
    Itself,
    /// The folder and all below it.
    Tree,
}

/// A file or folder that must be kept from programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPlace {
    /// Where it is, whether it exists yet or not.
    pub path: PathBuf,
    /// What it is and why programs must not have it, to be read after its path.
    pub reason: String,
    /// How far it reaches.
    pub extent: Extent,
    /// The least access that does harm.
    pub harmful: FolderAccess,
    /// What a user can do other than choose another folder for programs.
    pub way_out: Option<String>,
}

/// A folder for programs that overlaps a protected place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The folder for programs.
    pub folder: OpenFolder,
    message: String,
    help: String,
}

impl Config {
    /// Every folder whose files programs may read or write.
    #[must_use]
    pub fn open_folders(&self) -> Vec<OpenFolder> {
        let workspace = self.workspace.iter().map(OpenFolder::of_workspace);
        workspace.chain(self.local_tools.iter().filter_map(OpenFolder::of_tool)).collect()
    }
}

impl OpenFolder {
    /// The folder of a workspace.
    #[must_use]
    pub fn of_workspace(workspace: &Workspace) -> Self {
        let access = match workspace.access {
            WorkspaceAccess::ReadOnly => FolderAccess::Read,
            WorkspaceAccess::ReadWrite { .. } => FolderAccess::Write,
        };
        Self { name: "the workspace".to_owned(), path: workspace.path.clone(), access }
    }

    /// The folder of a local tool that shows or changes what is in files.
    fn of_tool(tool: &LocalTool) -> Option<Self> {
        let LocalWork::Files(FilesTool { action, root }) = &tool.work else { return None };
        let access = match action {
            FileAction::Read => FolderAccess::Read,
            FileAction::Write => FolderAccess::Write,
            // These show names and nothing else.
            FileAction::List | FileAction::Glob => return None,
        };
        let name = format!("'root' of local tool '{}'", tool.name);
        Some(Self { name, path: root.clone(), access })
    }

    /// The first of these places that must not be within the reach of programs but is.
    #[must_use]
    pub fn overlap(&self, places: &[ProtectedPlace]) -> Option<Overlap> {
        let folder = RealPath::of(&self.path);
        let harmful = |place: &&ProtectedPlace| self.access >= place.harmful;
        places.iter().filter(harmful).find_map(|place| self.overlap_with(folder.end(), place))
    }

    fn overlap_with(&self, folder: &Path, place: &ProtectedPlace) -> Option<Overlap> {
        let real = RealPath::of(&place.path);
        let (relation, at) = match real.part_in(folder) {
            Some(part) if part == folder => ("is", part),
            Some(part) => ("holds", part),
            None if place.extent == Extent::Tree && folder.starts_with(real.end()) => {
                ("is inside", real.end())
            }
            None => return None,
        };
        let mut help = "use another folder".to_owned();
        if at.starts_with(folder) {
            help += &format!(", such as '{}'", folder.join("workspace").display());
        }
        if let Some(way_out) = &place.way_out {
            help += &format!(", or {way_out}");
        }
        let really = if folder == self.path {
            String::new()
        } else {
            format!(" (really '{}')", folder.display())
        };
        let message = format!(
            "{} '{}'{really} {relation} '{}', {}",
            self.name,
            self.path.display(),
            at.display(),
            place.reason
        );
        Some(Overlap { folder: self.clone(), message, help })
    }
}

impl Overlap {
    /// What can be done about it.
    #[must_use]
    pub fn help(&self) -> &str {
        &self.help
    }

    /// What overlaps what, and why that is dangerous, without what can be done about it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n  help: {}", self.message, self.help)
    }
}

impl std::error::Error for Overlap {}
