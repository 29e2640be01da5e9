//! The files of an interpreter, as far as they are known without running it.

use std::fs;
use std::path::{Path, PathBuf};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// What says that a folder is a virtual environment, and of which interpreter.
const ENVIRONMENT: &str = "pyvenv.cfg";

/// What an interpreter needs of a folder that it is installed in.
const BELOW_PREFIX: [&str; 3] = ["lib", "lib64", ENVIRONMENT];

/// An interpreter on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Installation {
    /// The file to execute: that of a virtual environment, or else the one that all links
    /// lead to, beside which an interpreter looks for its modules.
    pub(super) executable: PathBuf,
    /// The folder of its virtual environment.
    environment: Option<PathBuf>,
    /// The folders that it and the interpreter of its environment are installed in.
    prefixes: Vec<PathBuf>,
}

impl Installation {
    /// The installation that `executable` belongs to.
    pub(super) fn of(executable: &Path) -> Self {
        let mut executable = executable.to_owned();
        let mut environment = environment_of(&executable);
        for _ in 0..MOST_LINKS {
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
        // Where Linux systems put what their users install.
        if prefixes.iter().any(|prefix| prefix == Path::new("/usr")) {
            prefixes.push("/usr/local".into());
        }
        prefixes.sort();
        prefixes.dedup();
        Self { executable, environment, prefixes }
    }

    /// Its own files: the executable and the folders of modules and libraries.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let real = fs::canonicalize(&self.executable).ok();
        let below = |prefix: &PathBuf| BELOW_PREFIX.map(|part| prefix.join(part));
        let installed = self.prefixes.iter().flat_map(below).filter(|path| path.exists());
        [self.executable.clone()].into_iter().chain(real).chain(installed).collect()
    }

    /// The folder of its virtual environment.
    pub(super) fn environment(&self) -> Option<&Path> {
        self.environment.as_deref()
    }

    /// Folders elsewhere that it looks for modules in: a `.pth` file names them, as it is
    /// done for packages that are installed as editable.
    pub(super) fn linked_folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for packages in self.prefixes.iter().flat_map(|prefix| package_folders(prefix)) {
            for file in entries(&packages).filter(|path| path.extension() == Some("pth".as_ref())) {
                let text = fs::read_to_string(&file).unwrap_or_default();
                // Lines that begin with `import` are code.
                let named = text.lines().map(str::trim_end).filter(|line| {
                    !line.is_empty() && !line.starts_with('#') && !line.starts_with("import")
                });
                folders.extend(named.map(|line| packages.join(line)));
            }
        }
        // The whole disk is no folder of modules.
        folders.retain(|path| path.is_dir() && path.parent().is_some());
        folders.sort();
        folders.dedup();
        folders
    }
}

/// The virtual environment that an executable lies in, found as Python finds it.
fn environment_of(executable: &Path) -> Option<PathBuf> {
    let folder = executable.parent()?;
    let candidates = [Some(folder), folder.parent()];
    let is_environment = |folder: &&Path| folder.join(ENVIRONMENT).is_file();
    candidates.into_iter().flatten().find(is_environment).map(Path::to_owned)
}

/// Where the interpreter is that an environment was made with.
fn home_of(environment: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(environment.join(ENVIRONMENT)).ok()?;
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
