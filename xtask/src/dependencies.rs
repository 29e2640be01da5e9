//! The packages in the binary, as cargo resolves them for the released platforms.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::cargo::root;

/// The package whose dependencies are shipped.
const BINARY: &str = "onecall";

/// The released platforms; their dependencies differ slightly.
pub const PLATFORMS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// A package in the binary.
#[derive(Clone, Debug)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub description: String,
    /// The licence as an SPDX expression, if the package's manifest has one.
    pub license: Option<String>,
    /// The licence file that its manifest names.
    pub license_file: Option<PathBuf>,
    pub authors: Vec<String>,
    pub repository: Option<String>,
    /// The folder of its source on this machine.
    pub folder: PathBuf,
    /// Whether it belongs to this repository.
    pub is_ours: bool,
    /// The SHA-256 of its archive at crates.io.
    pub checksum: Option<String>,
    /// The packages that it uses, by their [`Package::id`].
    pub uses: BTreeSet<String>,
}

impl Package {
    /// The name and version of the package.
    pub fn id(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// Every package whose code is in the binary, by [`Package::id`]. Packages that are only used for
/// building or testing are not included.
pub fn shipped() -> Result<BTreeMap<String, Package>, String> {
    let checksums = checksums(&read(&root().join("Cargo.lock"))?);
    let mut shipped: BTreeMap<String, Package> = BTreeMap::new();
    for platform in PLATFORMS {
        for mut package in reachable(&metadata(platform)?, BINARY)? {
            package.checksum = checksums.get(&package.id()).cloned();
            let uses = std::mem::take(&mut package.uses);
            shipped.entry(package.id()).or_insert(package).uses.extend(uses);
        }
    }
    Ok(shipped)
}

/// The metadata that cargo prints for the workspace on a platform.
fn metadata(platform: &str) -> Result<Value, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(["metadata", "--locked", "--format-version", "1"]);
    let output = command.args(["--filter-platform", platform]).output();
    let output = output.map_err(|error| format!("cargo metadata cannot be started: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata failed: {}", reason.trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// The packages that the package `name` needs at run time, including itself.
fn reachable(metadata: &Value, name: &str) -> Result<Vec<Package>, String> {
    let by_id = |list: &'_ Value| -> BTreeMap<String, Value> {
        list.as_array().into_iter().flatten().map(|it| (text(&it["id"]), it.clone())).collect()
    };
    let packages = by_id(&metadata["packages"]);
    let nodes = by_id(&metadata["resolve"]["nodes"]);
    let first = packages.iter().find(|(_, package)| package["name"] == name);
    let (first, _) = first.ok_or_else(|| format!("there is no package {name}"))?;
    let mut rest = vec![first.clone()];
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(id) = rest.pop() {
        let Some(about) = packages.get(&id).filter(|_| seen.insert(id.clone())) else { continue };
        let uses = nodes.get(&id).map(used_by).unwrap_or_default();
        let mut package = package(about);
        package.uses = uses
            .iter()
            .filter_map(|id| packages.get(id))
            .map(|it| self::package(it).id())
            .collect();
        found.push(package);
        rest.extend(uses);
    }
    Ok(found)
}

/// The ids of the run-time dependencies of a node in the resolved graph.
fn used_by(node: &Value) -> Vec<String> {
    let runs_with = |dependency: &&Value| {
        let mut kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
        kinds.any(|kind| kind["kind"].is_null())
    };
    let dependencies = node["deps"].as_array().into_iter().flatten();
    dependencies.filter(runs_with).map(|dependency| text(&dependency["pkg"])).collect()
}

fn package(about: &Value) -> Package {
    let manifest = PathBuf::from(text(&about["manifest_path"]));
    let folder = manifest.parent().map(Path::to_path_buf).unwrap_or_default();
    let authors = about["authors"].as_array().into_iter().flatten().map(text).collect();
    Package {
        name: text(&about["name"]),
        version: text(&about["version"]),
        description: text(&about["description"]).split_whitespace().collect::<Vec<_>>().join(" "),
        license: about["license"].as_str().map(str::to_owned),
        license_file: about["license_file"].as_str().map(|file| folder.join(file)),
        authors,
        repository: about["repository"].as_str().map(str::to_owned),
        is_ours: about["source"].is_null(),
        folder,
        checksum: None,
        uses: BTreeSet::new(),
    }
}

/// The checksums in a lock file, by [`Package::id`].
fn checksums(lock: &str) -> BTreeMap<String, String> {
    let entry = |entry: &str| {
        let field = |name: &str| {
            let line = entry.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
        };
        Some((format!("{} {}", field("name")?, field("version")?), field("checksum")?))
    };
    lock.split("[[package]]").filter_map(entry).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The text of a file; the error names the file.
pub fn read(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_has_checksums() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ff\"\n\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        assert_eq!(checksums(lock), [("a 1.0.0".to_owned(), "ff".to_owned())].into());
    }

    #[test]
    fn who_embeds_the_runtime_links_no_http_sql_or_tokenizer() {
        let runtime = reachable(&metadata(PLATFORMS[0]).unwrap(), "onecall-runtime").unwrap();
        let names: BTreeSet<&str> = runtime.iter().map(|package| package.name.as_str()).collect();
        assert!(names.contains("onecall-engine"), "{names:?}");
        for heavy in [
            "hyper",
            "libsqlite3-sys",
            "onecall-bridge",
            "onecall-config",
            "onecall-store",
            "reqwest",
            "rmcp",
            "rusqlite",
            "rustls",
            "tiktoken-rs",
        ] {
            assert!(!names.contains(heavy), "onecall-runtime links {heavy}");
        }
    }

    #[test]
    fn a_crate_uses_only_crates_above_it() {
        let architecture = read(&root().join("ARCHITECTURE.md")).unwrap();
        let rows = architecture.lines().filter_map(|line| line.strip_prefix("| `"));
        let rooms: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        let metadata = metadata(PLATFORMS[0]).unwrap();
        for (place, room) in rooms.iter().enumerate() {
            let Some(below) = rooms.get(place + 1..) else { continue };
            let uses = reachable(&metadata, room).unwrap();
            let reached_up = uses.iter().find(|package| below.contains(&package.name.as_str()));
            assert_eq!(reached_up.map(|package| &package.name), None, "used by {room}");
        }
    }
}
