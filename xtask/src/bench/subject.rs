//! What is measured, and what stands beside it: the built `onecall`, the fixture
//! server, and the Python peers that this machine has.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use testkit::rpc::BareClient;

use super::peers::{Python, Sdk};
use super::server::Server;

/// Everything a measurement needs.
pub struct Subject {
    pub onecall: PathBuf,
    pub fixture: PathBuf,
    /// For configurations; kept after the run, so that a figure can be looked into.
    pub folder: PathBuf,
    pub python: Result<Python, String>,
    pub sdk: Result<Sdk, String>,
    pub quick: bool,
}

impl Subject {
    /// Fewer rounds if the run is to be quick.
    pub fn rounds(&self, rounds: usize) -> usize {
        if self.quick { rounds.div_ceil(3) } else { rounds }
    }

    /// `onecall serve` over one fixture server with these flags.
    pub fn serve(&self, fixture_flags: &[&str]) -> Result<Command, String> {
        let config = json!({
            "servers": [{ "name": "fixture", "command": self.fixture, "args": fixture_flags }],
            "execution": {
                "timeout_seconds": 600, "max_tool_calls": 100_000, "max_parallel_calls": 64,
            },
        });
        let name = match fixture_flags {
            [] => "plain.json".to_owned(),
            flags => format!("{}.json", flags.join("").trim_start_matches('-')),
        };
        let path = self.folder.join(name);
        fs::write(&path, config.to_string())
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        let mut command = Command::new(&self.onecall);
        command.args(["serve", "--log", "error", "--config"]).arg(path);
        Ok(command)
    }

    /// A gateway whose tools are all there and whose workers wait.
    pub fn warm_gateway(&self, fixture_flags: &[&str]) -> Result<Server, String> {
        let mut gateway = Server::start(self.serve(fixture_flags)?)?;
        gateway.run("print(await mcp__fixture__add(a=1, b=1))", "2")?;
        Ok(gateway)
    }

    /// A client that talks to a fixture server without anyone between them.
    pub fn bare(&self) -> BareClient {
        BareClient::open(Command::new(&self.fixture))
    }

    /// The server on the Python SDK, if there is one.
    pub fn sdk_server(&self) -> Option<Result<Server, String>> {
        let sdk = self.sdk.as_ref().ok()?;
        Some(Server::start(sdk.command(&self.fixture)))
    }
}
