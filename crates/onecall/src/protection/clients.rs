//! The configuration files of MCP clients. They contain commands that clients start, and secrets.

use std::path::{Path, PathBuf};

use onecall_clients::{Client, Format, Host, Os, Place, Scope, TextFile, secrets_in};
use onecall_config::{Extent, FolderAccess, OpenFolder, ProtectedPlace, Surroundings};

/// The user's files, and those of the project in the working directory, whether they exist or not.
pub(super) fn of_process(surroundings: &Surroundings<'_>) -> Vec<ProtectedPlace> {
    let project = &surroundings.working_directory;
    let protected = files(project, surroundings.environment).into_iter().map(|place| {
        let harmful = match place.scope {
            Scope::User => FolderAccess::Read,
            Scope::Project if holds_secrets(&place) => FolderAccess::Read,
            Scope::Project => FolderAccess::Write,
        };
        protected(&place, harmful)
    });
    protected.collect()
}

/// The files with secrets in a folder, if it is the project folder of a client.
pub(super) fn of_folder(folder: &OpenFolder) -> Vec<ProtectedPlace> {
    let environment = |name: &str| std::env::var(name).ok();
    let files = files(&folder.path, &environment).into_iter();
    let secret = files.filter(|place| place.scope == Scope::Project && holds_secrets(place));
    secret.map(|place| protected(&place, FolderAccess::Read)).collect()
}

fn files(project: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Vec<Place> {
    let home = environment("HOME").unwrap_or_default();
    let project = project.to_string_lossy().into_owned();
    let host = Host { os: Os::THIS, environment, home, project };
    Client::NAMES.iter().flat_map(|(.., client)| host.places(*client)).collect()
}

fn protected(place: &Place, harmful: FolderAccess) -> ProtectedPlace {
    let is_folder = place.path.to_string_lossy().ends_with('/');
    ProtectedPlace {
        path: place.path.clone(),
        reason: format!(
            "the configuration of {}, which says what it starts and may hold secrets",
            place.client
        ),
        extent: if is_folder { Extent::Tree } else { Extent::Itself },
        harmful,
        way_out: match place.scope {
            Scope::User => None,
            Scope::Project => Some("start onecall in another folder".to_owned()),
        },
    }
}

fn holds_secrets(place: &Place) -> bool {
    let is_secret = |path: PathBuf| {
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let format = if is_json { Format::Json } else { place.spot.format };
        let text = TextFile::read(&path).ok();
        // A file that cannot be read may contain secrets.
        text.is_none_or(|file| file.exists() && !secrets_in(file.text(), format).is_empty())
    };
    if !place.path.to_string_lossy().ends_with('/') {
        return is_secret(place.path.clone());
    }
    let folder = std::fs::read_dir(&place.path).into_iter().flatten().flatten();
    folder.map(|entry| entry.path()).filter(|path| path.is_file()).any(is_secret)
}
