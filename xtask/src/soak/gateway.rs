//! A gateway under load, with correct servers and misbehaving ones.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::process::wait_until;

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The executables, the folder for the gateways, and the mark of their servers.
pub struct SoakSetup {
    pub onecall: PathBuf,
    pub fixture: PathBuf,
    pub folder: PathBuf,
    /// A text in the command line of every server, so that remaining ones can be found.
    pub mark: String,
}

impl SoakSetup {
    /// `onecall serve` with its own home directory.
    pub fn serve(&self, name: &str) -> Result<Command, String> {
        let home = self.folder.join(name);
        let config = home.join("config.json");
        let written =
            fs::create_dir_all(&home).and_then(|()| fs::write(&config, self.config().to_string()));
        written.map_err(|error| format!("{} cannot be written: {error}", config.display()))?;
        let mut command = Command::new(&self.onecall);
        command
            .args(["serve", "--log", "error", "--config"])
            .arg(config)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .current_dir(&home);
        Ok(command)
    }

    fn config(&self) -> Value {
        let server = |name: &str, flags: &[&str]| {
            let args = [&["--name", &self.mark], flags].concat();
            json!({ "name": name, "command": self.fixture, "args": args })
        };
        json!({
            "servers": [
                server("steady", &[]),
                server("slow", &[]),
                server("flaky", &[]),
                server("noisy", &["--garbage"]),
            ],
            "execution": { "timeout_seconds": 120, "max_output_bytes": 65536 },
        })
    }
}

/// A running `onecall serve --http`, which is killed when this is dropped.
pub struct HttpGateway {
    child: Child,
    pub address: SocketAddr,
}

impl HttpGateway {
    pub fn start(setup: &SoakSetup) -> Result<Self, String> {
        let log = setup.folder.join("http.stderr");
        let stderr = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = setup.serve("http")?;
        command.args(["--http", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let child = command.spawn().map_err(|error| format!("onecall does not start: {error}"))?;
        let mut http_gateway = Self { child, address: SocketAddr::from(([0; 4], 0)) };
        let mut address = None;
        wait_until(START_TIMEOUT, || {
            address = find_address(&log);
            address.is_some()
        });
        http_gateway.address = address.ok_or("onecall does not listen")?;
        Ok(http_gateway)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for HttpGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find_address(log: &Path) -> Option<SocketAddr> {
    let log = fs::read_to_string(log).ok()?;
    let url = log.lines().find_map(|line| line.strip_prefix("listening on http://"))?;
    url.strip_suffix("/mcp")?.parse().ok()
}
