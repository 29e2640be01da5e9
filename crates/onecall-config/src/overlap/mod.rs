//! Checks that the folders that programs may use do not overlap protected places: files that
//! onecall or another program executes, loads or trusts, and files with secrets. All paths are
//! resolved first, so that a link cannot hide an overlap.

mod real_path;

use std::fmt;
use std::path::{Path, PathBuf};

use onecall_core::{Workspace, WorkspaceAccess};

use self::real_path::RealPath;
use crate::local_tools::{FileAction, FilesTool, LocalTool, LocalToolKind};
use crate::model::Config;

/// What programs may do with the files of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FolderAccess {
    /// Read files.
    Read,
    /// Read, change, remove and create files.
    Write,
}

/// A folder whose files programs may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFolder {
    /// The name of the folder in a sentence, such as `the workspace`.
    pub name: String,
    /// The path as it is configured.
    pub path: PathBuf,
    /// What programs may do with the files of the folder.
    pub access: FolderAccess,
}

/// How much of a protected place is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectedExtent {
    /// The file or folder itself: a folder for programs must not contain it, but may be inside it.
    Itself,
    /// The folder and everything below it.
    Tree,
}

/// A file or folder that must be kept from programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPath {
    /// The path, whether or not it exists yet.
    pub path: PathBuf,
    /// What the place is and why it is protected, as text that follows its path.
    pub reason: String,
    /// How much is protected.
    pub extent: ProtectedExtent,
    /// The least access that is harmful.
    pub harmful_access: FolderAccess,
    /// What the user can do other than choose another folder for programs.
    pub alternative: Option<String>,
}

/// A folder for programs that overlaps a protected place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The folder for programs.
    pub folder: ProgramFolder,
    message: String,
    help: String,
}

impl Config {
    /// All folders whose files programs may read or write.
    #[must_use]
    pub fn program_folders(&self) -> Vec<ProgramFolder> {
        let workspace = self.workspace.iter().map(ProgramFolder::of_workspace);
        workspace.chain(self.local_tools.iter().filter_map(ProgramFolder::of_tool)).collect()
    }
}

impl ProgramFolder {
    /// The folder of a workspace.
    #[must_use]
    pub fn of_workspace(workspace: &Workspace) -> Self {
        let access = match workspace.access {
            WorkspaceAccess::ReadOnly => FolderAccess::Read,
            WorkspaceAccess::ReadWrite { .. } => FolderAccess::Write,
        };
        Self { name: "the workspace".to_owned(), path: workspace.path.clone(), access }
    }

    /// The folder of a local tool that reads or writes the content of files.
    fn of_tool(tool: &LocalTool) -> Option<Self> {
        let LocalToolKind::Files(FilesTool { action, root }) = &tool.kind else { return None };
        let access = match action {
            FileAction::Read => FolderAccess::Read,
            FileAction::Write => FolderAccess::Write,
            // These actions only show names.
            FileAction::List | FileAction::Glob => return None,
        };
        let name = format!("'root' of local tool '{}'", tool.name);
        Some(Self { name, path: root.clone(), access })
    }

    /// The first of these protected places that overlaps this folder.
    #[must_use]
    pub fn overlap(&self, places: &[ProtectedPath]) -> Option<Overlap> {
        let folder = RealPath::of(&self.path);
        let harmful = |place: &&ProtectedPath| self.access >= place.harmful_access;
        places.iter().filter(harmful).find_map(|place| self.overlap_with(folder.resolved(), place))
    }

    fn overlap_with(&self, folder: &Path, place: &ProtectedPath) -> Option<Overlap> {
        let real = RealPath::of(&place.path);
        let (relation, at) = match real.first_part_inside(folder) {
            Some(part) if part == folder => ("is", part),
            Some(part) => ("holds", part),
            None if place.extent == ProtectedExtent::Tree
                && folder.starts_with(real.resolved()) =>
            {
                ("is inside", real.resolved())
            }
            None => return None,
        };
        let mut help = "use another folder".to_owned();
        if at.starts_with(folder) {
            help += &format!(", such as '{}'", folder.join("workspace").display());
        }
        if let Some(alternative) = &place.alternative {
            help += &format!(", or {alternative}");
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
    /// What the user can do.
    #[must_use]
    pub fn help(&self) -> &str {
        &self.help
    }

    /// The description of the overlap and its danger, without the remedy.
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
