//! Refuses folders for programs from which they could reach more than intended: folders that
//! contain secrets, or files that onecall, its servers or other programs start. Every command that
//! reads a configuration checks this, and so does a gateway that switches to another one.

mod clients;
mod commands;

use std::fmt;
use std::path::{Path, PathBuf};

use onecall_config::{
    Config, FolderAccess, Overlap, ProcessContext, ProgramFolder, ProtectedExtent, ProtectedPath,
    StoreLocation, TrustStore,
};
use onecall_engine::PythonFiles;

use crate::setup;

/// The folders that cannot be given to programs.
#[derive(Debug)]
pub(crate) struct Overlaps(pub(crate) Vec<Overlap>);

impl fmt::Display for Overlaps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Overlap::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Overlaps {}

/// Refuses `config`, which was read from `source`, if a folder for programs overlaps a protected
/// place.
pub(crate) fn check(config: &Config, source: Option<&Path>) -> Result<(), Overlaps> {
    let folders = config.program_folders();
    if folders.is_empty() {
        return Ok(());
    }
    let context = ProcessContext::current();
    let places = places(config, source, &context);
    let overlap = |folder: &ProgramFolder| {
        folder.overlap(&places).or_else(|| folder.overlap(&clients::of_folder(folder)))
    };
    let overlaps: Vec<Overlap> = folders.iter().filter_map(overlap).collect();
    if overlaps.is_empty() { Ok(()) } else { Err(Overlaps(overlaps)) }
}

/// The folders from which the system's Python imports modules but which programs must not read,
/// each with the reason.
pub(crate) fn unreadable_module_folders(
    config: &Config,
    source: Option<&Path>,
) -> Vec<(PathBuf, String)> {
    let linked = PythonFiles::of(config.python.as_deref()).linked;
    if linked.is_empty() {
        return Vec::new();
    }
    let mut secret = places(config, source, &ProcessContext::current());
    secret.retain(|place| place.harmful_access == FolderAccess::Read);
    let overlap = |path: PathBuf| {
        let name = "the folder of modules".to_owned();
        let folder = ProgramFolder { name, path: path.clone(), access: FolderAccess::Read };
        Some((path, folder.overlap(&secret)?.message().to_owned()))
    };
    linked.into_iter().filter_map(overlap).collect()
}

/// Everything that must be protected from programs, most specific first.
fn places(
    config: &Config,
    source: Option<&Path>,
    context: &ProcessContext<'_>,
) -> Vec<ProtectedPath> {
    let mut places = configurations(source, context);
    places.extend(config.policy.clone().map(policies));
    places.extend(state(config, context));
    places.extend(clients::of_process(context));
    places.extend(python(config));
    places.extend(commands::started(config, context));
    places.extend(config.policy.clone().map(|path| {
        let reason = "the policies that decide which tools may be called".to_owned();
        unwritable(path, reason, "keep the policies elsewhere and name them with `policy`")
    }));
    let reason = "in which onecall keeps what programs see in /tools".to_owned();
    places.push(unwritable(setup::tool_folder_parent(), reason, "set XDG_RUNTIME_DIR to another"));
    places.extend(context.executable.clone().map(|path| {
        let reason = "the program onecall itself, which is started for each engine".to_owned();
        unwritable(path, reason, "install onecall elsewhere")
    }));
    places
}

/// The current configuration, the user's own, and those that the user trusts.
fn configurations(source: Option<&Path>, context: &ProcessContext<'_>) -> Vec<ProtectedPath> {
    let directories = &context.directories;
    let place = |path: PathBuf, whose: &str| ProtectedPath {
        path,
        reason: format!("{whose}, which says what onecall starts and may hold secrets"),
        extent: ProtectedExtent::Itself,
        harmful_access: FolderAccess::Read,
        alternative: Some("keep the configuration elsewhere and name it with --config".to_owned()),
    };
    let used = source.map(|path| place(path.to_owned(), "the configuration in use"));
    let own = directories.config.as_deref().map(|folder| folder.join("onecall/config.yaml"));
    let own = own.map(|path| place(path, "the user's configuration"));
    let store = directories.state.as_deref().map(TrustStore::at);
    let trusted = store.and_then(|store| store.approved_files().ok()).unwrap_or_default();
    let trusted = trusted.into_iter().filter(|path| path.exists());
    let trusted = trusted.map(|path| place(path, "a configuration that the user trusts"));
    used.into_iter().chain(own).chain(trusted).collect()
}

/// The policies, which decide what each user may call.
fn policies(path: PathBuf) -> ProtectedPath {
    ProtectedPath {
        path,
        reason: "where the policies are, which decide what each user may call".to_owned(),
        extent: ProtectedExtent::Tree,
        harmful_access: FolderAccess::Write,
        alternative: Some("keep the policies elsewhere and name them with `policy`".to_owned()),
    }
}

/// The state of onecall: logins, secrets, logs, pinned tools, trust, and the store.
fn state(config: &Config, context: &ProcessContext<'_>) -> Vec<ProtectedPath> {
    let directories = &context.directories;
    let folder = directories.state.as_deref().map(|folder| ProtectedPath {
        path: folder.join("onecall"),
        reason:
            "in which onecall keeps logins, secrets, logs, records of runs and what the user trusts"
                .to_owned(),
        extent: ProtectedExtent::Tree,
        harmful_access: FolderAccess::Read,
        alternative: None,
    });
    let file = config.store.location(directories).and_then(|location| match location {
        StoreLocation::File(path) => Some(path),
        StoreLocation::Database(_) => None,
    });
    let store = file.map(|path| ProtectedPath {
        path,
        reason: "the store, with the records of all runs".to_owned(),
        extent: ProtectedExtent::Itself,
        harmful_access: FolderAccess::Read,
        alternative: Some("give the store another `path`".to_owned()),
    });
    folder.into_iter().chain(store).collect()
}

fn python(config: &Config) -> impl Iterator<Item = ProtectedPath> {
    let PythonFiles { installed, linked } = PythonFiles::of(config.python.as_deref());
    installed.into_iter().chain(linked).map(|path| ProtectedPath {
        path,
        reason: "a part of the Python that runs programs; what is written there would be executed"
            .to_owned(),
        extent: ProtectedExtent::Tree,
        harmful_access: FolderAccess::Write,
        alternative: Some("keep that Python elsewhere and name it with `python`".to_owned()),
    })
}

/// A file or folder that programs may read but not change.
fn unwritable(path: PathBuf, reason: String, alternative: &str) -> ProtectedPath {
    ProtectedPath {
        path,
        reason,
        extent: ProtectedExtent::Itself,
        harmful_access: FolderAccess::Write,
        alternative: Some(alternative.to_owned()),
    }
}
