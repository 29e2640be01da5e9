//! What all packages have in common: licences, completions, man pages, version and time.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use testkit::cargo::{output, root};

use super::binary::Binary;

/// Shells, and the option of `onecall completions` for each.
pub const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// The licence texts that must accompany the binary.
pub const LICENCES: [&str; 3] = ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"];

/// The one-line description of a package.
pub const SUMMARY: &str = "MCP server that runs programs over your other MCP servers";

/// The licence expression of onecall's own code.
pub const LICENCE: &str = "MIT OR Apache-2.0";

/// A file of a package.
#[derive(Clone, Debug)]
pub struct File {
    pub path: String,
    pub mode: u32,
    pub content: Arc<[u8]>,
}

impl File {
    pub fn new(path: impl Into<String>, mode: u32, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), mode, content: content.into().into() }
    }

    /// The file in a folder of the package.
    pub fn below(&self, folder: &str) -> Self {
        Self { path: format!("{folder}/{}", self.path), ..self.clone() }
    }
}

/// The contents of packages other than the binary.
pub struct Release {
    pub version: String,
    /// The time of every file, in seconds since 1970.
    pub time: u64,
    /// The files in [`LICENCES`].
    pub licences: Vec<File>,
    /// A completion script for each of [`SHELLS`].
    pub completions: Vec<File>,
    /// Man pages such as `onecall.1`.
    pub pages: Vec<File>,
    pub readme: File,
    /// The text that package registries show.
    pub about: String,
}

impl Release {
    /// Gets version, completions and man pages from the binary that runs on this machine.
    pub fn describe(binaries: &[Binary]) -> Result<Self, String> {
        let runs_here = |binary: &&Binary| binary.processor.is_here();
        let binary = binaries
            .iter()
            .find(runs_here)
            .ok_or("none of the binaries runs on this machine, so none can describe itself")?;
        let version =
            String::from_utf8_lossy(&onecall_output(binary, &["--version"])?).into_owned();
        let version = version.split_whitespace().nth(1).ok_or("onecall --version says nothing")?;
        let mut completions = Vec::new();
        for shell in SHELLS {
            completions.push(File::new(
                shell,
                0o644,
                onecall_output(binary, &["completions", shell])?,
            ));
        }
        Ok(Self {
            version: version.to_owned(),
            time: time(),
            licences: LICENCES.iter().map(|name| from_root(name)).collect::<Result<_, _>>()?,
            completions,
            pages: pages(binary)?,
            readme: from_root("README.md")?,
            about: String::from_utf8_lossy(&from_root("packaging/dist/about.md")?.content).into(),
        })
    }
}

/// The output of onecall for these arguments.
fn onecall_output(binary: &Binary, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let shown = format!("{} {}", binary.path.display(), arguments.join(" "));
    match Command::new(&binary.path).args(arguments).output() {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => {
            let reason = String::from_utf8_lossy(&output.stderr);
            Err(format!("{shown} failed: {}", reason.trim()))
        }
        Err(error) => Err(format!("{shown} cannot be started: {error}")),
    }
}

fn pages(binary: &Binary) -> Result<Vec<File>, String> {
    let folder = output("dist").join("man");
    let failed = |error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    onecall_output(binary, &["man", &folder.display().to_string()])?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        pages.push(File::new(name, 0o644, fs::read(entry.path()).map_err(failed)?));
    }
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(pages)
}

/// A file of the repository.
fn from_root(path: &str) -> Result<File, String> {
    let content = fs::read(root().join(path)).map_err(|error| format!("{path}: {error}"))?;
    Ok(File::new(path, 0o644, content))
}

/// `$SOURCE_DATE_EPOCH`, or the time of the commit: the same source gives the same packages.
fn time() -> u64 {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let committed = || {
        let mut git = Command::new("git");
        git.current_dir(root()).args(["log", "-1", "--format=%ct"]);
        String::from_utf8(git.output().ok()?.stdout).ok()
    };
    given.or_else(committed).and_then(|time| time.trim().parse().ok()).unwrap_or_default()
}
