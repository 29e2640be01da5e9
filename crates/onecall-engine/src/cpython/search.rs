//! Finds the executables that the setting `python` may refer to, without running any.

use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// The name to look for on `PATH` if the configuration names no interpreter.
pub(super) const DEFAULT_PYTHON: &str = "python3";

/// The first bytes of a file that the kernel executes directly.
const ELF_MAGIC: [u8; 4] = *b"\x7fELF";

/// The file in which a project selects its version for pyenv.
const PYENV_VERSION_FILE: &str = ".python-version";

/// The executables that `python` may refer to, in order of preference: a file, the executable of a
/// virtual environment's folder, or every match for a name on `PATH`. If a match is a shim of
/// pyenv, the interpreter that it would start comes before it.
pub(super) fn executables(python: Option<&Path>) -> Vec<PathBuf> {
    let found = match python {
        Some(folder) if folder.is_absolute() && folder.is_dir() => vec![folder.join("bin/python")],
        Some(file) if file.is_absolute() => vec![file.to_owned()],
        name => find_on_path(name.unwrap_or(Path::new(DEFAULT_PYTHON))),
    };
    let with_targets = |path: PathBuf| shim_targets(&path).into_iter().chain([path]);
    found.into_iter().flat_map(with_targets).collect()
}

/// Whether a file is a script, which needs another program to run it.
pub(super) fn is_script(path: &Path) -> bool {
    let mut start = [0; ELF_MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start != ELF_MAGIC
}

fn find_on_path(name: &Path) -> Vec<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let folders = env::var_os("PATH").unwrap_or_default();
    let absolute = |folder: PathBuf| std::path::absolute(folder.join(name)).ok();
    env::split_paths(&folders).filter_map(absolute).filter(is_program).collect()
}

/// The interpreters that a pyenv shim would start. A shim is a script in the folder `shims`, next
/// to the folder `versions`.
fn shim_targets(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let Some(root) = folder.parent().filter(|_| folder.ends_with("shims")) else {
        return Vec::new();
    };
    let versions = root.join("versions");
    if !versions.is_dir() || !is_script(path) {
        return Vec::new();
    }
    let chosen = chosen_versions(root);
    let folders = chosen.iter().filter_map(|version| version_folder(&versions, version));
    folders.map(|folder| folder.join("bin").join(name)).filter(|path| path.is_file()).collect()
}

/// The versions that pyenv would select here: from its variable, from a file of the project, or
/// from the user's default.
fn chosen_versions(root: &Path) -> Vec<String> {
    if let Some(chosen) = env::var("PYENV_VERSION").ok().filter(|chosen| !chosen.is_empty()) {
        return chosen.split(':').map(str::to_owned).collect();
    }
    let here = env::current_dir().unwrap_or_default();
    let projects = here.ancestors().map(|folder| folder.join(PYENV_VERSION_FILE));
    let text =
        projects.chain([root.join("version")]).find_map(|file| fs::read_to_string(file).ok());
    let text = text.unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(str::split_whitespace).map(str::to_owned).collect()
}

/// The folder of a version; `3.12` stands for the newest installed version of that series.
fn version_folder(versions: &Path, version: &str) -> Option<PathBuf> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !Path::new(version).components().all(is_plain) {
        return None;
    }
    let exact = versions.join(version);
    if exact.is_dir() {
        return Some(exact);
    }
    let series = format!("{version}.");
    let names =
        fs::read_dir(versions).ok()?.flatten().filter_map(|it| it.file_name().into_string().ok());
    let newest =
        names.filter(|name| name.starts_with(&series)).max_by_key(|name| version_numbers(name))?;
    Some(versions.join(newest))
}

fn version_numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}
