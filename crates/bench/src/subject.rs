//! What is measured: the built `onecall`, the fixture server, and the Python servers that this
//! machine has.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::rpc::BareClient;

use super::peers::{Peer, Python};
use super::server::Server;

/// Everything that a measurement needs.
pub struct Subject {
    pub onecall: PathBuf,
    pub fixture: PathBuf,
    /// The folder for configurations. It is kept after the run, so that results can be examined.
    pub folder: PathBuf,
    pub python: Result<Python, String>,
    pub sdk: Result<Peer, String>,
    pub quick: bool,
}

impl Subject {
    /// The number of rounds; fewer if the run is to be quick.
    pub fn rounds(&self, rounds: usize) -> usize {
        if self.quick { rounds.div_ceil(3) } else { rounds }
    }

    /// `onecall serve` with one fixture server that has these flags.
    pub fn serve(&self, fixture_flags: &[&str]) -> Result<Command, String> {
        let name = match fixture_flags {
            [] => "plain".to_owned(),
            flags => flags.join("").trim_start_matches('-').to_owned(),
        };
        self.serve_with(&name, json!({}), fixture_flags)
    }

    /// `onecall serve` with one fixture server and more settings; `name` identifies its
    /// configuration.
    fn serve_with(
        &self,
        name: &str,
        mut config: Value,
        fixture_flags: &[&str],
    ) -> Result<Command, String> {
        config["servers"] = json!([self.server("fixture", fixture_flags)]);
        self.serve_config(name, config)
    }

    /// The configuration entry of a fixture server.
    pub fn server(&self, name: &str, flags: &[&str]) -> Value {
        json!({ "name": name, "command": self.fixture, "args": flags })
    }

    /// `onecall serve` with this configuration; `name` identifies it.
    pub fn serve_config(&self, name: &str, mut config: Value) -> Result<Command, String> {
        if config["execution"].is_null() {
            // How many calls run at once is left to the default, which the design promises times for.
            config["execution"] = json!({ "timeout_seconds": 600, "max_tool_calls": 100_000 });
        }
        self.onecall(&["serve", "--log", "error"], name, &config)
    }

    /// `onecall` with these arguments and this configuration; `name` identifies it.
    pub fn onecall(
        &self,
        arguments: &[&str],
        name: &str,
        config: &Value,
    ) -> Result<Command, String> {
        let path = self.folder.join(format!("{name}.json"));
        fs::write(&path, config.to_string())
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        let mut command = Command::new(&self.onecall);
        command.args(arguments).arg("--config").arg(path);
        command.env("XDG_STATE_HOME", self.folder.join("state"));
        Ok(command)
    }

    /// A gateway that knows all its tools and whose workers are ready.
    pub fn warm_gateway(&self, fixture_flags: &[&str]) -> Result<Server, String> {
        warm(Server::start(self.serve(fixture_flags)?)?)
    }

    /// A warm gateway with more settings; `name` identifies its configuration.
    pub fn warm_gateway_with(&self, name: &str, config: Value) -> Result<Server, String> {
        warm(Server::start(self.serve_with(name, config, &[])?)?)
    }

    /// A warm gateway with the servers of this configuration, one of which is the fixture or
    /// replaces it.
    pub fn warm_gateway_in_front_of(&self, name: &str, config: Value) -> Result<Server, String> {
        warm(Server::start(self.serve_config(name, config)?)?)
    }

    /// A client that is connected directly to a fixture server.
    pub fn bare(&self) -> BareClient {
        BareClient::open(Command::new(&self.fixture))
    }

    /// The server on the Python SDK, if it is installed.
    pub fn sdk_server(&self) -> Option<Result<Server, String>> {
        let sdk = self.sdk.as_ref().ok()?;
        Some(Server::start(sdk.command(&self.fixture, &[])))
    }
}

fn warm(mut gateway: Server) -> Result<Server, String> {
    gateway.run("print(await mcp__fixture__add(a=1, b=1))", "2")?;
    Ok(gateway)
}
