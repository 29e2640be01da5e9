//! The files of an installed interpreter, as far as they can be found without running it.

use std::fs;
use std::path::{Path, PathBuf};

/// The limit of the kernel for following symbolic links.
const MAX_LINKS: usize = 40;

/// The file that marks a virtual environment and names its base interpreter.
const VENV_MARKER: &str = "pyvenv.cfg";

/// The parts of an installation prefix that an interpreter needs.
const PREFIX_ENTRIES: [&str; 3] = ["lib", "lib64", VENV_MARKER];

/// An installed interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Installation {
    /// The file to execute. In a virtual environment it is the environment's own; otherwise all
    /// links are resolved, because an interpreter looks for its modules beside the real file.
    pub(super) executable: PathBuf,
    /// The folder of its virtual environment, if there is one.
    environment: Option<PathBuf>,
    /// The prefixes of the interpreter and of the base interpreter of its environment.
    prefixes: Vec<PathBuf>,
}

impl Installation {
    /// The installation that `executable` belongs to.
    pub(super) fn of(executable: &Path) -> Self {
        let mut executable = executable.to_owned();
        let mut environment = environment_of(&executable);
        for _ in 0..MAX_LINKS {
            let Ok(target) = fs::read_link(&executable) else { break };
            if environment.is_some() {
                break;
            }
            executable = executable.parent().unwrap_or(Path::new("/")).join(target);
            environment = environment_of(&executable);
        }
        if environment.is_none() {
            executable = fs::canonicalize(&executable).unwrap_or(executable);
        }
        let real = fs::canonicalize(&executable).unwrap_or_else(|_| executable.clone());
        let mut folders = vec![executable.parent(), real.parent()];
        let home = environment.as_deref().and_then(home_of);
        let real_home = home.as_deref().and_then(|home| fs::canonicalize(home).ok());
        folders.extend([home.as_deref(), real_home.as_deref()]);
        let mut prefixes: Vec<PathBuf> =
            folders.into_iter().flatten().filter_map(Path::parent).map(Path::to_owned).collect();
        // Linux distributions install packages of local users here.
        if prefixes.iter().any(|prefix| prefix == Path::new("/usr")) {
            prefixes.push("/usr/local".into());
        }
        prefixes.sort();
        prefixes.dedup();
        Self { executable, environment, prefixes }
    }

    /// The installation's own files: the executable and the folders of modules and libraries.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let real = fs::canonicalize(&self.executable).ok();
        let below = |prefix: &PathBuf| PREFIX_ENTRIES.map(|part| prefix.join(part));
        let installed = self.prefixes.iter().flat_map(below).filter(|path| path.exists());
        [self.executable.clone()].into_iter().chain(real).chain(installed).collect()
    }

    /// The folder of its virtual environment.
    pub(super) fn environment(&self) -> Option<&Path> {
        self.environment.as_deref()
    }

    /// Folders elsewhere that it imports modules from: `.pth` files name them, for example for
    /// editable installs.
    pub(super) fn linked_folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for packages in self.prefixes.iter().flat_map(|prefix| package_folders(prefix)) {
            for file in entries(&packages).filter(|path| path.extension() == Some("pth".as_ref())) {
                let text = fs::read_to_string(&file).unwrap_or_default();
                // Lines that begin with `import` are executed by Python and are not paths.
                let named = text.lines().map(str::trim_end).filter(|line| {
                    !line.is_empty() && !line.starts_with('#') && !line.starts_with("import")
                });
                folders.extend(named.map(|line| packages.join(line)));
            }
        }
        // The root of the file system must never be granted as a module folder.
        folders.retain(|path| path.is_dir() && path.parent().is_some());
        folders.sort();
        folders.dedup();
        folders
    }
}

/// The virtual environment of an executable, found by the rules of Python.
fn environment_of(executable: &Path) -> Option<PathBuf> {
    let folder = executable.parent()?;
    let candidates = [Some(folder), folder.parent()];
    let is_environment = |folder: &&Path| folder.join(VENV_MARKER).is_file();
    candidates.into_iter().flatten().find(is_environment).map(Path::to_owned)
}

/// The folder of the interpreter that an environment was created with.
fn home_of(environment: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(environment.join(VENV_MARKER)).ok()?;
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| value.trim().to_owned())
    })?;
    Some(environment.join(value))
}

/// The folders of installed packages below a prefix, for every version of Python.
fn package_folders(prefix: &Path) -> Vec<PathBuf> {
    let is_python = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("python3"))
    };
    let versions =
        ["lib", "lib64"].map(|name| prefix.join(name)).into_iter().flat_map(|path| entries(&path));
    let packages = |path: PathBuf| ["site-packages", "dist-packages"].map(|name| path.join(name));
    versions.filter(is_python).flat_map(packages).filter(|path| path.is_dir()).collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
