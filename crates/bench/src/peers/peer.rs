//! Servers of other projects that do the same job, installed for the benchmark.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::packages::{node, npm, venv};

use super::script;

/// The version of Node.js that the packages of UTCP need.
const NODE: node::Version = (22, 0);

/// A published server, or a published library with the minimum that makes it a server.
pub struct Peer {
    /// The package and its version.
    pub version: String,
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Peer {
    /// The minimum for running programs with the official Python SDK: `exec`, in its own process.
    pub fn sdk() -> Result<Self, String> {
        let folder = venv::install("sdk-1")?;
        Self::python(&folder, "mcp", "sdk_server.py")
    }

    /// A server on the same SDK that has a tool and runs no programs, for onecall to bridge.
    pub fn sdk_tools() -> Result<Self, String> {
        let folder = venv::install("sdk-1")?;
        Self::python(&folder, "mcp", "tool_server.py")
    }

    /// FastMCP's code mode.
    pub fn fastmcp() -> Result<Self, String> {
        let list = script("fastmcp/requirements.txt");
        let folder = venv::install_from("bench-fastmcp", &list)?;
        Self::python(&folder, "fastmcp", "fastmcp/server.py")
    }

    /// The code mode of UTCP.
    pub fn utcp() -> Result<Self, String> {
        let folder = npm::install_from("bench-utcp", &script("utcp"))?;
        let program = node::find(NODE)?;
        let manifest = folder.join("node_modules/@utcp/code-mode/package.json");
        let manifest = std::fs::read_to_string(&manifest)
            .map_err(|error| format!("{} cannot be read: {error}", manifest.display()))?;
        let manifest: Value = serde_json::from_str(&manifest)
            .map_err(|error| format!("the manifest of @utcp/code-mode is not JSON: {error}"))?;
        let version = manifest["version"].as_str().unwrap_or("unknown");
        Ok(Self {
            version: format!("@utcp/code-mode {version}"),
            program,
            arguments: vec![script("utcp/server.mjs").into(), folder.into()],
        })
    }

    fn python(folder: &Path, package: &str, server: &str) -> Result<Self, String> {
        let program = folder.join("bin/python");
        let code = format!("import importlib.metadata as m; print(m.version('{package}'))");
        let output = Command::new(&program).args(["-c", &code]).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if version.is_empty() {
            return Err(format!("{package} does not import"));
        }
        let version = format!("{package} {version}");
        Ok(Self { version, program, arguments: vec![script(server).into()] })
    }

    /// The command that starts the server in front of another one.
    pub fn command(&self, downstream: &Path, flags: &[&str]) -> Command {
        let mut command = self.alone();
        command.arg(downstream).args(flags);
        command
    }

    /// The command that starts the server alone.
    pub fn alone(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// The server as an entry of a configuration.
    pub fn entry(&self, name: &str) -> Value {
        let arguments = self.arguments.iter().map(|it| it.to_string_lossy());
        json!({ "name": name, "command": self.program, "args": arguments.collect::<Vec<_>>() })
    }
}
