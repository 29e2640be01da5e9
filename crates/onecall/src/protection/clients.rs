//! The configuration files of MCP clients. They contain commands that clients start, and secrets.

use std::path::{Path, PathBuf};

use onecall_clients::{
    Client, ClientFileLocation, FileFormat, Os, Scope, TextFile, UserEnvironment, secrets_in,
};
use onecall_config::{FolderAccess, ProcessContext, ProgramFolder, ProtectedExtent, ProtectedPath};

/// The user's files, and those of the project in the working directory, whether they exist or not.
pub(super) fn of_process(context: &ProcessContext<'_>) -> Vec<ProtectedPath> {
    let project = &context.working_directory;
    let protected = files(project, context.environment).into_iter().map(|location| {
        let harmful = match location.scope {
            Scope::User => FolderAccess::Read,
            Scope::Project if holds_secrets(&location) => FolderAccess::Read,
            Scope::Project => FolderAccess::Write,
        };
        protected(&location, harmful)
    });
    protected.collect()
}

/// The files with secrets in a folder, if it is the project folder of a client.
pub(super) fn of_folder(folder: &ProgramFolder) -> Vec<ProtectedPath> {
    let environment = |name: &str| std::env::var(name).ok();
    let files = files(&folder.path, &environment).into_iter();
    let secret =
        files.filter(|location| location.scope == Scope::Project && holds_secrets(location));
    secret.map(|location| protected(&location, FolderAccess::Read)).collect()
}

fn files(project: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Vec<ClientFileLocation> {
    let home = environment("HOME").unwrap_or_default();
    let project = project.to_string_lossy().into_owned();
    let host = UserEnvironment { os: Os::CURRENT, environment, home, project };
    Client::NAMES.iter().flat_map(|(.., client)| host.locations(*client)).collect()
}

fn protected(location: &ClientFileLocation, harmful: FolderAccess) -> ProtectedPath {
    let is_folder = location.path.to_string_lossy().ends_with('/');
    ProtectedPath {
        path: location.path.clone(),
        reason: format!(
            "the configuration of {}, which says what it starts and may hold secrets",
            location.client
        ),
        extent: if is_folder { ProtectedExtent::Tree } else { ProtectedExtent::Itself },
        harmful_access: harmful,
        alternative: match location.scope {
            Scope::User => None,
            Scope::Project => Some("start onecall in another folder".to_owned()),
        },
    }
}

fn holds_secrets(location: &ClientFileLocation) -> bool {
    let is_secret = |path: PathBuf| {
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let format = if is_json { FileFormat::Json } else { location.section.format };
        let text = TextFile::read(&path).ok();
        // A file that cannot be read may contain secrets.
        text.is_none_or(|file| file.exists() && !secrets_in(file.text(), format).is_empty())
    };
    if !location.path.to_string_lossy().ends_with('/') {
        return is_secret(location.path.clone());
    }
    let folder = std::fs::read_dir(&location.path).into_iter().flatten().flatten();
    folder.map(|entry| entry.path()).filter(|path| path.is_file()).any(is_secret)
}
