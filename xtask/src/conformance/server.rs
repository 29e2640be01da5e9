//! Runs `onecall serve --http` for the suite.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::json;

/// A running server, which is ended when this is dropped.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// Starts a server on a free port. It exposes everything that the suite's reference server has,
    /// which it bridges in this protocol revision.
    pub fn start(folder: &Path, revision: &str, binaries: &Path) -> Result<Self, String> {
        let config = folder.join("server.json");
        let reference = json!({
            "name": "reference",
            "command": binaries.join("reference-server"),
            "args": [revision],
        });
        let text = json!({
            "servers": [reference],
            "expose_tools": ["mcp__reference__*"],
            "expose_resources": ["reference"],
            "expose_prompts": ["reference"],
            "expose_names": "own",
        });
        std::fs::write(&config, text.to_string())
            .map_err(|error| format!("{} cannot be written: {error}", config.display()))?;
        let mut command = Command::new(binaries.join("onecall"));
        command.args(["serve", "--http", "127.0.0.1:0", "--log", "error", "--config"]).arg(config);
        command
            .env("XDG_STATE_HOME", folder.join("state"))
            .env_remove("ONECALL_TOKEN")
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| format!("{command:?} cannot be started: {error}"))?;
        let stderr = child.stderr.take();
        let mut server = Self { child, url: String::new() };
        let mut lines = stderr.map(BufReader::new).map(BufRead::lines).into_iter().flatten();
        let mut output = Vec::new();
        for line in lines.by_ref().map_while(Result::ok) {
            if let Some(url) = line.strip_prefix("listening on ") {
                url.clone_into(&mut server.url);
                // The output is drained, so that a full pipe cannot block the server.
                thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
                return Ok(server);
            }
            output.push(line);
        }
        Err(format!("{command:?} did not listen: {}", output.join("\n")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
